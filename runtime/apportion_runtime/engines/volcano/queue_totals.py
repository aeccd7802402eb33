"""The total amounts of the jobs of each queue, kept between cycles and updated for jobs that changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from apportion_runtime.engines.volcano.capacity import Capacity
from apportion_runtime.engines.volcano.job_index import JobIndex
from apportion_runtime.engines.volcano.job_records import JobAmounts
from apportion_runtime.engines.volcano.jobs import Job
from apportion_runtime.snapshots.pod_requests import add


class _Sums(NamedTuple):
    held: dict[str, int]
    requested: dict[str, int]
    inqueue: dict[str, int]
    elastic: dict[str, int]


class QueueTotals:
    """The totals of a scheduler. Amounts are integers, so that the order of additions has no effect."""

    def __init__(self) -> None:
        self._counted: dict[Job, JobAmounts] = {}
        self._sums: dict[str, _Sums] = {}
        self._capacity: Capacity | None = None

    def update(self, index: JobIndex, capacity: Capacity) -> None:
        """Count the jobs that changed since the last update in their queues, and remove those that are gone."""
        counted = self._counted
        changes: dict[str, _Sums] = {}
        for job in index.take_uncounted():
            before, amounts = counted.get(job), job.amounts() if index.has(job) else None
            if amounts is before:
                continue
            if before is not None:
                _add(changes, before, -1)
            if amounts is None:
                del counted[job]
            else:
                _add(changes, amounts, 1)
                counted[job] = amounts
        for queue, change in changes.items():
            sums = self._sums.setdefault(queue, _Sums({}, {}, {}, {}))
            for into, added in zip(sums, change, strict=True):
                add(into, added)
        _count(capacity, self._sums if capacity is not self._capacity else changes)
        self._capacity = capacity


def _add(into: dict[str, _Sums], amounts: JobAmounts, sign: int) -> None:
    sums = into.setdefault(amounts.queue, _Sums({}, {}, {}, {}))
    for total, added in zip(sums, amounts[1:], strict=True):
        for name, value in added.items():
            total[name] = total.get(name, 0) + sign * value


def _count(capacity: Capacity, sums: Mapping[str, _Sums]) -> None:
    for queue, (held, requested, inqueue, elastic) in sums.items():
        if queue in capacity.queues:
            capacity.add_totals(queue, held=held, requested=requested, inqueue=inqueue, elastic=elastic)
