"""Records of how an engine divides one resource among the queues of a cluster, level by level.

Numbers are the engine's own, exactly: KAI's are 64-bit floats in GPUs, those of the others are whole GPUs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from apportion_compiler.plain_objects import parents_first
from apportion_review.shares.records import Demand

Number = int | float
"""An amount in GPUs, a weight, a priority or a time."""
Setting = Number | bool | None
"""A number of a queue's object; None if unset."""
THOUSANDTHS = 1000
"""Thousandths of a GPU per unit of the engines."""
FIRST_COME = frozenset(("ack", "volcano", "yunikorn"))
"""Engines that reserve guarantees, and allocate the rest first come, first served."""


@dataclass(frozen=True, slots=True)
class ClaimInputs:
    """The inputs of a queue's share, in its engine's terms.

    Attributes:
        name: Name of the engine's object, which breaks ties.
        queue: Its id in the policy.
        parent: Name of the parent's object; None below the cluster.
        numbers: Numbers by the engine's names, such as `deserved` and `limit` of KAI, or `min` and `max` of
            Koordinator.
    """

    name: str
    queue: str
    parent: str | None
    numbers: Mapping[str, Setting]


def parents_before_children(claims: Iterable[ClaimInputs]) -> tuple[ClaimInputs, ...]:
    """Return claims parents first, otherwise in their order; one that is its own ancestor is left out."""
    known = {claim.name: claim for claim in claims}
    return tuple(known[name] for name in parents_first({claim.name: claim.parent for claim in known.values()}))


@dataclass(frozen=True, slots=True)
class DivisionInputs:
    """All inputs of the shares of one resource.

    Attributes:
        engine: The engine, such as `kai`.
        resource: The policy's resource name: `gpu`, or `gpu/h100` if models are distinguished.
        total: The capacity of the cluster.
        settings: Settings of the scheduler, such as KAI's `kValue`.
        claims: Claims of queues, parents before their children.
    """

    engine: str
    resource: str
    total: Number
    settings: Mapping[str, Number]
    claims: tuple[ClaimInputs, ...]

    @property
    def overlaps(self) -> bool:
        """Whether siblings' shares may exceed the total: each assumes that the others use only their reserved amounts."""
        return self.engine in FIRST_COME or self.settings.get("fairSharing") == 0

    def children(self) -> Mapping[str | None, tuple[ClaimInputs, ...]]:
        """Return the claims of each parent's children."""
        found: dict[str | None, list[ClaimInputs]] = {}
        for claim in self.claims:
            found.setdefault(claim.parent, []).append(claim)
        return {parent: tuple(claims) for parent, claims in found.items()}


@dataclass(frozen=True, slots=True)
class Claim:
    """A queue's claim on the amount of its parent, with its share."""

    name: str
    queue: str
    numbers: Mapping[str, Setting]
    share: Number


@dataclass(frozen=True, slots=True)
class Round:
    """A round of the surplus: its amount, and the weights of the participating queues, by name.

    `priority` is that of the participating queues; 0 on engines without priorities.
    """

    priority: int
    number: int
    left: Number
    weights: Mapping[str, Number]


@dataclass(frozen=True, slots=True)
class Step:
    """What a queue was given at once.

    Attributes:
        name: Of the queue's object.
        phase: `guaranteed`, `surplus`, `returned` (a negative amount) or `remainder`; `available` for what siblings may
            use as well.
        round: Of the surplus, from 1; 0 in other phases.
        amount: What it was given.
    """

    name: str
    phase: str
    round: int
    amount: Number


@dataclass(frozen=True, slots=True)
class Division:
    """How the amount of one parent (None: the cluster) is divided among the queues below it.

    Attributes:
        parent: Name of the parent's object.
        total: What is divided: the parent's share.
        claims: In the order in which the engine adds them.
        rounds: In order.
        steps: In order; a queue's share is the sum of its steps.
        left: What nobody took, or nobody has reserved.
    """

    parent: str | None
    total: Number
    claims: tuple[Claim, ...]
    rounds: tuple[Round, ...]
    steps: tuple[Step, ...]
    left: Number


@dataclass(frozen=True, slots=True)
class ShareProof:
    """The divisions that lead to shares of one resource under one policy and demand, parents first.

    Attributes:
        side: `base` or `head`.
        demand: The demand.
        inputs: The inputs; a report has their numbers in the divisions.
        divisions: From the cluster down to the queues whose shares are shown.
    """

    side: str
    demand: Demand
    inputs: DivisionInputs
    divisions: tuple[Division, ...]

    def shares(self) -> Mapping[str, int]:
        """Return the share of each queue by id, in thousandths of a GPU."""
        return {
            claim.queue: round(claim.share * THOUSANDTHS) for division in self.divisions for claim in division.claims
        }
