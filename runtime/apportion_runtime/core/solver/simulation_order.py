"""The order in which a simulation places the preemptor and its victims, among all pending jobs.

The engine builds it again from every job for every scenario.

Source: pkg/scheduler/actions/common/action.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

from apportion_runtime.core.job import Job
from apportion_runtime.core.job_order import JobOrder, OrderEntry
from apportion_runtime.core.order_tree import Siblings
from apportion_runtime.core.queue_jobs import JobList
from apportion_runtime.core.session import Session

_NUMBER = itemgetter(0)


class PendingOrder(NamedTuple):
    """The pending jobs, by queue and as entries of an order; valid until a commit.

    `at_once` holds siblings that can be added as a whole, with number and entries; `others` are the other entries.
    """

    by_queue: Mapping[str, JobList]
    at_once: Sequence[tuple[int, Siblings, Sequence[OrderEntry]]]
    others: Sequence[OrderEntry]


def waiting_jobs(session: Session) -> PendingOrder:
    """Return the jobs with pending pods."""
    memory = session.min_device_memory
    found = {
        queue: queue_jobs.waiting(memory) for queue, queue_jobs in session.queue_jobs.items() if queue_jobs.pending
    }
    order = session.placing
    at_once, others = order.siblings(sorted(order.entries(found.values()), key=_NUMBER))
    return PendingOrder(found, at_once, others)


def simulation_order(session: Session, waiting: PendingOrder, preemptor: Job, involved: set[str]) -> JobOrder:
    """Return the order of pending and involved jobs; it is valid until the next call.

    Args:
        session: The session, with the victims evicted.
        waiting: Jobs that waited before.
        preemptor: The job that needs room, with those of its pods that are tried.
        involved: The victims' jobs.
    """
    order = session.placing.cleared()
    own: dict[str, dict[str, Job]] = {}
    for job in (*(session.jobs[uid] for uid in involved), preemptor):
        own.setdefault(job.queue, {})[job.uid] = job
    if len(own) == 1:
        # With jobs of one queue only, the order of queues does not matter.
        (jobs,) = own.values()
        order.fill(jobs.values())
        return order
    queues = session.shares.queues
    above = {queues[name].parent for name in own if name in queues}
    entries: list[OrderEntry | tuple[int, Siblings]] = [entry for entry in waiting.others if entry[1].queue not in own]
    for number, siblings, single in waiting.at_once:
        if siblings.parent in above:
            entries += (entry for entry in single if entry[1].queue not in own)
        else:
            entries.append((number, siblings))
    for queue, jobs in own.items():
        before = waiting.by_queue[queue].jobs if queue in waiting.by_queue else ()
        mixed = list(({job.uid: job for job in before} | jobs).values())
        entries += order.entries((JobList(queue, mixed, [], are_alike=False),))
    entries.sort(key=_NUMBER)
    order.fill_in_order(entries)
    return order
