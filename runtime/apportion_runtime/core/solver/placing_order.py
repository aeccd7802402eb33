"""The order in which a simulation places the preemptor and its victims: among all jobs that wait.

The engine builds it anew from every job for every scenario.

Source: pkg/scheduler/actions/common/action.go.
"""

from __future__ import annotations

from collections.abc import Mapping

from apportion_runtime.core.families import Members
from apportion_runtime.core.job import Job
from apportion_runtime.core.job_order import JobOrder
from apportion_runtime.core.session import Session


def waiting_jobs(session: Session) -> dict[str, Members]:
    """Return the jobs with pods that wait, by queue, as long as nothing is committed."""
    memory = session.min_device_memory
    found = {queue: family.waiting(memory) for queue, family in session.families.items()}
    return {queue: members for queue, members in found.items() if members.jobs}


def placing_order(session: Session, waiting: Mapping[str, Members], preemptor: Job, involved: set[str]) -> JobOrder:
    """Return the order of jobs that wait or are involved.

    Args:
        session: The session, with the victims evicted.
        waiting: Jobs that waited before.
        preemptor: The job that wants room, with those of its pods that are tried.
        involved: The victims' jobs.
    """
    order = JobOrder(session.shares, session.plugins, session.min_device_memory)
    own: dict[str, dict[str, Job]] = {}
    for job in (*(session.jobs[uid] for uid in involved), preemptor):
        own.setdefault(job.queue, {})[job.uid] = job
    mixed: list[Members] = []
    for queue, jobs in own.items():
        before = waiting[queue].jobs if queue in waiting else ()
        mixed.append(Members(list(({job.uid: job for job in before} | jobs).values()), [], are_alike=False))
    order.fill_by_queue((*(members for queue, members in waiting.items() if queue not in own), *mixed))
    return order
