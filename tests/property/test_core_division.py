"""The core divides like a second implementation, and never more than the capacity."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from apportion_runtime.core.division import QueueDemand, Record, divide
from apportion_runtime.core.shares import RESOURCES, Shares
from apportion_runtime.core.snapshot import Queue, QueueResource

from .slow_fair_shares import NO_BOUND, SlowQueue, fair_shares

pytestmark = pytest.mark.property

N_TREES = 10_000
N_TREES_SLOW = 100_000
Tree = tuple[float, float, list[SlowQueue]]


def _amount(rng: random.Random, most: float) -> float:
    """Draw an amount: mostly whole units, else halves, hundredths or arbitrary fractions."""
    kind = rng.random()
    if kind < 0.6:
        return float(rng.randint(0, int(most)))
    if kind < 0.8:
        return rng.randint(0, int(2 * most)) / 2
    return rng.randint(0, int(100 * most)) / 100 if kind < 0.95 else rng.uniform(0, most)


def _queue(rng: random.Random, number: int, parent: str | None, most: float) -> SlowQueue:
    return SlowQueue(
        name=f"queue-{number:02}",
        parent=parent,
        quota=rng.choice([NO_BOUND, 0.0, 0.0, _amount(rng, most), _amount(rng, most / 2)]),
        limit=rng.choice([NO_BOUND, NO_BOUND, 0.0, _amount(rng, most), _amount(rng, 2 * most)]),
        # The engine's own tables use a weight of -1 for a department without limits.
        weight=rng.choice([0.0, 1.0, 1.0, 1.0, 2.0, 3.0, 7.0, 0.5, 0.1, -1.0, _amount(rng, 10)]),
        usage=rng.choice([0.0, 0.0, rng.random(), rng.uniform(0, 0.2)]),
        priority=rng.choice([100, 100, 100, 50, 200]),
        created=float(rng.randint(0, 2)),
        request=0.0,
    )


def random_tree(rng: random.Random) -> Tree:
    """Draw a cluster's total, the k-value, and a tree of one to fifteen queues, up to four levels deep."""
    most = rng.choice([4.0, 10.0, 100.0, 100_000.0])
    queues: list[SlowQueue] = []
    depth: dict[str | None, int] = {None: 0}
    for number in range(rng.randint(1, 15)):
        parent = rng.choice([name for name, deep in depth.items() if deep < 4])
        queues.append(_queue(rng, number, parent, most))
        depth[queues[-1].name] = depth[parent] + 1
    parents = {queue.parent for queue in queues}
    with_requests = [
        queue
        if queue.name in parents
        else replace(queue, request=rng.choice([0.0, _amount(rng, most), _amount(rng, 2 * most)]))
        for queue in queues
    ]
    return _amount(rng, most), rng.choice([0.0, 0.5, 1.0, 1.0, 3.0]), with_requests


def core_shares(total: float, queues: Sequence[SlowQueue], k: float, resource: str) -> dict[str, float]:
    """Return the core's shares of the same tree, for one resource."""
    r = RESOURCES.index(resource)
    made = [
        Queue(
            name=queue.name,
            parent=queue.parent,
            priority=queue.priority,
            created=queue.created,
            usage=(queue.usage, queue.usage, queue.usage),
            **{resource: QueueResource(queue.quota, queue.limit, queue.weight)},
        )
        for queue in queues
    ]
    shares = Shares(made)
    shares.total = (total, total, total)
    # Requests of inner queues are passed in; their aggregation from pods is tested elsewhere.
    asked: dict[str, float] = {}
    for queue in reversed(queues):
        asked[queue.name] = queue.request
        for child in queues:
            if child.parent == queue.name:
                asked[queue.name] += asked[child.name]
    for name, amount in asked.items():
        shares.queues[name].request[r] = amount
    shares.divide(k)
    return {name: share.fair[r] for name, share in shares.queues.items()}


def _compare(n_trees: int, seed: int) -> None:
    for number in range(n_trees):
        rng = random.Random(seed + number)
        total, k, queues = random_tree(rng)
        resource = RESOURCES[number % len(RESOURCES)]
        assert core_shares(total, queues, k, resource) == fair_shares(total, queues, k), (seed, number)


def test_fair_shares_equal_the_reference_implementation(fixed_seed: int) -> None:
    _compare(N_TREES, fixed_seed)


@pytest.mark.slow
def test_fair_shares_equal_the_reference_implementation_in_many_trees(fixed_seed: int) -> None:
    _compare(N_TREES_SLOW, fixed_seed + N_TREES)


def _demands(rng: random.Random) -> tuple[float, list[QueueDemand]]:
    total, _, queues = random_tree(rng)
    return total, [
        QueueDemand(
            q.name, q.quota, q.limit, abs(q.weight), _amount(rng, 2 * total + 1), q.priority, q.created, q.usage
        )
        for q in queues
    ]


def test_shares_fit_if_guarantees_fit(fixed_seed: int) -> None:
    """An unlimited quota equals the capacity: if its queue requests GPUs, the other quotas must be 0."""
    n_fitting = 0
    for number in range(4_000):
        rng = random.Random(fixed_seed + number)
        total, demands = _demands(rng)
        promised = sum(min(total if c.deserved == NO_BOUND else c.deserved, c.requestable) for c in demands)
        record = Record()
        left = divide(total, demands, 1.0, record)
        given = sum(demand.share for demand in demands)
        surplus = sum(step.amount for step in record.steps if step.phase != "deserved")
        slack = 1e-9 * max(total, 1.0)
        if promised <= total:
            n_fitting += 1
            assert given <= total + slack
            assert abs(given + left - total) <= slack
            assert surplus <= total - promised + slack
        else:
            assert surplus == 0
            assert abs(given - promised) <= slack
        for demand in demands:
            # The unit given for the remainder may exceed a fractional request, by less than one unit.
            assert demand.share < demand.requestable + 1 + slack
    assert n_fitting > 1_000


def test_queue_order_does_not_affect_shares(fixed_seed: int) -> None:
    """The engine's shares depend on map order if sums of weights are rounded; the core's do not."""
    for number in range(2_000):
        rng = random.Random(fixed_seed + number)
        total, demands = _demands(rng)
        shuffled = [replace(demand) for demand in demands]
        rng.shuffle(shuffled)
        divide(total, demands, 1.0)
        divide(total, shuffled, 1.0)
        assert {c.name: c.share for c in demands} == {c.name: c.share for c in shuffled}, (fixed_seed, number)
