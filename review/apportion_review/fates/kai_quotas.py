"""Running jobs above the deserved quotas of KAI's queues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from apportion_runtime.core.job import Job
from apportion_runtime.core.queue_share import QueueShare

_UNITS = (("cores", 1e3), ("GB of memory", 1e9), ("GPUs", 1.0))
"""Units of each resource in messages: millicores, bytes, GPUs."""
_NO_BOUND = -1.0


@dataclass(frozen=True, slots=True)
class Excess:
    """A bound of a queue that a job exceeds.

    Attributes:
        queue: The queue.
        bound: `quota` or `limit`.
        amount: The bound in `unit`.
        unit: The unit, such as `GPUs`.
        beneficiary: A sibling that may reclaim the excess; empty without one.
    """

    queue: str
    bound: str
    amount: float
    unit: str
    beneficiary: str


class Quotas:
    """The quotas and limits of queues, and their running jobs.

    Jobs exceed a bound in KAI's order of victims: the lowest priority and the latest creation first. Non-preemptible
    jobs are counted separately, because KAI admits them only within the quota.
    """

    def __init__(self, queues: Mapping[str, QueueShare], jobs: Iterable[Job]) -> None:
        self._queues = queues
        self._jobs = sorted(
            (job for job in jobs if job.queue in queues), key=lambda job: (-job.priority, job.group.created, job.uid)
        )
        self._by_unused: dict[tuple[str | None, int], list[str]] = {}

    def excesses(self) -> Mapping[str, Excess | None]:
        """Return, for each job, the first bound on the path to the root that it exceeds; None if it exceeds none.

        Preemptible jobs exceed a bound only if a sibling of the queue may reclaim them.
        """
        used: dict[tuple[str, bool], list[float]] = {}
        found: dict[str, Excess | None] = {}
        for job in self._jobs:
            excess: Excess | None = None
            held = job.allocated_quantities
            for queue in self._queues[job.queue].path:
                total = used.setdefault((queue.name, job.preemptible), [0.0, 0.0, 0.0])
                # Preemptible jobs are evicted before non-preemptible ones, and so come after all of those.
                fixed = queue.allocated_np if job.preemptible else (0.0, 0.0, 0.0)
                for n, amount in enumerate(held):
                    total[n] += amount
                    name, bound = _bound(queue, n)
                    if excess is None and amount and bound != _NO_BOUND and total[n] + fixed[n] > bound:
                        beneficiary_queue = self._beneficiary(queue, n)
                        if beneficiary_queue or not job.preemptible:
                            unit, size = _UNITS[n]
                            excess = Excess(queue.name, name, bound / size, unit, beneficiary_queue)
            found[job.uid] = excess
        return found

    def in_exceeded_queues(self) -> frozenset[str]:
        """Return the jobs with a queue on the path to the root that exceeds a bound and has a reclaiming sibling."""
        n_children = Counter(queue.parent for queue in self._queues.values())
        exceeded = {
            queue.name
            for queue in self._queues.values()
            if n_children[queue.parent] > 1
            and any(_NO_BOUND != _bound(queue, n)[1] < queue.allocated[n] for n in range(len(_UNITS)))
        }
        return frozenset(job.uid for job in self._jobs if any(q.name in exceeded for q in self._queues[job.queue].path))

    def _beneficiary(self, queue: QueueShare, n: int) -> str:
        """Return the sibling with the most unused quota; any sibling if none has unused quota."""
        place = (queue.parent, n)
        if place not in self._by_unused:
            siblings = [q for q in self._queues.values() if q.parent == queue.parent]
            unused = {
                q.name: (1e18 if q.deserved[n] == _NO_BOUND else q.deserved[n]) - q.allocated[n] for q in siblings
            }
            self._by_unused[place] = sorted(unused, key=lambda name: (-unused[name], name))
        return next((name for name in self._by_unused[place] if name != queue.name), "")


def _bound(queue: QueueShare, n: int) -> tuple[str, float]:
    """Return the lower of quota and limit, with its name."""
    quota, limit = queue.deserved[n], queue.limit[n]
    return ("limit", limit) if limit != _NO_BOUND and (quota == _NO_BOUND or limit < quota) else ("quota", quota)
