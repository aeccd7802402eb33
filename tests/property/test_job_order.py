"""Unwanted jobs that an order passes over together leave the others in the order in which they come one by one."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from apportion_runtime.core.job import Job
from apportion_runtime.core.job_order import JobOrder
from apportion_runtime.core.resources import GpuRequest
from apportion_runtime.core.session import Session
from apportion_runtime.core.snapshot import (
    Node,
    Pod,
    PodGroup,
    Queue,
    QueueResource,
    Settings,
    Snapshot,
    SubGroup,
)
from apportion_runtime.core.solver.simulation_order import simulation_order, waiting_jobs
from apportion_runtime.core.status import PENDING, RUNNING

pytestmark = pytest.mark.property

_FREE = QueueResource(-1.0, -1.0, 1.0)
_REQUESTS = (
    (GpuRequest(1, 1.0), 1000.0),
    (GpuRequest(2, 1.0), 1000.0),
    (GpuRequest(4, 1.0), 4000.0),
    (GpuRequest(1, 0.46), 2000.0),
    (GpuRequest(1, 0.5), 1000.0),
)
_N_RUNNING = 5


def _queue(rng: random.Random, name: str, parent: str | None, deserved: tuple[int, ...]) -> Queue:
    gpus = QueueResource(float(rng.choice(deserved)), -1.0, float(rng.choice((1, 2))))
    return Queue(name, parent, _FREE, _FREE, gpus)


def _cluster(rng: random.Random) -> Snapshot:
    """Return queues of departments with a few running jobs and many pending ones of few requests."""
    queues: list[Queue] = []
    for department in (f"d{n}" for n in range(rng.randint(1, 3))):
        queues.append(_queue(rng, department, None, (2, 4, 8)))
        queues += [_queue(rng, f"{department}q{n}", department, (0, 1, 2, 4)) for n in range(rng.randint(1, 4))]
    leaves = [queue.name for queue in queues if queue.parent]
    capacity = {"cpu": 64e3, "memory": 1e12, "gpu": 8.0, "pods": 99.0}
    nodes = tuple(Node(f"n{n}", capacity, n_gpus=8, gpu_memory=80_000) for n in range(3))
    has_few_requests = rng.random() < 0.4
    of_queue = {leaf: rng.choice(_REQUESTS) for leaf in leaves}
    groups: list[PodGroup] = []
    pods: list[Pod] = []
    for n in range(rng.randint(3, 40)):
        runs, queue = n < _N_RUNNING, rng.choice(leaves)
        gpu, cpu = of_queue[queue] if has_few_requests else rng.choice(_REQUESTS)
        pod_sets = SubGroup("", None, (SubGroup("default", 1),))
        groups.append(
            PodGroup(f"g{n}", f"g{n}", "a", queue, rng.choice((50, 50, 75)), True, float(rng.randint(0, 9)), pod_sets)
        )
        pods.append(
            Pod(
                f"p{n}",
                f"p{n}",
                "a",
                f"g{n}",
                RUNNING if runs else PENDING,
                f"n{n % 3}" if runs else None,
                request={"cpu": cpu, "memory": 1e9, "pods": 1.0},
                gpu=gpu,
                gpu_groups=(f"shared-{n}",) if runs and gpu.portion < 1 else (),
            )
        )
    return Snapshot(nodes, tuple(queues), tuple(groups), tuple(pods), now=100.0)


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
@example(324)
@example(383)
@example(1000)
def test_unwanted_jobs_are_passed_over_as_one_by_one(seed: int) -> None:
    assert _orders(seed, together=True) == _orders(seed, together=False)
