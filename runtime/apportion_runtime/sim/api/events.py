"""The event queue: ordered by time, then by kind, then by the order of scheduling.

Events at the same time are handled by kind: completions first, then node changes, then arrivals, then the scheduler,
which sees all of them.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar


@dataclass(frozen=True, slots=True)
class PodGone:
    """The grace period of a deleted pod ends."""

    uid: str


@dataclass(slots=True)
class PodsRun:
    """The containers of bound pods start, in the order of their uids in `members`."""

    members: list[str]


@dataclass(slots=True)
class PodsReady:
    """Pods have finished their startup and begin to work, in the order of their uids in `members`."""

    members: list[str]


Work = tuple[int, str, int]
"""A workload, its slot, and the generation of its rate."""


@dataclass(slots=True)
class WorkDone:
    """The work of pods, or of whole workloads, completes, unless their rate changed since (see `Progress.generation`)."""

    members: list[Work]


JointEvent = PodsRun | PodsReady | WorkDone
"""Events of one kind and time that are planned one after the other."""
Member = TypeVar("Member")


@dataclass(frozen=True, slots=True)
class NodeFails:
    """A node fails; its pods are deleted when their toleration expires."""

    node: str


@dataclass(frozen=True, slots=True)
class NodeDrains:
    """A node is cordoned, and its pods are evicted."""

    node: str


@dataclass(frozen=True, slots=True)
class NodeJoins:
    """A node joins or rejoins; `pool` is its node pool, if any."""

    node: str
    pool: str = ""


@dataclass(frozen=True, slots=True)
class PoolCheck:
    """The node pools check for nodes that have been idle long enough to be removed."""


@dataclass(frozen=True, slots=True)
class ObjectsMade:
    """Objects other than workloads are created."""

    manifests: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class ObjectDeleted:
    """An object is deleted."""

    kind: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class WorkloadScaled:
    """A workload is scaled."""

    workload: int
    replicas: int
    group: str = ""


@dataclass(frozen=True, slots=True)
class FillDue:
    """A workload's controller retries the creation of denied pods."""

    workload: int


@dataclass(frozen=True, slots=True)
class AutoscaleDue:
    """A HorizontalPodAutoscaler evaluates its target."""

    number: int


@dataclass(frozen=True, slots=True)
class WorkloadLeaves:
    """A workload is deleted by its owner, or only if it has not started by then."""

    workload: int
    only_if_unstarted: bool = False


@dataclass(frozen=True, slots=True)
class CronDue:
    """A CronJob creates a Job."""

    workload: int
    number: int


@dataclass(frozen=True, slots=True)
class WorkloadArrives:
    """A workload is created."""

    workload: int


class EngineEvent:
    """An event of an engine's controllers, which define and handle their own kinds."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class CycleDue:
    """A scheduling cycle runs."""


Event = (
    PodGone | PodsRun | PodsReady | WorkDone | NodeFails | NodeDrains | NodeJoins | PoolCheck | ObjectsMade | ObjectDeleted
    | WorkloadScaled
    | WorkloadLeaves | CronDue | WorkloadArrives | FillDue | AutoscaleDue | EngineEvent | CycleDue
)  # fmt: skip

_ORDER: dict[type[Event], int] = {
    kind: number
    for number, kind in enumerate(
        (
            WorkDone, PodGone, PodsRun, PodsReady, NodeFails, NodeDrains, NodeJoins, PoolCheck, ObjectsMade, ObjectDeleted,
            WorkloadScaled,
            WorkloadLeaves, CronDue, WorkloadArrives, FillDue, AutoscaleDue, EngineEvent, CycleDue,
        )
    )
}  # fmt: skip


@dataclass(slots=True)
class EventQueue:
    """Pending events."""

    _heap: list[tuple[float, int, int, Event]] = field(default_factory=list)
    _n_planned: int = 0
    _joint: dict[object, tuple[float, JointEvent]] = field(default_factory=dict)
    """The last joint event planned of each kind, with its time."""
    _taken: tuple[float, int, int] = (0.0, 0, 0)
    """Time, rank and number of the event taken last."""

    def __len__(self) -> int:
        return len(self._heap)

    def kinds(self) -> set[type[Event]]:
        """Return the kinds of the pending events."""
        return {type(event) for *_, event in self._heap}

    def plan(self, at: float, event: Event) -> None:
        """Schedule an event at a time (seconds since 1970)."""
        self._n_planned += 1
        rank = _ORDER.get(type(event), _ORDER[EngineEvent])
        heapq.heappush(self._heap, (at, rank, self._n_planned, event))

    def join(self, at: float, kind: Callable[[list[Member]], JointEvent], member: Member) -> None:
        """Schedule what happens to one member at a time, after the members that were planned for it before."""
        last = self._joint.get(kind)
        if last is not None and last[0] == at and last[1].members:
            members: list[Any] = last[1].members
            members.append(member)
            return
        event = kind([member])
        self._joint[kind] = at, event
        self.plan(at, event)

    def put_back(self, event: JointEvent, rest: list[Any]) -> bool:
        """Plan the rest of the event taken last again if another has become due before it; return whether one has."""
        at, rank, number = self._taken
        if not self._heap or self._heap[0][:2] >= (at, rank):
            return False
        heapq.heappush(self._heap, (at, rank, number, type(event)(rest)))
        return True

    def next_at(self) -> float | None:
        """Return the time of the next event; None if there is none."""
        return self._heap[0][0] if self._heap else None

    def take(self) -> tuple[float, Event]:
        """Remove and return the next event and its time. Raises `IndexError` if there is none."""
        at, rank, number, event = heapq.heappop(self._heap)
        self._taken = at, rank, number
        return at, event
