"""Jobs in the order in which an action processes them: from the roots down to the best leaf, then its best job.

A queue at the head is moved when something below it changes; siblings behind the head keep their places. The engine
does the same, which affects the order of queues whose shares have changed in the meantime.

Source: pkg/scheduler/actions/utils/job_order_by_queue.go, framework/session_plugins.go, plugins/elastic, priority.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from operator import itemgetter

from apportion_runtime.core.heap import Heap
from apportion_runtime.core.job import Job
from apportion_runtime.core.order_tree import Jobs, OrderedQueue, SavedOrder, SiblingHeap, Siblings
from apportion_runtime.core.queue_jobs import JobList
from apportion_runtime.core.queue_keys import QueueKeys
from apportion_runtime.core.queue_order import Key
from apportion_runtime.core.queue_share import QueueShare
from apportion_runtime.core.resources import Quantities
from apportion_runtime.core.shares import Shares
from apportion_runtime.core.sorted_jobs import SortedJobs

OrderEntry = tuple[int, JobList | Job]
"""An entry of an order with its number: a job, or all jobs of a queue if they are alike."""
_NUMBER = itemgetter(0)


class JobOrder:
    """Jobs by queue.

    Args:
        shares: The queues.
        plugins: The enabled plugins.
        device_memory: MiB of the smallest device of the cluster.
        victims: Order them as victims, the last first.
        depth: The number of jobs kept for each leaf.
        jobs_change: Whether the order of jobs may change in between, as their running pods are evicted.
    """

    def __init__(
        self,
        shares: Shares,
        plugins: frozenset[str],
        device_memory: int | None,
        *,
        victims: bool = False,
        depth: int | None = None,
        jobs_change: bool = False,
    ) -> None:
        self._shares = shares
        self._plugins = plugins
        self._device_memory = device_memory
        self._victims = victims
        self._depth = depth
        self._jobs_change = jobs_change or depth is not None
        self._keys = QueueKeys(shares, plugins, device_memory, victims=victims)
        self._less = self._keys.less()
        self._roots: Heap[OrderedQueue] = Heap(self._less)
        self._queues: dict[str, OrderedQueue] = {}
        self._popped: dict[str, list[Job]] = {}
        self._before: SavedOrder | None = None
        self._childless: Heap[OrderedQueue] = Heap(self._less)
        # Queues of earlier orders, reused: building them is most of the cost of an order.
        self._pool: dict[str, OrderedQueue] = {}
        self._kept: dict[str, SiblingHeap] = {}

    def __bool__(self) -> bool:
        return bool(self._roots.items)

    def rewindable(self) -> JobOrder:
        """Save the current state for `rewind`."""
        self._before = SavedOrder(list(self._roots.items), dict(self._queues), dict(self._popped), {})
        return self

    def rewind(self) -> JobOrder:
        """Return to the state saved by `rewindable`."""
        before = self._before
        assert before is not None
        self._roots.items = list(before.roots)
        self._queues = dict(before.queues)
        self._popped = dict(before.popped)
        for queue, state in before.states.items():
            queue.restore(state)
        before.states.clear()
        return self

    def _save_state(self, queue: OrderedQueue) -> None:
        if self._before is not None and queue not in self._before.states:
            self._before.states[queue] = queue.state()

    def cleared(self) -> JobOrder:
        """Remove all jobs."""
        self._roots.items = []
        self._queues, self._popped, self._before = {}, {}, None
        return self

    def fill(self, jobs: Iterable[Job]) -> None:
        """Add jobs; skip those whose queue is missing or not a leaf."""
        queues, holds = self._queues, self._shares.holds_jobs_of
        for job in jobs:
            leaf = queues.get(job.queue)
            if leaf is not None and leaf.jobs is not None:
                leaf.jobs.push(job)
                self._detach_job_list(leaf)
                self._mark_stale(leaf)
            elif holds(job.queue):
                self.push(job)

    def push(self, job: Job) -> None:
        """Add a job."""
        if self._before is not None:
            for queue in self._before.queues.values():
                self._save_state(queue)
        leaf = self._queues.get(job.queue)
        if leaf is not None:
            assert leaf.jobs is not None
            leaf.jobs.push(job)
            self._detach_job_list(leaf)
        else:
            jobs = self._new_jobs()
            jobs.push(job)
            leaf = OrderedQueue(self._shares.queues[job.queue], self._childless, jobs)
            leaf.popped = self._popped.get(job.queue, [])
            self._queues[job.queue] = leaf
            self._link(leaf)
        self._mark_stale(leaf)

    def fill_by_queue(self, queues: Iterable[JobList]) -> None:
        """Add the jobs of several queues, each once, as if one by one in the session's order.

        A queue whose jobs are alike is added as a whole: its place depends on the amounts of its next job, not on
        which job that is.
        """
        entries = sorted(self.entries(queues), key=_NUMBER)
        if self._queues:
            self.fill_in_order(entries)
            return
        at_once, others = self.siblings(entries)
        together: list[OrderEntry | tuple[int, Siblings]] = [*others, *((number, each) for number, each, _ in at_once)]
        self.fill_in_order(sorted(together, key=_NUMBER))

    def siblings(
        self, entries: Iterable[OrderEntry]
    ) -> tuple[list[tuple[int, Siblings, list[OrderEntry]]], list[OrderEntry]]:
        """Return the siblings that can be added as a whole, with number and entries, and the remaining entries."""
        at_once: list[tuple[int, Siblings, list[OrderEntry]]] = []
        others: list[OrderEntry] = []
        by_parent: dict[str, list[OrderEntry]] = {}
        queues = self._shares.queues
        for entry in entries:
            by_parent.setdefault(queues[entry[1].queue].parent or "", []).append(entry)
        for parent, own in by_parent.items():
            members = tuple(each for _, each in own if isinstance(each, JobList))
            is_uniform = len(members) == len(own) and all(each.counted == members[0].counted for each in members)
            if parent and is_uniform and not any(queues[child].children for child in queues[parent].children):
                at_once.append((own[0][0], Siblings(parent, members), own))
            else:
                others += own
        return at_once, others

    def key_of(self, queue: QueueShare, request: Quantities) -> Key:
        """Return the key of a queue whose next job requests an amount."""
        return self._keys.with_request(queue, request)

    def entries(self, queues: Iterable[JobList]) -> Iterator[OrderEntry]:
        """Yield the entries of `fill_by_queue`, queue by queue, each with its number in the session's order."""
        for members in queues:
            if not members.jobs or not self._shares.holds_jobs_of(members.queue):
                continue
            if members.are_alike and not self._jobs_change:
                yield members.jobs[0].number, members
            else:
                yield from ((job.number, job) for job in members.jobs)

    def fill_in_order(self, entries: Iterable[OrderEntry | tuple[int, Siblings]]) -> None:
        """Add entries, in order of their numbers; siblings have the number of the first."""
        for _, each in entries:
            if isinstance(each, Job):
                self.push(each)
            elif isinstance(each, Siblings):
                self._push_siblings(each)
            else:
                self._push_alike(each)

    def _push_siblings(self, siblings: Siblings) -> None:
        """Add the leaves of a queue; reuse their heap if nothing changed since the last order."""
        name, share = siblings.parent, self._shares.queues[siblings.parent]
        kept = self._kept.get(name)
        if (
            kept is None
            or kept.version != share.version
            or kept.epoch != self._shares.epoch
            or not kept.is_of(siblings)
        ):
            for members in siblings.members:
                self._push_alike(members)
            items = list(self._queues[name].children.items)
            by_name = {leaf.share.name: leaf for leaf in items}
            self._kept[name] = SiblingHeap(siblings, items, by_name, share.version, self._shares.epoch)
            return
        parent = self._queues[name] = self._inner(name)
        parent.children.items = list(kept.items)
        for leaf in kept.items:
            leaf.parent, leaf.stale = parent, True
        self._queues.update(kept.by_name)
        self._link(parent)
        self._mark_stale(parent)

    def _push_alike(self, members: JobList) -> None:
        name = members.queue
        popped = self._popped.get(name)
        leaf = self._pool.get(name) if popped is None else None
        if leaf is None or leaf.alike is not members:
            jobs = SortedJobs(self._plugins, last_first=self._victims)
            jobs.set_sorted(members.ordered)
            leaf = OrderedQueue(self._shares.queues[name], self._childless, jobs)
            if popped is None:
                leaf.alike = members
                self._pool[name] = leaf
            else:
                leaf.popped = popped
        leaf.reset()
        self._queues[name] = leaf
        share = leaf.share
        if leaf.key_version != share.version and not leaf.popped and "proportion" in self._plugins:
            counted = members.counted
            leaf.key = (
                self._keys.as_victim(share, counted) if self._victims else self._keys.with_request(share, counted)
            )
            leaf.key_version, leaf.made_with, leaf.is_changed = share.version, None, False
        leaf.stale = True
        parent = self._queues.get(share.parent) if share.parent else None
        if parent is None:
            self._link(leaf)
            parent = leaf.parent
        else:
            leaf.parent = parent
            parent.children.push(leaf)
        while parent is not None:
            parent.stale = parent.is_changed = True
            parent = parent.parent

    def pop_past(self, wanted: Container[str]) -> Job:
        """Remove and return the next job; if unwanted, also skip the unwanted ones behind it with the same request.

        They would come next: if no queue moves after the first of them, none moves after the others, whose requests are
        the same. The first can move a queue: `pop` compares it by the job of the child queue that was at the head, and
        that child may have moved since.
        """
        job = self.pop()
        leaf = self._queues.get(job.queue)
        if job.uid in wanted or leaf is None or self._jobs_change:
            return job
        request = job.init_request(self._device_memory)
        jobs = leaf.jobs
        assert jobs is not None
        if jobs.peek().init_request(self._device_memory) != request or not self._stays_first(leaf):
            return job
        while jobs.items:
            following = jobs.peek()
            if following.uid in wanted or following.init_request(self._device_memory) != request:
                break
            jobs.pop()
        self._remove_empty(leaf)
        return job

    def _stays_first(self, leaf: OrderedQueue) -> bool:
        """Return whether a leaf at the head remains there for the next job."""
        at: OrderedQueue | None = leaf
        while at is not None:
            if not (self._roots if at.parent is None else at.parent.children).keeps_first():
                return False
            at = at.parent
        return True

    def _detach_job_list(self, leaf: OrderedQueue) -> None:
        """Note that a leaf no longer holds exactly the jobs of its list."""
        if leaf.alike is not None:
            leaf.alike = None
            self._kept.pop(leaf.share.parent or "", None)

    def _new_jobs(self) -> Jobs:
        if not self._jobs_change:
            return SortedJobs(self._plugins, last_first=self._victims)
        plugins = self._plugins
        if self._victims:
            return Heap(lambda left, right: left.order_key(plugins) > right.order_key(plugins), self._depth)
        return Heap(lambda left, right: left.order_key(plugins) < right.order_key(plugins), self._depth)

    def pop(self) -> Job:
        """Remove and return the next job."""
        heap = self._roots
        while True:
            queue = heap.peek()
            if self._before is not None:
                self._save_state(queue)
            if queue.stale:
                if len(heap.items) > 1:
                    heap.fix(0)
                queue.stale = False
                above = queue.parent
                while above is not None and not above.is_changed:
                    above.is_changed = True
                    above = above.parent
                continue
            if queue.jobs is not None:
                break
            heap = queue.children
        job = queue.jobs.pop()
        self._detach_job_list(queue)
        if self._victims:
            queue.popped.append(job)
            self._popped[queue.share.name] = queue.popped
        self._remove_empty(queue)
        return job

    def _link(self, child: OrderedQueue) -> None:
        parent_name = child.share.parent
        if not parent_name:
            if child.parent is None:
                self._roots.push(child)
            return
        parent = self._queues.get(parent_name)
        is_new = parent is None
        if parent is None:
            parent = self._queues[parent_name] = self._inner(parent_name)
        if child.parent is None:
            child.parent = parent
            parent.children.push(child)
        if is_new:
            self._link(parent)

    def _inner(self, name: str) -> OrderedQueue:
        queue = self._pool.get(name)
        if queue is None:
            queue = self._pool[name] = OrderedQueue(self._shares.queues[name], Heap(self._less), None)
        queue.reset()
        return queue

    def _remove_empty(self, queue: OrderedQueue) -> None:
        at: OrderedQueue | None = queue
        while at is not None and not at.items:
            # An empty queue is the head, from which the last job was taken.
            (at.parent.children if at.parent is not None else self._roots).pop()
            del self._queues[at.share.name]
            at = at.parent
        if at is not None:
            self._mark_stale(at)

    @staticmethod
    def _mark_stale(queue: OrderedQueue) -> None:
        at: OrderedQueue | None = queue
        while at is not None:
            at.stale = at.is_changed = True
            at = at.parent
