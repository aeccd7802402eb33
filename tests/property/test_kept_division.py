"""The kept division of a resource among siblings gives the shares of a division that is computed anew."""

from __future__ import annotations

import random
from unittest.mock import patch

import pytest

from apportion_runtime.core import sibling_division
from apportion_runtime.core.division import divide
from apportion_runtime.core.queue_share import QueueShare, demands_of
from apportion_runtime.core.running_totals import added
from apportion_runtime.core.sibling_division import SiblingDivision
from apportion_runtime.core.snapshot import Queue, QueueResource

pytestmark = pytest.mark.property

NO_BOUND = -1.0


def _check_kept_division(rng: random.Random) -> int:
    """Change requests of equal siblings in steps, and return how often the kept division did not compute the shares."""
    n, k = rng.randint(1, 6), rng.choice([0.0, 1.0, 1.0, 3.0])
    unit, weight = rng.choice([1.0, 1.0, 0.5, 0.25, 0.1]), rng.choice([1.0, 1.0, 0.1, 3.0])
    total = unit * rng.randint(0, 30)
    of_each = [
        QueueResource(rng.choice([NO_BOUND, 0.0, unit * rng.randint(0, 8)]), rng.choice([NO_BOUND, unit * 9]), weight)
        for _ in range(n)
    ]
    queues = [QueueShare(Queue(f"queue-{i}", None, gpu=gpu)) for i, gpu in enumerate(of_each)]
    division = SiblingDivision(queues)
    n_skipped = 0
    for _ in range(6):
        asking = rng.sample(queues, rng.randint(0, n))
        for queue in asking:
            queue.request = [0.0, 0.0, unit * rng.choice([0, 1, 4, 5, 5, rng.randint(0, 12)])]
        if rng.random() < 0.5:
            # Exactly what is requested, as at the second level of a tree.
            total = added(queue.request[2] for queue in queues)
        with patch.object(sibling_division, "divide", wraps=divide) as computed:
            division.divide((0.0, 0.0, total), k, {queue.name for queue in asking})
        expected = demands_of(queues, 2)
        divide(total, expected, k)
        assert [queue.fair[2] for queue in queues] == [demand.share for demand in expected]
        n_skipped += not computed.called and any(queue.fair[2] > queue.deserved[2] >= 0 for queue in queues)
    return n_skipped


def test_kept_division_gives_equal_siblings_what_the_rounds_give(fixed_seed: int) -> None:
    assert sum(_check_kept_division(random.Random(fixed_seed + number)) for number in range(2_000)) > 1_000


@pytest.mark.slow
def test_kept_division_gives_equal_siblings_what_the_rounds_give_in_many_cases(fixed_seed: int) -> None:
    for number in range(5_000):
        _check_kept_division(random.Random(fixed_seed + 2_000 + number))
