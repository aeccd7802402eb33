"""The queues of an order of jobs: what is below each, and what each was before some of it was taken."""

from __future__ import annotations

from collections.abc import Sized
from operator import is_
from typing import NamedTuple

from apportion_runtime.core.heap import Heap
from apportion_runtime.core.job import Job
from apportion_runtime.core.queue_jobs import JobList
from apportion_runtime.core.queue_order import Key
from apportion_runtime.core.shares import QueueShare
from apportion_runtime.core.sorted_jobs import SortedJobs


class OrderedQueue:
    """A queue of the tree: below it queues, or jobs where it is a leaf."""

    __slots__ = (
        "alike",
        "children",
        "is_changed",
        "jobs",
        "key",
        "key_version",
        "made_with",
        "parent",
        "popped",
        "share",
        "stale",
    )

    def __init__(self, share: QueueShare, children: Heap[OrderedQueue], jobs: Jobs | None) -> None:
        self.share = share
        self.children = children
        self.jobs = jobs
        self.parent: OrderedQueue | None = None
        self.stale = False
        # What a leaf was filled with as a whole, as long as no job was added or taken.
        self.alike: JobList | None = None
        # Jobs that were taken from a leaf as victims.
        self.popped: list[Job] = []
        # What it is compared by, the version of its shares then, what else it was made with, and whether something
        # below it moved since.
        self.key: Key | None = None
        self.key_version = -1
        self.made_with: object = None
        self.is_changed = True

    @property
    def items(self) -> Sized:
        """What is below it."""
        return self.children.items if self.jobs is None else self.jobs.items

    def reset(self) -> None:
        """Be as it was made, for another filling."""
        self.parent = None
        if self.jobs is None:
            self.children.items = []
            self.key_version, self.made_with, self.is_changed = -1, None, True

    def state(self) -> SavedQueue:
        """Return what taking jobs changes."""
        jobs = None if self.jobs is None else self.jobs.state()
        return SavedQueue(self.stale, list(self.children.items), jobs, list(self.popped))

    def restore(self, state: SavedQueue) -> None:
        """Be as when a state was asked for."""
        self.stale, self.is_changed = state.stale, True
        if self.jobs is None:
            self.children.items = state.children
        elif state.jobs is not None:
            self.jobs.restore(state.jobs)
        self.popped = state.popped


class SavedQueue(NamedTuple):
    """What a queue of an order was."""

    stale: bool
    children: list[OrderedQueue]
    jobs: tuple[list[Job], int] | None
    popped: list[Job]


class SavedOrder(NamedTuple):
    """What an order was, as far as it changed since."""

    roots: list[OrderedQueue]
    queues: dict[str, OrderedQueue]
    popped: dict[str, list[Job]]
    states: dict[OrderedQueue, SavedQueue]


Jobs = Heap[Job] | SortedJobs


class Siblings(NamedTuple):
    """Leaves below one queue whose jobs all count the same, in the order in which they are added.

    It then never matters for the queue above which of them stands first, so that they can be added at once.
    """

    parent: str
    members: tuple[JobList, ...]


class KeptSiblings(NamedTuple):
    """The heap that some siblings made, as long as no job is added to one of them or taken, and no share changes.

    `version` is that of the shares of the queue above, which changes whenever one below is charged; `epoch` that of the
    division.
    """

    siblings: Siblings
    items: list[OrderedQueue]
    by_name: dict[str, OrderedQueue]
    version: int
    epoch: int

    def is_of(self, siblings: Siblings) -> bool:
        """Tell whether the siblings are the same, each with the same jobs."""
        own, others = self.siblings.members, siblings.members
        return own is others or (len(own) == len(others) and all(map(is_, own, others)))
