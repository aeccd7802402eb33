"""Records of whether a workload fits a cluster."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class Outcome(str, Enum):
    """What becomes of a workload that is submitted."""

    NOW = "starts now"
    AFTER_EVICTIONS = "starts after evictions"
    LATER = "starts later"
    WAITS = "waits"
    REFUSED = "refused"
    UNDECIDED = "not decided"


@dataclass(frozen=True, slots=True)
class Placement:
    """Pods of the workload on the nodes of one pool; `nodes` is empty for nodes that do not exist yet."""

    pool: str
    n_pods: int
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Victim:
    """Running work that is evicted for the workload.

    Attributes:
        kind: Kind of its owner.
        namespace: Its namespace.
        name: Its name.
        queue: Its queue, by the engine's name.
        gpus: Of the evicted pods, in thousandths.
        n_pods: Evicted pods.
        rule: The engine's action and rule, such as `reclaim`.
        message: What the engine writes to the pods.
    """

    kind: str
    namespace: str
    name: str
    queue: str
    gpus: int
    n_pods: int
    rule: str
    message: str


@dataclass(frozen=True, slots=True)
class Decision:
    """What the engine decides of a workload.

    Attributes:
        outcome: The outcome.
        queue: Its queue, by the engine's name.
        n_pods: Pods that it wants at a time.
        n_placed: Those of them that got a node.
        placements: Where these are, by pool.
        flavors: Resource flavors whose quota it holds; empty on engines without flavors.
        victims: Work that is evicted for it.
        reason: Why it does not start, in the engine's words; empty if it does.
        after_s: Simulated seconds from its submission until all its pods had a node; None if they never had.
    """

    outcome: Outcome
    queue: str = ""
    n_pods: int = 0
    n_placed: int = 0
    placements: tuple[Placement, ...] = ()
    flavors: tuple[str, ...] = ()
    victims: tuple[Victim, ...] = ()
    reason: str = ""
    after_s: float | None = None


@dataclass(frozen=True, slots=True)
class Size:
    """The largest size that starts now.

    Attributes:
        dimension: The field that is scaled, such as `spec.parallelism`.
        asked: Its value in the manifest.
        largest: The greatest value with which the workload starts now without evictions; 0 if there is none.
        n_verified: How many smaller values were decided, all of which start now.
        gpus: GPUs of the largest, in thousandths.
    """

    dimension: str
    asked: int
    largest: int
    n_verified: int
    gpus: int


class ChangeKind(str, Enum):
    """What a change changes."""

    SIZE = "size"
    REQUEST = "request"
    QUOTA = "quota"
    NODES = "nodes"


@dataclass(frozen=True, slots=True)
class Change:
    """A change with which the workload starts now, as the engine decided with it applied.

    Attributes:
        kind: What it changes.
        subject: The field of the manifest, the queue, or the pool.
        field: Field of the policy, such as `limit`; empty otherwise.
        resource: As the policy names it; empty where none is named.
        before: The present value, as people write it; empty if it is unset.
        after: The value that lets it start.
        at: The author's `file:line`; empty for changes of the workload.
        beside: Other edits that the policy then requires, as clauses.
        n_evicted: Running workloads that are evicted for it then.
    """

    kind: ChangeKind
    subject: str
    field: str
    resource: str
    before: str
    after: str
    at: str = ""
    beside: tuple[str, ...] = ()
    n_evicted: int = 0


@dataclass(frozen=True, slots=True)
class Ending:
    """Running work whose end lets the workload start; `at` in seconds since the epoch, None if it is not known."""

    kind: str
    namespace: str
    name: str
    queue: str
    gpus: int
    at: float | None = None


@dataclass(frozen=True, slots=True)
class Start:
    """When a workload starts that waits now.

    Attributes:
        at: The latest time if nothing else is submitted, in seconds since the epoch; None if it is not known.
        after: The work that has to end before: by its deadline if `at` is known, otherwise one set that suffices.
    """

    at: float | None
    after: tuple[Ending, ...] = ()


@dataclass(frozen=True, slots=True)
class Workload:
    """The workload in question; `gpus` are those of all its pods in thousandths, `queue` its id in the policy."""

    kind: str
    namespace: str
    name: str
    queue: str
    gpus: int
    n_pods: int
    is_bound: bool = False
    """Whether it named no queue and was assigned one, as `apportion bind` does."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether a workload fits one cluster of a policy.

    Attributes:
        cluster: Such as `prod/gpu-1`.
        engine: Engine that decides.
        engine_title: Its own name.
        snapshot: Name of the snapshot; empty if the cluster was taken to be idle.
        taken: Time of the snapshot in seconds since the epoch; None without one.
        n_running: Workloads that run in it.
        n_waiting: Workloads that wait in it.
        decision: The decision.
        size: The largest that starts now; None if the workload has no number to scale, or the engine is not simulated.
        changes: Changes that let it start, the smallest of each kind.
        start: When it starts; None if it starts now.
        notes: Assumptions and what is not known, one sentence each.
    """

    cluster: str
    engine: str
    engine_title: str
    workload: Workload
    decision: Decision
    snapshot: str = ""
    taken: float | None = None
    n_running: int = 0
    n_waiting: int = 0
    size: Size | None = None
    changes: tuple[Change, ...] = ()
    start: Start | None = None
    notes: tuple[str, ...] = field(default=())
