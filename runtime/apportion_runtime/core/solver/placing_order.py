"""The order in which a simulation places the preemptor and its victims: among all jobs that wait.

The engine builds it anew from every job for every scenario.

Source: pkg/scheduler/actions/common/action.go.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

from apportion_runtime.core.families import Members
from apportion_runtime.core.job import Job
from apportion_runtime.core.job_order import JobOrder, Turn
from apportion_runtime.core.session import Session

_NUMBER = itemgetter(0)


class Waiting(NamedTuple):
    """The jobs with pods that wait, as long as nothing is committed: by queue, and in the order of filling."""

    by_queue: Mapping[str, Members]
    turns: Sequence[Turn]


def waiting_jobs(session: Session) -> Waiting:
    """Return the jobs with pods that wait."""
    memory = session.min_device_memory
    found = {queue: family.waiting(memory) for queue, family in session.families.items() if family.pending}
    return Waiting(found, sorted(session.placing.turns(found.values()), key=_NUMBER))


def placing_order(session: Session, waiting: Waiting, preemptor: Job, involved: set[str]) -> JobOrder:
    """Return the order of jobs that wait or are involved; it is good until the next one is asked for.

    Args:
        session: The session, with the victims evicted.
        waiting: Jobs that waited before.
        preemptor: The job that wants room, with those of its pods that are tried.
        involved: The victims' jobs.
    """
    order = session.placing.emptied()
    own: dict[str, dict[str, Job]] = {}
    for job in (*(session.jobs[uid] for uid in involved), preemptor):
        own.setdefault(job.queue, {})[job.uid] = job
    turns = [turn for turn in waiting.turns if turn[1].queue not in own]
    for queue, jobs in own.items():
        before = waiting.by_queue[queue].jobs if queue in waiting.by_queue else ()
        mixed = list(({job.uid: job for job in before} | jobs).values())
        for turn in order.turns((Members(queue, mixed, [], are_alike=False),)):
            insort(turns, turn, key=_NUMBER)
    order.fill_in_turn(turns)
    return order
