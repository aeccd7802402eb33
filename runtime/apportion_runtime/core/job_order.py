"""Jobs in the order in which an action takes them: from the roots down to the best leaf, then its best job.

Heads are moved when something changed below them; siblings behind the head keep the place they had. That is the
engine's way, and it decides among queues whose shares changed meanwhile.

Source: pkg/scheduler/actions/utils/job_order_by_queue.go, framework/session_plugins.go, plugins/elastic, priority.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from apportion_runtime.core.heap import Heap
from apportion_runtime.core.job import Job
from apportion_runtime.core.queue_order import Side, compare_queues
from apportion_runtime.core.resources import NO_QUANTITIES
from apportion_runtime.core.shares import QueueShare, Shares


def job_less(left: Job, right: Job, plugins: frozenset[str]) -> bool:
    """Tell whether a job comes before another of its queue."""
    if left.priority != right.priority and "priority" in plugins:
        return left.priority > right.priority
    if "elastic" in plugins:
        compared = _compare_elastic(left, right)
        if compared:
            return compared < 0
    return (left.created, left.uid) < (right.created, right.uid)


_BELOW, _AT, _ABOVE = 0, 1, 2


def _state(job: Job) -> int:
    at = _AT
    for pod_set in job.pod_sets.values():
        if pod_set.n_allocated < pod_set.min_available:
            return _BELOW
        if pod_set.n_allocated > pod_set.min_available:
            at = _ABOVE
    return at


def _compare_elastic(left: Job, right: Job) -> int:
    a, b = _state(left), _state(right)
    return (a > b) - (a < b)


class _Queue:
    """A queue of the tree: below it queues, or jobs where it is a leaf."""

    __slots__ = ("children", "is_leaf", "parent", "share", "stale")

    def __init__(self, share: QueueShare, children: Heap[_Item], *, is_leaf: bool) -> None:
        self.share = share
        self.children = children
        self.is_leaf = is_leaf
        self.parent: _Queue | None = None
        self.stale = False


_Item = _Queue | Job


class JobOrder:
    """Jobs by queue.

    Args:
        shares: The queues.
        plugins: Plugins that are on.
        device_memory: MiB of the smallest device of the cluster.
        victims: Order them as victims: the last first.
        depth: Jobs kept for each leaf.
    """

    def __init__(
        self,
        shares: Shares,
        plugins: frozenset[str],
        device_memory: int | None,
        *,
        victims: bool = False,
        depth: int | None = None,
    ) -> None:
        self._shares = shares
        self._plugins = plugins
        self._device_memory = device_memory
        self._victims = victims
        self._depth = depth
        self._roots: Heap[_Item] = Heap(self._queue_less())
        self._queues: dict[str, _Queue] = {}
        self._popped: dict[str, list[Job]] = {}

    def __bool__(self) -> bool:
        return bool(self._roots.items)

    def fill(self, jobs: Iterable[Job]) -> None:
        """Add jobs; those whose queue is missing or has queues below are left out."""
        for job in jobs:
            if self._shares.holds_jobs_of(job.queue):
                self.push(job)

    def push(self, job: Job) -> None:
        """Add a job."""
        share = self._shares.queues[job.queue]
        leaf = self._queues.get(job.queue)
        is_new = leaf is None
        if leaf is None:
            leaf = self._queues[job.queue] = _Queue(share, Heap(self._job_less(), self._depth), is_leaf=True)
        leaf.children.push(job)
        if is_new:
            self._link(leaf)
        self._mark(leaf)

    def pop(self) -> Job:
        """Take the next job."""
        heap = self._roots
        while True:
            queue = heap.peek()
            assert isinstance(queue, _Queue)
            if queue.stale:
                heap.fix(0)
                queue.stale = False
                continue
            if queue.is_leaf:
                break
            heap = queue.children
        job = queue.children.pop()
        assert isinstance(job, Job)
        if self._victims:
            self._popped.setdefault(queue.share.name, []).append(job)
        self._tidy(queue)
        return job

    def _link(self, child: _Queue) -> None:
        parent_name = child.share.parent
        if not parent_name:
            if child.parent is None:
                self._roots.push(child)
            return
        parent = self._queues.get(parent_name)
        is_new = parent is None
        if parent is None:
            parent = _Queue(self._shares.queues[parent_name], Heap(self._queue_less()), is_leaf=False)
            self._queues[parent_name] = parent
        if child.parent is None:
            child.parent = parent
            parent.children.push(child)
        if is_new:
            self._link(parent)

    def _tidy(self, queue: _Queue) -> None:
        at: _Queue | None = queue
        while at is not None and not at.children.items:
            # What is empty was the head that was just taken from.
            (at.parent.children if at.parent is not None else self._roots).pop()
            del self._queues[at.share.name]
            at = at.parent
        if at is not None:
            self._mark(at)

    @staticmethod
    def _mark(queue: _Queue) -> None:
        at: _Queue | None = queue
        while at is not None:
            at.stale = True
            at = at.parent

    def _job_less(self) -> Callable[[_Item, _Item], bool]:
        plugins = self._plugins
        if self._victims:
            return lambda left, right: not job_less(left, right, plugins)  # type: ignore[arg-type]
        return lambda left, right: job_less(left, right, plugins)  # type: ignore[arg-type]

    def _queue_less(self) -> Callable[[_Item, _Item], bool]:
        def less(left: _Item, right: _Item) -> bool:
            assert isinstance(left, _Queue)
            assert isinstance(right, _Queue)
            if not left.children.items:
                return not self._victims
            if not right.children.items:
                return self._victims
            first = self._compare(left, right) < 0
            return not first if self._victims else first

        return less

    def _compare(self, left: _Queue, right: _Queue) -> int:
        if "proportion" not in self._plugins:
            a, b = left.share, right.share
            return -1 if (a.created, a.name) < (b.created, b.name) else 1
        return compare_queues(self._side(left), self._side(right), self._shares.total)

    def _side(self, queue: _Queue) -> Side:
        if self._victims:
            return Side(queue.share, NO_QUANTITIES, self._victims_below(queue))
        return Side(queue.share, self._best(queue).init_request(self._device_memory))

    def _best_leaf(self, queue: _Queue) -> _Queue:
        while not queue.is_leaf:
            child = queue.children.peek()
            assert isinstance(child, _Queue)
            queue = child
        return queue

    def _best(self, queue: _Queue) -> Job:
        job = self._best_leaf(queue).children.peek()
        assert isinstance(job, Job)
        return job

    def _victims_below(self, queue: _Queue) -> Sequence[Job]:
        leaf = self._best_leaf(queue)
        popped = self._popped.get(leaf.share.name, [])
        if not leaf.children.items:
            return popped
        job = leaf.children.peek()
        assert isinstance(job, Job)
        return [*popped, job]
