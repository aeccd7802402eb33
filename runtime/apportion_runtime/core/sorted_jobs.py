"""The jobs of one queue, sorted, while the order of its jobs does not change.

The result equals that of the engine's heap, as no two jobs are equal; sorting once is cheaper.
"""

from __future__ import annotations

from apportion_runtime.core.job import Job, JobKey


class SortedJobs:
    """Jobs by their key, the next one last in the list.

    Args:
        plugins: Plugins that are on, by which the keys are made.
        last_first: Whether the last in order comes out first.
    """

    __slots__ = ("_is_shared", "_last_first", "_n_sorted", "_plugins", "items")

    def __init__(self, plugins: frozenset[str], *, last_first: bool) -> None:
        self._plugins = plugins
        self._last_first = last_first
        self._n_sorted = 0
        # Whether the list is shared with a saved state or a job list.
        self._is_shared = False
        self.items: list[Job] = []

    def push(self, job: Job) -> None:
        """Add a job."""
        self._own()
        self.items.append(job)

    def peek(self) -> Job:
        """Return the next job."""
        if self._n_sorted != len(self.items):
            self._sort()
        return self.items[-1]

    def pop(self) -> Job:
        """Remove and return the next job."""
        if self._n_sorted != len(self.items):
            self._sort()
        self._own()
        self._n_sorted -= 1
        return self.items.pop()

    def set_sorted(self, jobs: list[Job]) -> None:
        """Hold jobs that are already sorted, the next one last; the list itself is not changed."""
        self.items = jobs
        self._n_sorted = len(jobs)
        self._is_shared = True

    def state(self) -> tuple[list[Job], int]:
        """Return the state for `restore`."""
        self._is_shared = True
        return self.items, self._n_sorted

    def restore(self, state: tuple[list[Job], int]) -> None:
        """Restore a state that `state` returned."""
        self.items, self._n_sorted = state
        self._is_shared = True

    def _own(self) -> None:
        if self._is_shared:
            self.items = list(self.items)
            self._is_shared = False

    def _sort(self) -> None:
        self._own()
        if self._n_sorted and self._n_sorted == len(self.items) - 1:
            self._insert(self.items.pop())
            return
        self.items.sort(key=self._key, reverse=not self._last_first)
        self._n_sorted = len(self.items)

    def _insert(self, job: Job) -> None:
        items, key = self.items, job.order_key(self._plugins)
        low, high = 0, len(items)
        while low < high:
            middle = (low + high) // 2
            before = items[middle].order_key(self._plugins) < key
            if before == self._last_first:
                low = middle + 1
            else:
                high = middle
        items.insert(low, job)
        self._n_sorted = len(items)

    def _key(self, job: Job) -> JobKey:
        return job.order_key(self._plugins)
