"""A preemptor that keeps its place in the order of a simulation, by its keys alone, does so in the order itself."""

from __future__ import annotations

import random
from unittest.mock import patch

import pytest
from tests.unit.runtime.clusters import NOW, Made, job, node, queue

from apportion_runtime.core.cycle import cycle
from apportion_runtime.core.job import Job
from apportion_runtime.core.session import Session
from apportion_runtime.core.snapshot import Queue, Settings, Snapshot
from apportion_runtime.core.solver import victim_search
from apportion_runtime.core.solver.simulation_order import PendingOrder, simulation_order, with_other_place
from apportion_runtime.core.sub_groups import SubGroupSet

from .core_rounds import outcome

pytestmark = pytest.mark.property

_N_NODES, _GPUS = 6, 8


def _cluster(seed: int) -> Snapshot:
    """Return a full cluster: gangs run in some queues, and gangs of any queue wait."""
    rng = random.Random(seed)
    queues: list[Queue] = []
    for department in (f"d{n}" for n in range(rng.randint(1, 3))):
        quotas = [rng.choice((4, 8, 8, 16)) for _ in range(rng.randint(1, 3))]
        queues.append(queue(department, quota=sum(quotas)))
        queues += [queue(f"{department}q{n}", department, quota=quota) for n, quota in enumerate(quotas)]
    leaves = [each.name for each in queues if each.parent]
    users = rng.sample(leaves, (len(leaves) + 1) // 2)
    jobs: list[Made] = []
    for n in range(_N_NODES):
        for size in rng.choice(((8,), (8,), (4, 4), (3, 5), (1, 7))):
            jobs.append(
                job(f"r{len(jobs)}", rng.choice(users), size, needs=size if rng.random() < 0.9 else 1, on=f"n{n}")
            )
    for _ in range(rng.randint(4, 12)):
        size, gpus = rng.choice((1, 3, 4, 5, 8)), rng.choice((1, 1, 1, 2))
        created, needs = NOW - rng.randint(0, 9), rng.choice((1, size, size))
        jobs.append(job(f"p{len(jobs)}", rng.choice(leaves), size, gpus, needs=needs, created=created))
    groups, pods = tuple(group for group, _ in jobs), tuple(pod for _, own in jobs for pod in own)
    return Snapshot(tuple(node(f"n{n}", _GPUS) for n in range(_N_NODES)), tuple(queues), groups, pods, now=NOW)


def _first(session: Session, waiting: PendingOrder, preemptor: Job, involved: set[str]) -> str:
    order = simulation_order(session, waiting, preemptor, involved)
    wanted = {*involved, preemptor.uid}
    return next(job.uid for job in iter(order.pop, None) if job.uid in wanted)


def _check(seed: int) -> int:
    """Return how often the keys alone were enough."""
    n_kept = 0

    def checked(session: Session, waiting: PendingOrder, one: Job, others: list[Job], involved: set[str]) -> list[Job]:
        nonlocal n_kept
        found = with_other_place(session, waiting, one, others, involved)
        for other in others:
            if other not in found:
                n_kept += 1
                assert _first(session, waiting, other, involved) == other.uid
        return found

    snapshot = _cluster(seed)
    with patch.object(victim_search, "with_other_place", checked):
        decided = cycle(snapshot, Settings())
    with patch.object(SubGroupSet, "is_flat", False):
        assert outcome(decided) == outcome(cycle(snapshot, Settings()))
    return n_kept


def test_place_in_the_order_follows_from_the_keys() -> None:
    assert sum(map(_check, range(40))) > 5


@pytest.mark.slow
def test_place_in_the_order_follows_from_the_keys_in_many_clusters() -> None:
    assert sum(map(_check, range(40, 400))) > 30
