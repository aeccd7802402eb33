"""A workload while it exists: its objects, the pod of each slot, and its progress."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from apportion_runtime.admission.expansion import Ending, Expansion, Slot
from apportion_runtime.sim.controllers.progress import Progress
from apportion_runtime.sim.scenario.format import Manifest, Work

ALL = ""
"""The slot that represents all pods of a workload with a shared task."""


def _counts() -> dict[str, int]:
    """Return counts that are 0 at first; a `Counter` takes several times as long to create."""
    return defaultdict(int)


@dataclass(slots=True)
class Group:
    """A pod group: its manifest, its pods, and the ready and placed pods of each pod set."""

    name: str
    made: Manifest
    pods: dict[str, None] = field(default_factory=dict)
    ready: dict[str, int] = field(default_factory=_counts)
    placed: dict[str, int] = field(default_factory=_counts)
    works: bool = False
    has_lost: bool = False
    """Whether a placed pod left before its work was done."""
    start: int | None = None
    """The number of the fact that it started last, in the history."""


@dataclass(slots=True)
class Running:
    """A workload that was created and has not finished."""

    number: int
    work: Work
    manifest: Manifest
    expansion: Expansion
    slots: dict[str, Slot] = field(default_factory=dict)
    pods: dict[str, str] = field(default_factory=dict)
    """The uid of the pod of each slot."""
    n_made: dict[str, int] = field(default_factory=_counts)
    over: set[str] = field(default_factory=set)
    """Slots that need no pod any more: completed, lost for good, or scaled down."""
    done: set[str] = field(default_factory=set)
    """Those of them that scaling up does not restore."""
    progress: dict[str, Progress] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    children: list[tuple[str, str]] = field(default_factory=list)
    """Kinds and names of the objects between the workload and its pods."""
    outcome: str = ""
    """The reason of its deletion, if it is being deleted."""
    ended: str = ""
    """The outcome of its work while its pods are kept."""
    is_suspended: bool = False
    has_begun: bool = False
    """Whether the objects between the workload and its pods were created."""
    n_denied: int = 0
    """The number of consecutive denials of its pods."""
    was_whole: bool = False
    """Whether all its pods except the last were ready at the same time since it was released."""
    was_submitted: bool = False
    """Whether its work was submitted to its pods since then."""

    @property
    def works(self) -> bool:
        """Whether its pods have work, if that requires a submission."""
        return self.was_submitted or not self.expansion.submitted

    def is_worker(self, slot: str) -> bool:
        """Return whether a slot's pod contributes to the work rate; a removed slot was a worker's."""
        made = self.slots.get(slot)
        return made is None or made.is_worker

    def group_of(self, name: str | None) -> Group | None:
        """Return one of its pod groups by name."""
        return self.groups.get(name) if name else None

    @property
    def ends_together(self) -> bool:
        """Whether all its pods share one task."""
        return self.expansion.ending is not Ending.EACH

    def progress_of(self, slot: str, gpus: float) -> Progress | None:
        """Return the progress of a slot; None if its work has no end."""
        work = self.work
        if work.work_s is None or self.ended:
            return None
        key = ALL if self.ends_together else slot
        found = self.progress.get(key)
        if found is None:
            n_workers = 1 if key else max(1, sum(made.is_worker for made in self.slots.values()))
            checkpoint = None if work.checkpoint_s is None else work.checkpoint_s * n_workers
            found = self.progress[key] = Progress(work.work_s * n_workers, checkpoint, gpus)
        return found
