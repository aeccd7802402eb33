"""The order in which a simulation places the preemptor and its victims, among all pending jobs.

The engine builds it again from every job for every scenario.

Source: pkg/scheduler/actions/common/action.go.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

from apportion_runtime.core.job import Job
from apportion_runtime.core.job_order import JobOrder, OrderEntry
from apportion_runtime.core.order_tree import Siblings
from apportion_runtime.core.queue_jobs import JobList
from apportion_runtime.core.queue_order import Key
from apportion_runtime.core.queue_share import QueueShare
from apportion_runtime.core.resources import Quantities
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


def with_other_place(
    session: Session, waiting: PendingOrder, one: Job, others: Sequence[Job], involved: set[str]
) -> list[Job]:
    """Return the views of the preemptor that may have another place in the order than `one`, with other pods.

    The orders are built by the same comparisons. The pods of the preemptor affect only those of its queue and of the queues
    above with their siblings. A view has the same place if it changes the result of none of these, whichever job below the
    sibling comes next.
    """
    key, memory = one.order_key(session.plugins), session.min_device_memory
    request, key_of = one.init_request(memory), session.placing.key_of
    compared = list(_comparisons(session, waiting, one, involved)) if session.keeps_shares else []

    def has_same_place(other: Job) -> bool:
        after = other.init_request(memory)
        if other.order_key(session.plugins) != key:
            return False
        for queue, keys in compared:
            first, second = key_of(queue, request), key_of(queue, after)
            if first != second and any(
                (first < each, first == each) != (second < each, second == each) for each in keys
            ):
                return False
        return True

    return [other for other in others if not has_same_place(other)]


def _comparisons(
    session: Session, waiting: PendingOrder, preemptor: Job, involved: set[str]
) -> Iterator[tuple[QueueShare, Collection[Key]]]:
    """Yield each queue above a preemptor, with the keys that its siblings may have."""
    shares, memory = session.shares, session.min_device_memory
    below: dict[str, set[Quantities]] = {}
    for name, members in waiting.by_queue.items():
        if shares.holds_jobs_of(name):
            requests = (members.counted,) if members.are_alike else {job.init_request(memory) for job in members.jobs}
            for above in shares.queues[name].path:
                below.setdefault(above.name, set()).update(requests)
    for uid in involved:
        job = session.jobs[uid]
        for above in shares.queues[job.queue].path:
            below.setdefault(above.name, set()).add(job.init_request(memory))
    key_of = session.placing.key_of
    for queue in shares.queues[preemptor.queue].path:
        siblings = shares.children_of(shares.queues[queue.parent] if queue.parent else None)
        yield (
            queue,
            {key_of(each, request) for each in siblings if each is not queue for request in below.get(each.name, ())},
        )
