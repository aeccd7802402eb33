"""ClusterQueues, flavors and workloads as Kueue's scheduler sees them.

Amounts are whole numbers as Kueue counts them: thousandths of a core, and units of everything else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from apportion_runtime.engines.kueue.quota_tree import FlavorResource, Quota

Amounts = Mapping[FlavorResource, int]
NEVER, LOWER_PRIORITY, LOWER_OR_NEWER, ANY = "Never", "LowerPriority", "LowerOrNewerEqualPriority", "Any"
FINAL_SHARE, INITIAL_SHARE = "LessThanOrEqualToFinalShare", "LessThanInitialShare"
STRATEGIES = (FINAL_SHARE, INITIAL_SHARE)
BEST_EFFORT, STRICT = "BestEffortFIFO", "StrictFIFO"


@dataclass(frozen=True, slots=True)
class Preemption:
    """`spec.preemption` of a ClusterQueue; `threshold` is of `borrowWithinCohort`, whose policy is `borrowing`."""

    within_queue: str = NEVER
    reclaim: str = NEVER
    borrowing: str = NEVER
    threshold: int | None = None


@dataclass(frozen=True, slots=True)
class Fungibility:
    """When the next flavor is looked at, although work could borrow, or evict, on this one."""

    next_when_borrowing: bool = False
    next_when_preempting: bool = True
    prefers_preemption: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """A resource group: what is counted, on which flavors, in their order."""

    resources: tuple[str, ...]
    flavors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Flavor:
    """A ResourceFlavor."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Mapping[str, Any], ...] = ()
    tolerations: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """An AdmissionCheck that a queue names, for work on some flavors; on all where none is named."""

    name: str
    flavors: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Queue:
    """A ClusterQueue. `selector` is a label selector; None takes work of no namespace."""

    name: str
    cohort: str | None = None
    groups: tuple[Group, ...] = ()
    quotas: Mapping[FlavorResource, Quota] = field(default_factory=dict)
    weight: float = 1.0
    preemption: Preemption = Preemption()
    fungibility: Fungibility = Fungibility()
    strategy: str = BEST_EFFORT
    checks: tuple[Check, ...] = ()
    selector: Mapping[str, Any] | None = None
    stopped: str = "None"
    inactive_because: str = ""

    def group_of(self, resource: str) -> Group | None:
        """Return the group that counts a resource."""
        return next((group for group in self.groups if resource in group.resources), None)


@dataclass(frozen=True, slots=True)
class PodSet:
    """Pods of a workload that are alike; `requests` are of all of them together.

    `least` is how many of them are enough where it may be admitted in part.
    """

    name: str
    count: int
    template: Mapping[str, Any]
    requests: Mapping[str, int]
    least: int | None = None

    def of(self, count: int) -> PodSet:
        """Return as much as a number of its pods asks for."""
        if count == self.count:
            return self
        return replace(
            self, count=count, requests={name: total * count // self.count for name, total in self.requests.items()}
        )


@dataclass(frozen=True, slots=True)
class Pending:
    """A workload that asks for quota.

    Attributes:
        key: Namespace and name.
        ordered_at: The moment by which it stands in its queue: when it was made, or was evicted.
        next_flavor: By pod set and resource, where to go on among the flavors.
        shape: Workloads of one shape fit where one of them does; empty is like no other.
    """

    key: str
    queue: str
    namespace: str
    pod_sets: tuple[PodSet, ...]
    uid: str = ""
    priority: int = 0
    ordered_at: float = float("-inf")
    next_flavor: Mapping[tuple[str, str], int] = field(default_factory=dict)
    shape: str = ""


@dataclass(frozen=True, slots=True)
class Holder:
    """A workload that holds quota; `reserved_at` None is a reservation that is not written yet."""

    key: str
    queue: str
    usage: Amounts
    uid: str = ""
    priority: int = 0
    ordered_at: float = float("-inf")
    reserved_at: float | None = None
    evicted: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    """A workload that has to go for another, and by which rule."""

    holder: Holder
    reason: str
