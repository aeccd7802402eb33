"""ClusterQueues, flavors and workloads as records of Kueue's scheduler.

Amounts are integers in Kueue's units: millicores, and units of everything else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from apportion_api.kueue.names import BEST_EFFORT, LOWER_OR_NEWER
from apportion_api.kueue.objects import CheckRule, Fungibility, Preemption, ResourceGroup
from apportion_api.objects import LabelSelector
from apportion_runtime.engines.kueue.quota_tree import FlavorResource, Quota

Amounts = Mapping[FlavorResource, int]
FINAL_SHARE, INITIAL_SHARE = "LessThanOrEqualToFinalShare", "LessThanInitialShare"
STRATEGIES = (FINAL_SHARE, INITIAL_SHARE)


@dataclass(frozen=True, slots=True)
class Queue:
    """A ClusterQueue. A `selector` of None matches no namespace."""

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

    @property
    def preempts_newer(self) -> bool:
        """Whether preemption depends on the age of the preemptor."""
        return LOWER_OR_NEWER in (self.preemption.within_queue, self.preemption.reclaim)

    def group_of(self, resource: str) -> ResourceGroup | None:
        """Return the resource group of a resource."""
        return next((group for group in self.groups if resource in group.resources), None)


@dataclass(frozen=True, slots=True)
class PodSet:
    """A pod set of a workload; `requests` is its total.

    `least` is the minimum count for partial admission.
    """

    name: str
    count: int
    template: Mapping[str, Any]
    requests: Mapping[str, int]
    least: int | None = None

    def of(self, count: int) -> PodSet:
        """Return the request of a number of its pods."""
        if count == self.count:
            return self
        return replace(
            self, count=count, requests={name: total * count // self.count for name, total in self.requests.items()}
        )


@dataclass(frozen=True, slots=True)
class Pending:
    """A pending workload.

    Attributes:
        key: Namespace and name.
        ordered_at: The timestamp for its queue order: creation or eviction.
        next_flavor: The next flavor to try, by pod set and resource.
        generation: The generation of its queue's quota for which this holds.
        shape: Workloads of one shape fit or do not fit together; an empty shape is unique.
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
    generation: int = 0

    def tried(self, generation: int, next_flavor: Mapping[tuple[str, str], int]) -> Pending:
        """Return the workload after an attempt; the generation only matters if the next attempt continues at a later flavor."""
        following = any(next_flavor.values())
        if not following and not any(self.next_flavor.values()):
            return self
        if self.generation == generation and self.next_flavor == next_flavor:
            return self
        return replace(self, next_flavor=next_flavor, generation=generation)


@dataclass(frozen=True, slots=True)
class Holder:
    """A workload that holds quota; `reserved_at` is None until the reservation is written."""

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
    """A preemption target, and the reason."""

    holder: Holder
    reason: str
