"""What is going to happen, in order: by time, at one time by kind, and of one kind as it was planned.

The kinds in the order in which they take place at one moment: what ends, then what changes of nodes, then what arrives,
then the scheduler, which sees all of it.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class PodGone:
    """A pod that was deleted is gone, its grace being over."""

    uid: str


@dataclass(frozen=True, slots=True)
class PodRuns:
    """The containers of a pod that was bound run."""

    uid: str


@dataclass(frozen=True, slots=True)
class PodReady:
    """A pod has loaded what it needs and begins to work."""

    uid: str


@dataclass(frozen=True, slots=True)
class WorkDone:
    """The work of a pod, or of a whole workload, is done, unless its pace changed since (`generation` tells)."""

    workload: int
    slot: str
    generation: int


@dataclass(frozen=True, slots=True)
class NodeFails:
    """A node stops; its pods are deleted when their toleration is over."""

    node: str


@dataclass(frozen=True, slots=True)
class NodeDrains:
    """A node takes no more pods, and those it has are evicted."""

    node: str


@dataclass(frozen=True, slots=True)
class NodeJoins:
    """A node comes, or comes back; of a pool where it is named."""

    node: str
    pool: str = ""


@dataclass(frozen=True, slots=True)
class PoolCheck:
    """The pools look for nodes that are idle for long enough."""


@dataclass(frozen=True, slots=True)
class ObjectsMade:
    """Somebody makes objects that are no workloads."""

    manifests: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class ObjectDeleted:
    """Somebody deletes an object."""

    kind: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class WorkloadScaled:
    """A workload wants another number of replicas."""

    workload: int
    replicas: int
    group: str = ""


@dataclass(frozen=True, slots=True)
class FillDue:
    """A workload's controller tries again to make the pods that it was refused."""

    workload: int


@dataclass(frozen=True, slots=True)
class AutoscaleDue:
    """A HorizontalPodAutoscaler looks at its target."""

    number: int


@dataclass(frozen=True, slots=True)
class WorkloadLeaves:
    """A workload is deleted by whoever made it; or only if it has not run by then."""

    workload: int
    only_if_unstarted: bool = False


@dataclass(frozen=True, slots=True)
class CronDue:
    """A CronJob makes a Job."""

    workload: int
    number: int


@dataclass(frozen=True, slots=True)
class WorkloadArrives:
    """A workload is made."""

    workload: int


class EngineEvent:
    """What the controllers of an engine do; each has its own kinds, and handles them itself."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class CycleDue:
    """The scheduler looks at the cluster."""


Event = (
    PodGone | PodRuns | PodReady | WorkDone | NodeFails | NodeDrains | NodeJoins | PoolCheck | ObjectsMade | ObjectDeleted
    | WorkloadScaled
    | WorkloadLeaves | CronDue | WorkloadArrives | FillDue | AutoscaleDue | EngineEvent | CycleDue
)  # fmt: skip

_ORDER: dict[type[Event], int] = {
    kind: number
    for number, kind in enumerate(
        (
            WorkDone, PodGone, PodRuns, PodReady, NodeFails, NodeDrains, NodeJoins, PoolCheck, ObjectsMade, ObjectDeleted,
            WorkloadScaled,
            WorkloadLeaves, CronDue, WorkloadArrives, FillDue, AutoscaleDue, EngineEvent, CycleDue,
        )
    )
}  # fmt: skip


@dataclass(slots=True)
class EventQueue:
    """Events to come."""

    _heap: list[tuple[float, int, int, Event]] = field(default_factory=list)
    _n_planned: int = 0

    def __len__(self) -> int:
        return len(self._heap)

    def kinds(self) -> set[type[Event]]:
        """Return the kinds of the events to come."""
        return {type(event) for *_, event in self._heap}

    def plan(self, at: float, event: Event) -> None:
        """Have an event happen at a moment (seconds since 1970)."""
        self._n_planned += 1
        rank = _ORDER.get(type(event), _ORDER[EngineEvent])
        heapq.heappush(self._heap, (at, rank, self._n_planned, event))

    def next_at(self) -> float | None:
        """Return when the next one happens; None where nothing does."""
        return self._heap[0][0] if self._heap else None

    def take(self) -> tuple[float, Event]:
        """Return the next one and when it happens. Raises `IndexError` if there is none."""
        at, _, _, event = heapq.heappop(self._heap)
        return at, event
