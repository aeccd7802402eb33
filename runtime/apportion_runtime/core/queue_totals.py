"""The totals of the jobs of each queue in a kept session, updated job by job.

Sums of floats depend on their order. As long as all amounts are whole numbers, or multiples of 1/1024 for GPUs, and far
below the limit of exact floats, every order gives the same sum, so that only the difference of a job is added.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import add, le, sub
from typing import TYPE_CHECKING

from apportion_runtime.core.queue_jobs import in_order
from apportion_runtime.core.queue_usage import (
    EXACT_PARTS,
    N_AMOUNTS,
    NO_AMOUNTS,
    NO_FRACTIONS,
    Fraction,
    NumberedFractions,
    Row,
    job_usage,
    with_fractions,
)
from apportion_runtime.core.running_totals import RunningTotal

if TYPE_CHECKING:
    from apportion_runtime.core.job import Job
    from apportion_runtime.core.session import Session

_LARGEST_EXACT = 2.0**42
"""Sums of multiples of 1/1024 are exact below 2**43, and those of whole numbers below 2**53."""
_PARTS = (1.0, 1.0, EXACT_PARTS) * 3
_LARGEST = (_LARGEST_EXACT * EXACT_PARTS, _LARGEST_EXACT * EXACT_PARTS, _LARGEST_EXACT) * 3
_MOST_ROWS = 10_000
"""Distinct rows known to be exact that are kept."""


class QueueTotals:
    """The totals of the queues of one session.

    Attributes:
        is_exact: Whether all sums are the same in any order.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.is_exact = True
        self._exact_rows: set[Row] = {NO_AMOUNTS}
        self._rows: dict[str, dict[str, Row]] = {}
        self._all: Sequence[float] = NO_AMOUNTS
        # Once the order matters.
        self._ordered: dict[str, RunningTotal] = {}
        self._fractions: dict[str, dict[str, tuple[Fraction, ...]]] = {}
        # Whether the sum of the fractions depends on their order: some are not exact.
        self._orders_fractions = False
        # The totals of the queues, as of their last change, and the queues that changed since the last recount.
        self._counted: dict[str, Sequence[float]] = {}
        self._numbered: dict[str, Sequence[NumberedFractions]] = {}
        self._changed: dict[str, None] = {}
        self.count(session.jobs)

    @property
    def are_plain(self) -> bool:
        """Whether all sums are exact, including those of fractions of devices."""
        return self.is_exact and not self._fractions

    def count(self, jobs: Iterable[str]) -> None:
        """Count jobs that were added or changed."""
        for uid in jobs:
            self._count(self._session.jobs[uid])

    def _count(self, job: Job) -> None:
        uid, queue = job.uid, job.queue
        amounts, fractions = job_usage(job, self._session.min_device_memory)
        if fractions and not self._orders_fractions:
            if not all(fraction.is_exact for fraction in fractions):
                self._orders_fractions = True
                self.count(self._session.jobs)
                return
            amounts, fractions = with_fractions(amounts, fractions), ()
        self._put(queue, uid, amounts)
        if fractions:
            self._fractions.setdefault(queue, {})[uid] = fractions
            self._changed[queue] = None
        elif self._fractions and self._fractions.get(queue, {}).pop(uid, None) is not None:
            self._changed[queue] = None

    def drop(self, job: Job) -> None:
        """Remove a job."""
        queue = job.queue
        if self.is_exact:
            before = self._rows[queue].pop(job.uid, NO_AMOUNTS)
            self._add(queue, before, NO_AMOUNTS)
        else:
            self._ordered[queue].drop(job.uid)
        self._fractions.get(queue, {}).pop(job.uid, None)
        self._changed[queue] = None

    def _put(self, queue: str, uid: str, row: Row) -> None:
        if not self.is_exact:
            self._ordered.setdefault(queue, RunningTotal(N_AMOUNTS)).put(uid, row)
            self._changed[queue] = None
            return
        rows = self._rows.setdefault(queue, {})
        before = rows.get(uid)
        if before == row:
            return
        rows[uid] = row
        self._changed[queue] = None
        if not (self._is_exact(row) and self._add(queue, NO_AMOUNTS if before is None else before, row)):
            self._order()

    def _is_exact(self, row: Row) -> bool:
        if row in self._exact_rows:
            return True
        if not all((amount * parts).is_integer() for amount, parts in zip(row, _PARTS, strict=True)):
            return False
        if len(self._exact_rows) >= _MOST_ROWS:
            self._exact_rows.clear()
        self._exact_rows.add(row)
        return True

    def _add(self, queue: str, before: Row, row: Row) -> bool:
        """Replace a row in the sums, and return whether they are still exact."""
        more = tuple(map(sub, row, before))
        self._counted[queue] = list(map(add, self._counted.get(queue, NO_AMOUNTS), more))
        self._all = list(map(add, self._all, more))
        return all(map(le, self._all, _LARGEST))

    def _order(self) -> None:
        """Add in order from now on."""
        self.is_exact = False
        for queue, rows in self._rows.items():
            ordered = self._ordered[queue] = RunningTotal(N_AMOUNTS)
            for uid, row in rows.items():
                ordered.put(uid, row)
            self._changed[queue] = None
        self._rows.clear()

    def recount(self) -> None:
        """Recount the shares of the queues whose jobs changed."""
        if not self.is_exact:
            for queue in self._changed:
                self._counted[queue] = self._ordered[queue].total()
        for queue in self._changed if self._fractions else ():
            own = self._fractions.get(queue, {})
            if own:
                jobs = in_order(map(self._session.jobs.__getitem__, own))
                self._numbered[queue] = [(job.number, own[job.uid]) for job in jobs]
            else:
                self._numbered.pop(queue, None)
        numbered = self._numbered or NO_FRACTIONS
        self._session.shares.recount(self._counted, numbered, changed=self._changed, is_exact=self.is_exact)
        self._changed.clear()
