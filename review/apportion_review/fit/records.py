"""Records of whether a workload fits a cluster."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class Outcome(str, Enum):
    """The outcome of a submitted workload."""

    NOW = "starts now"
    AFTER_EVICTIONS = "starts after evictions"
    LATER = "starts later"
    WAITS = "waits"
    REFUSED = "refused"
    UNDECIDED = "not decided"


@dataclass(frozen=True, slots=True)
class Placement:
    """Pods of the workload on the nodes of one pool; `nodes` is empty if they do not exist yet."""

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
        gpus: GPUs of the evicted pods, in thousandths.
        n_pods: Number of evicted pods.
        rule: The engine's action and rule, such as `reclaim`.
        message: The engine's message on the pods.
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
    """The decision of the engine about a workload.

    Attributes:
        outcome: The outcome.
        queue: Its queue, by the engine's name.
        n_pods: Number of its concurrent pods.
        n_placed: Number of pods that are placed.
        placements: Nodes of these, by pool.
        flavors: Resource flavors of its quota; empty on engines without flavors.
        victims: Work that is evicted for it.
        reason: Why it does not start, in the engine's words; empty if it starts.
        after_s: Simulated seconds from its submission until all its pods had a node; None if they never did.
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
        asked: The value in the manifest.
        largest: The largest value with which the workload starts now without evictions; 0 if there is none.
        n_verified: Number of verified smaller values, all of which start now.
        gpus: GPUs of the largest, in thousandths.
        least: The smallest value that the minimums in the manifest allow; smaller ones are not tried.
        because: The minimum that requires it, such as `spec.minAvailable 4`; empty if `least` is 1.
        reason: Why the workload does not start with the smallest value, in the engine's words; empty if it does, or if it
            equals the value in the manifest.
    """

    dimension: str
    asked: int
    largest: int
    n_verified: int
    gpus: int
    least: int = 1
    because: str = ""
    reason: str = ""


class ChangeKind(str, Enum):
    """The subject of a change."""

    SIZE = "size"
    REQUEST = "request"
    QUOTA = "quota"
    NODES = "nodes"


@dataclass(frozen=True, slots=True)
class Change:
    """A change with which the workload starts now, verified by the engine.

    Attributes:
        kind: The kind of change.
        subject: The field of the manifest, the queue, or the pool.
        field: Field of the policy, such as `limit`; empty otherwise.
        resource: The policy's resource name; empty if none.
        before: The current value as text; empty if unset.
        after: The value with which it starts.
        at: The author's `file:line`; empty for changes of the workload.
        beside: Other edits that the policy then requires, as clauses.
        n_evicted: Number of running workloads that are then evicted for it.
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
    """Running work whose end lets the workload start; `at` in seconds since the epoch, None if unknown."""

    kind: str
    namespace: str
    name: str
    queue: str
    gpus: int
    at: float | None = None


@dataclass(frozen=True, slots=True)
class Start:
    """The start of a pending workload.

    Attributes:
        at: The latest time if nothing else is submitted, in seconds since the epoch; None if unknown.
        after: The work that must end first: by its deadline if `at` is known, otherwise a sufficient set.
    """

    at: float | None
    after: tuple[Ending, ...] = ()


@dataclass(frozen=True, slots=True)
class Workload:
    """The submitted workload; `gpus` are those of all its pods in thousandths, `queue` its id in the policy."""

    kind: str
    namespace: str
    name: str
    queue: str
    gpus: int
    n_pods: int
    is_bound: bool = False
    """Whether a queue was assigned because it named none, as by `apportion bind`."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether a workload fits one cluster of a policy.

    Attributes:
        cluster: The cluster, such as `prod/gpu-1`.
        engine: Engine that decides.
        engine_title: Its full name.
        snapshot: Name of the snapshot; empty if the cluster is assumed to be idle.
        taken: Time of the snapshot in seconds since the epoch; None without one.
        n_running: Number of running workloads in it.
        n_waiting: Number of pending workloads in it.
        decision: The decision.
        size: The largest size that starts now; None if the workload has no number to scale, or the engine is not
            simulated.
        changes: Changes that let it start, the smallest of each kind.
        free: The free GPUs of each node pool and of the limits of its queues, as clauses; empty if it, or a smaller size,
            starts now, or if it requests no GPUs.
        start: When it starts; None if it starts now.
        notes: Assumptions and unknowns, one sentence each.
        is_incomplete: Whether a victim search stopped at its limit, as a note explains.
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
    free: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    start: Start | None = None
    notes: tuple[str, ...] = field(default=())
    is_incomplete: bool = False
