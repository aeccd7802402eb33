"""A workload while it is there: its objects, the pod of each slot, and how far its work has come."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from apportion_runtime.admission.expansion import Ending, Expansion, Slot
from apportion_runtime.sim.controllers.progress import Progress
from apportion_runtime.sim.scenario.format import Manifest, Work

ALL = ""
"""The slot that stands for the whole of a workload whose pods work together."""


@dataclass(slots=True)
class Group:
    """A pod group: its manifest, its pods, and of each pod set those that are ready and those that have a place."""

    name: str
    made: Manifest
    pods: dict[str, None] = field(default_factory=dict)
    ready: Counter[str] = field(default_factory=Counter)
    placed: Counter[str] = field(default_factory=Counter)
    works: bool = False
    has_lost: bool = False
    """Whether a pod that had a place left it before its work was done."""


@dataclass(slots=True)
class Running:
    """A workload that was made and is not over."""

    number: int
    work: Work
    manifest: Manifest
    expansion: Expansion
    slots: dict[str, Slot] = field(default_factory=dict)
    pods: dict[str, str] = field(default_factory=dict)
    """By slot the uid of its pod."""
    n_made: Counter[str] = field(default_factory=Counter)
    over: set[str] = field(default_factory=set)
    """Slots that want no pod any more: their work is done, their pod was lost for good, or they were scaled away."""
    done: set[str] = field(default_factory=set)
    """Those of them that no scaling brings back."""
    progress: dict[str, Progress] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    children: list[tuple[str, str]] = field(default_factory=list)
    """Kinds and names of the objects between it and its pods."""
    outcome: str = ""
    """Why it is being deleted, once it is."""
    ended: str = ""
    """How its work ended, while its pods stay."""
    is_suspended: bool = False
    has_begun: bool = False
    """Whether the objects between it and its pods were made."""
    n_denied: int = 0
    """How often in a row its pods were not admitted."""
    was_whole: bool = False
    """Whether all its pods but the last have been ready together since it was released."""
    was_submitted: bool = False
    """Whether its work was given to its pods since then."""

    @property
    def works(self) -> bool:
        """Whether its pods have got their work, if that has to be submitted to them."""
        return self.was_submitted or not self.expansion.submitted

    def is_worker(self, slot: str) -> bool:
        """Tell whether the work goes faster with a slot's pod; one that is wanted no more was a worker's."""
        made = self.slots.get(slot)
        return made is None or made.is_worker

    def group_of(self, name: str | None) -> Group | None:
        """Return a pod group of it by name."""
        return self.groups.get(name or "")

    @property
    def ends_together(self) -> bool:
        """Whether all its pods have one work to do."""
        return self.expansion.ending is not Ending.EACH

    def progress_of(self, slot: str, gpus: float) -> Progress | None:
        """Return the work that a slot takes part in; None where it has no end."""
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
