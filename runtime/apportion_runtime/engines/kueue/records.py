"""ClusterQueues, flavors and workloads as Kueue's scheduler sees them.

Amounts are whole numbers as Kueue counts them: thousandths of a core, and units of everything else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from apportion_api.kueue.names import BEST_EFFORT
from apportion_api.kueue.objects import CheckRule, Fungibility, Preemption, ResourceGroup
from apportion_api.objects import LabelSelector
from apportion_runtime.engines.kueue.quota_tree import FlavorResource, Quota

Amounts = Mapping[FlavorResource, int]
FINAL_SHARE, INITIAL_SHARE = "LessThanOrEqualToFinalShare", "LessThanInitialShare"
STRATEGIES = (FINAL_SHARE, INITIAL_SHARE)


@dataclass(frozen=True, slots=True)
class Queue:
    """A ClusterQueue. A `selector` of None takes work of no namespace."""

    name: str
    cohort: str | None = None
    groups: tuple[ResourceGroup, ...] = ()
    quotas: Mapping[FlavorResource, Quota] = field(default_factory=dict)
    weight: float = 1.0
    preemption: Preemption = field(default_factory=Preemption)
    fungibility: Fungibility = field(default_factory=Fungibility)
    strategy: str = BEST_EFFORT
    checks: tuple[CheckRule, ...] = ()
    selector: LabelSelector | None = None
    inactive_because: str = ""

    def group_of(self, resource: str) -> ResourceGroup | None:
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
