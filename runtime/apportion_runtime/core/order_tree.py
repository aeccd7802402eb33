"""The tree of queues of an order of jobs, with the states that it can be rewound to."""

from __future__ import annotations

from collections.abc import Sized
from operator import is_
from typing import NamedTuple

from apportion_runtime.core.heap import Heap
from apportion_runtime.core.job import Job
from apportion_runtime.core.queue_jobs import JobList
from apportion_runtime.core.queue_order import Key
from apportion_runtime.core.queue_share import QueueShare
from apportion_runtime.core.sorted_jobs import SortedJobs


class OrderedQueue:
    """A queue of the tree, with child queues, or with jobs if it is a leaf."""

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
        # The job list of a leaf, until a job is added or taken.
        self.alike: JobList | None = None
        # Jobs that were taken from a leaf as victims.
        self.popped: list[Job] = []
        # The key it is compared by, the version of its shares and the jobs the key was computed with, and whether
        # something below it moved since.
        self.key: Key | None = None
        self.key_version = -1
        self.made_with: object = None
        self.is_changed = True

    @property
    def items(self) -> Sized:
        """The queues or jobs below it."""
        return self.children.items if self.jobs is None else self.jobs.items

    def reset(self) -> None:
        """Prepare for another order."""
        self.parent = None
        if self.jobs is None:
            self.children.items = []
            self.key_version, self.made_with, self.is_changed = -1, None, True

    def state(self) -> SavedQueue:
        """Return the state that taking jobs changes."""
        jobs = None if self.jobs is None else self.jobs.state()
        return SavedQueue(self.stale, list(self.children.items), jobs, list(self.popped))

    def restore(self, state: SavedQueue) -> None:
        """Restore a state that `state` returned."""
        self.stale, self.is_changed = state.stale, True
        if self.jobs is None:
            self.children.items = state.children
        elif state.jobs is not None:
            self.jobs.restore(state.jobs)
        self.popped = state.popped


class SavedQueue(NamedTuple):
    """The saved state of a queue of an order."""

    stale: bool
    children: list[OrderedQueue]
    jobs: tuple[list[Job], int] | None
    popped: list[Job]


class SavedOrder(NamedTuple):
    """The saved state of an order: the parts that have changed since."""

    roots: list[OrderedQueue]
    queues: dict[str, OrderedQueue]
    popped: dict[str, list[Job]]
    states: dict[OrderedQueue, SavedQueue]


Jobs = Heap[Job] | SortedJobs


class Siblings(NamedTuple):
    """Leaves below one queue whose jobs all have the same amounts, in the order in which they are added.

    Their order does not affect the parent queue, so they can be added as a whole.
    """

    parent: str
    members: tuple[JobList, ...]


class SiblingHeap(NamedTuple):
    """The heap of some siblings, valid until a job is added or taken or a share changes.

    `version` is that of the shares of the queue above, which changes whenever one below is charged; `epoch` that of the
    division.
    """

    siblings: Siblings
    items: list[OrderedQueue]
    by_name: dict[str, OrderedQueue]
    version: int
    epoch: int

    def is_of(self, siblings: Siblings) -> bool:
        """Return whether the siblings are the same, each with the same jobs."""
        own, others = self.siblings.members, siblings.members
        return own is others or (len(own) == len(others) and all(map(is_, own, others)))
