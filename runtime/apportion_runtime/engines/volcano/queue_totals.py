"""The total amounts of the jobs of each queue, kept between cycles and updated for jobs that changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apportion_runtime.engines.volcano.amounts import Amounts
from apportion_runtime.engines.volcano.jobs import Job, JobAmounts

Sums = tuple[dict[str, int], dict[str, int], dict[str, int], dict[str, int]]


class QueueTotals:
    """The totals of a scheduler. Amounts are integers, so that the order of additions has no effect."""

    def __init__(self) -> None:
        self._counted: dict[str, JobAmounts] = {}
        self._sums: dict[str, Sums] = {}

    def update(self, jobs: Mapping[str, Job]) -> None:
        """Count the jobs that changed since the last update, and remove those that are gone."""
        counted = self._counted
        for key in counted.keys() - jobs.keys():
            self._add(counted.pop(key), -1)
        for key, job in jobs.items():
            amounts, before = job.amounts(), counted.get(key)
            if amounts is not before:
                if before is not None:
                    self._add(before, -1)
                self._add(amounts, 1)
                counted[key] = amounts

    def __iter__(self) -> Iterator[tuple[str, Amounts, Amounts, Amounts, Amounts]]:
        for queue, (held, requested, inqueue, elastic) in self._sums.items():
            yield queue, held, requested, inqueue, elastic

    def _add(self, amounts: JobAmounts, sign: int) -> None:
        sums = self._sums.setdefault(amounts.queue, ({}, {}, {}, {}))
        for into, added in zip(sums, amounts[1:], strict=True):
            for name, value in added.items():
                into[name] = into.get(name, 0) + sign * value
