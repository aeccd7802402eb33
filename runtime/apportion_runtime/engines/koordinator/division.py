"""Koordinator's runtime quota: the current limit of each elastic quota, from the requests below it.

One resource at a time, in whole units (cpu in millicores): requests are summed up the tree, limited to each quota's
max; the total is divided down the tree, each parent's runtime among its children.

Source: koordinator-sh/koordinator pkg/scheduler/plugins/elasticquota/core at a7a1b76b
(runtime_quota_calculator.go, group_quota_manager.go, scale_minquota_when_over_root_res.go).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from apportion_runtime.engines.base.proportions import largest_remainders

ROOT = "root"


@dataclass(frozen=True, slots=True)
class Member:
    """One of the quotas that divide an amount.

    Attributes:
        min: Its guarantee.
        request: The total request below it, at most its max.
        weight: Its weight for the surplus; 0 gets no surplus.
        guarantee: Replaces `min` if it is greater.
        lends: Whether others may use the unrequested part of its guarantee.
    """

    name: str
    min: int
    request: int
    weight: int
    guarantee: int = 0
    lends: bool = True

    @property
    def guaranteed(self) -> int:
        """The runtime quota before the surplus is divided."""
        return max(self.min, self.guarantee)


@dataclass(frozen=True, slots=True)
class Round:
    """A round of the surplus: the amount, the weights of participants, and the amounts given and returned."""

    left: int
    weights: Mapping[str, int]
    given: Mapping[str, int]
    returned: Mapping[str, int]


@dataclass(slots=True)
class Record:
    """The steps of one division.

    Attributes:
        total: The divided amount.
        members: The siblings.
        guaranteed: The amount of each before the rounds.
        rounds: Rounds in order.
        runtime: The resulting runtime quotas.
    """

    total: int
    members: Sequence[Member]
    guaranteed: dict[str, int] = field(default_factory=dict[str, int])
    rounds: list[Round] = field(default_factory=list[Round])
    runtime: dict[str, int] = field(default_factory=dict[str, int])


def redistribute(total: int, members: Sequence[Member], record: Record | None = None) -> dict[str, int]:
    """Return each sibling's runtime quota.

    Guarantees come first, even if they exceed the total. The surplus is divided by weight among quotas that request
    more, in rounds: what a quota does not need is divided in the next round.

    Args:
        total: What the siblings divide.
        members: Siblings; their order changes nothing.
        record: Receives the steps.
    """
    runtime: dict[str, int] = {}
    unsatisfied: list[Member] = []
    for member in members:
        if member.request > member.guaranteed:
            unsatisfied.append(member)
            runtime[member.name] = member.guaranteed
        else:
            runtime[member.name] = member.request if member.lends else member.guaranteed
    if record is not None:
        record.guaranteed = dict(runtime)
    left = total - sum(runtime.values())
    while left > 0 and sum(member.weight for member in unsatisfied) > 0:
        weights = {member.name: member.weight for member in unsatisfied}
        given = _given(left, weights)
        for name, amount in given.items():
            runtime[name] += amount
        returned: dict[str, int] = {}
        for member in unsatisfied:
            over = runtime[member.name] - member.request
            if over >= 0:
                returned[member.name] = over
                runtime[member.name] = member.request
        if record is not None:
            record.rounds.append(Round(left, weights, given, returned))
        left = sum(returned.values())
        unsatisfied = [member for member in unsatisfied if runtime[member.name] < member.request]
    if record is not None:
        record.runtime = dict(runtime)
    return runtime


def _given(left: int, weights: Mapping[str, int]) -> dict[str, int]:
    """Return what each sibling gets in a round.

    The sum of the weights includes negative ones, which get nothing, so the others may get more than there is. The weight
    of the default quota for cpu is negative, because it overflows.
    """
    if min(weights.values()) >= 0:
        return largest_remainders(left, weights)
    of = sum(weights.values())
    parts = {name: divmod(max(0, weight) * left, of) for name, weight in weights.items()}
    given = {name: whole for name, (whole, _) in parts.items()}
    weighing = [name for name, weight in weights.items() if weight > 0]
    n_left = max(0, left - sum(given.values()))
    for name in sorted(weighing, key=lambda name: (-parts[name][1], name))[:n_left]:
        given[name] += 1
    return given


@dataclass(frozen=True, slots=True)
class Quota:
    """An elastic quota, in one resource. `max` None is unlimited; `own_request` is the request of its own pods."""

    name: str
    parent: str = ROOT
    min: int = 0
    max: int | None = None
    weight: int = 0
    lends: bool = True
    guarantee: int = 0
    own_request: int = 0


@dataclass(frozen=True, slots=True)
class RuntimeQuota:
    """The runtime of a quota, and its scaled guarantee if the guarantees do not fit."""

    runtime: int
    min: int


def runtime_quotas(
    total: int, quotas: Iterable[Quota], *, scale_min: bool = False, records: dict[str, Record] | None = None
) -> dict[str, RuntimeQuota]:
    """Return every quota's runtime.

    Args:
        total: The capacity of the cluster, without the usage of the system and default quotas.
        quotas: A tree below `ROOT`. Quotas that are not descendants of it are ignored.
        scale_min: Whether guarantees are scaled down proportionally if those of siblings exceed the total; otherwise
            runtimes may exceed the total.
        records: Receives the steps of each division, by parent, from the root down.
    """
    children: dict[str, list[Quota]] = {}
    for quota in quotas:
        children.setdefault(quota.parent, []).append(quota)
    requests: dict[str, int] = {}
    _sum_requests(ROOT, children, requests)
    found: dict[str, RuntimeQuota] = {}
    _descend(ROOT, total, children, requests, found, scale_min=scale_min, records=records)
    return found


def _sum_requests(parent: str, children: Mapping[str, Sequence[Quota]], requests: dict[str, int]) -> int:
    """Record the request of each child of a quota, and return the sum."""
    for quota in children.get(parent, ()):
        asked = quota.own_request + _sum_requests(quota.name, children, requests)
        if not quota.lends:
            asked = max(asked, quota.min)
        requests[quota.name] = asked if quota.max is None else min(asked, quota.max)
    return sum(requests[quota.name] for quota in children.get(parent, ()))


def _descend(
    parent: str,
    total: int,
    children: Mapping[str, Sequence[Quota]],
    requests: Mapping[str, int],
    found: dict[str, RuntimeQuota],
    *,
    scale_min: bool,
    records: dict[str, Record] | None,
) -> None:
    siblings = [
        Member(q.name, q.min, requests[q.name], q.weight, q.guarantee, q.lends) for q in children.get(parent, ())
    ]
    if scale_min:
        siblings = _scaled(total, siblings)
    record = None if records is None or not siblings else Record(total, siblings)
    if records is not None and record is not None:
        records[parent] = record
    runtime = redistribute(total, siblings, record)
    for member in siblings:
        found[member.name] = RuntimeQuota(runtime[member.name], member.min)
        _descend(member.name, runtime[member.name], children, requests, found, scale_min=scale_min, records=records)


def _scaled(total: int, siblings: Sequence[Member]) -> list[Member]:
    guaranteed = sum(member.min for member in siblings)
    if guaranteed <= total:
        return list(siblings)
    # The engine multiplies before it divides, in 64-bit floats, and truncates.
    return [replace(m, min=int(float(total) * float(m.min) / float(guaranteed)) if total > 0 else 0) for m in siblings]
