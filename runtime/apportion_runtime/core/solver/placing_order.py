"""The order in which a simulation places the preemptor and its victims: among all jobs that wait.

The engine builds it anew from every job for every scenario. Whole queues of jobs that ask for the same are put in at
once here, which gives the same order: a queue's place depends on what its next job asks for, not on which job that is.

Source: pkg/scheduler/actions/common/action.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from apportion_runtime.core.job import Job
from apportion_runtime.core.job_order import JobOrder
from apportion_runtime.core.session import Session


class Waiting(NamedTuple):
    """The jobs of a queue with pods that wait, in the session's order, and whether all ask for the same."""

    jobs: list[Job]
    are_alike: bool


def waiting_jobs(session: Session) -> dict[str, Waiting]:
    """Return the jobs with pods that wait, by queue, as long as nothing is committed."""
    found: dict[str, Waiting] = {}
    memory = session.min_device_memory
    for queue, jobs in session.jobs_by_queue.items():
        if not session.shares.holds_jobs_of(queue):
            continue
        own = [job for job in jobs if job.n_pending]
        if own:
            first = own[0].init_request(memory)
            found[queue] = Waiting(own, all(job.init_request(memory) == first for job in own))
    return found


def placing_order(session: Session, waiting: Mapping[str, Waiting], preemptor: Job, involved: set[str]) -> JobOrder:
    """Return the order of jobs that wait or are involved.

    Args:
        session: The session, with the victims evicted.
        waiting: Jobs that waited before.
        preemptor: The job that wants room, with those of its pods that are tried.
        involved: The victims' jobs.
    """
    order = JobOrder(session.shares, session.plugins, session.min_device_memory)
    parts: dict[str, Job] = {uid: session.jobs[uid] for uid in involved}
    parts[preemptor.uid] = preemptor
    mixed: dict[str, dict[str, Job]] = {}
    for uid, job in parts.items():
        if session.shares.holds_jobs_of(job.queue):
            mixed.setdefault(job.queue, {})[uid] = job
    events: list[tuple[int, list[Job]]] = []
    for queue, (jobs, are_alike) in waiting.items():
        own = mixed.pop(queue, None)
        if own is None and are_alike:
            events.append((jobs[0].number, jobs))
        else:
            merged = {job.uid: job for job in jobs} | (own or {})
            events += [(job.number, [job]) for job in merged.values()]
    events += [(job.number, [job]) for own in mixed.values() for job in own.values()]
    events.sort(key=_number)
    for _, jobs in events:
        if len(jobs) > 1:
            order.push_all(jobs)
        else:
            order.push(jobs[0])
    return order


def _number(event: tuple[int, list[Job]]) -> int:
    return event[0]
