"""Unwanted jobs that an order passes over together leave the others in the order in which they come one by one."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.unit.runtime.clusters import NOW, job, node, queue

from apportion_runtime.core.job import Job
from apportion_runtime.core.job_order import JobOrder
from apportion_runtime.core.session import Session
from apportion_runtime.core.snapshot import Queue, Settings, Snapshot
from apportion_runtime.core.solver.simulation_order import simulation_order, waiting_jobs

pytestmark = pytest.mark.property

_GPUS = (1, 2, 4, 0.46, 0.5)
_N_RUNNING = 5


def _queues(rng: random.Random) -> list[Queue]:
    """Return departments, each followed by its queues."""
    found: list[Queue] = []
    for department in (f"d{n}" for n in range(rng.randint(1, 3))):
        found.append(queue(department, quota=rng.choice((2, 4, 8)), weight=rng.choice((1, 2))))
        found += [
            queue(f"{department}q{n}", department, quota=rng.choice((0, 1, 2, 4)), weight=rng.choice((1, 2)))
            for n in range(rng.randint(1, 4))
        ]
    return found


def _cluster(rng: random.Random) -> Snapshot:
    """Return a few running jobs and many pending ones of few requests."""
    queues = _queues(rng)
    leaves = [each.name for each in queues if each.parent]
    has_few_requests = rng.random() < 0.4
    of_queue = {leaf: rng.choice(_GPUS) for leaf in leaves}
    jobs = []
    for n in range(rng.randint(3, 40)):
        leaf = rng.choice(leaves)
        gpus = of_queue[leaf] if has_few_requests else rng.choice(_GPUS)
        on = f"n{n % 3}" if n < _N_RUNNING else None
        shared = {"gpu_groups": (f"shared-{n}",)} if on and gpus < 1 else {}
        created = NOW - rng.randint(0, 9)
        jobs.append(
            job(f"j{n}", leaf, gpus=gpus, priority=rng.choice((50, 50, 75)), created=created, on=on, pod=shared)
        )
    groups, pods = tuple(group for group, _ in jobs), tuple(pod for _, own in jobs for pod in own)
    return Snapshot(tuple(node(f"n{n}") for n in range(3)), tuple(queues), groups, pods, now=NOW)


def _taken(session: Session, order: JobOrder, wanted: set[str], rng: random.Random, *, together: bool) -> list[str]:
    """Return the wanted jobs in order; some of them are placed, which changes the shares of their queues."""
    taken: list[str] = []
    while order and wanted:
        job = order.pop_past(wanted) if together else order.pop()
        if job.uid not in wanted:
            continue
        wanted.remove(job.uid)
        taken.append(job.uid)
        if rng.random() < 0.6:
            for task in job.tasks.values():
                session.shares.charge(job, task, 1)
    return taken


def _orders(seed: int, *, together: bool) -> list[list[str]]:
    rng = random.Random(seed)
    session = Session(_cluster(rng), Settings())
    pending: list[Job] = list(session.pending_jobs())
    running = [job for job in session.jobs.values() if job.n_active_allocated]
    if not pending or not running:
        return []
    found: list[list[str]] = []
    waiting = waiting_jobs(session)
    for _ in range(3):
        preemptor = rng.choice(pending)
        involved = {job.uid for job in rng.sample(running, rng.randint(1, len(running)))}
        order = simulation_order(session, waiting, preemptor, involved)
        placed = random.Random(rng.random())
        found.append(_taken(session, order, {*involved, preemptor.uid}, placed, together=together))
    order = JobOrder(session.shares, session.plugins, session.min_device_memory)
    order.fill(pending)
    wanted = {job.uid for job in pending if rng.random() < 0.5}
    found.append(_taken(session, order, wanted, random.Random(rng.random()), together=together))
    return found


@given(st.integers(min_value=0, max_value=10**9))
# A department moves because another of its queues came to the head.
@example(172)
@example(408)
@example(464)
def test_unwanted_jobs_are_passed_over_as_one_by_one(seed: int) -> None:
    assert _orders(seed, together=True) == _orders(seed, together=False)
