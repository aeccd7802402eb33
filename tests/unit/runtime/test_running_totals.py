"""Running totals equal recomputed sums, bit by bit."""

from __future__ import annotations

import random

import pytest

from apportion_runtime.core.running_totals import RunningMaximum, RunningTotal


@pytest.mark.parametrize("seed", range(4))
def test_total_equals_the_ordered_sum(seed: int) -> None:
    """Whatever was put, changed and dropped before; floats that do not add exactly tell an order from another."""
    rng = random.Random(seed)
    made, rows = RunningTotal(2), dict[str, tuple[float, float]]()
    for step in range(600):
        key = f"k{rng.randint(0, 60)}"
        if rng.random() < 0.4:
            made.drop(key)
            rows.pop(key, None)
        else:
            rows[key] = (rng.random() * 10 ** rng.randint(0, 9), rng.choice((0.46, 0.1, 1.0)))
            made.put(key, rows[key])
        if step % 3 == 0:
            first = second = 0.0
            for one, other in rows.values():
                first, second = first + one, second + other
            assert made.total() == [first, second]


def test_total_of_no_rows_is_zero() -> None:
    assert RunningTotal(3).total() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("seed", range(4))
def test_maximum_equals_the_largest_value(seed: int) -> None:
    rng = random.Random(seed)
    made, known = RunningMaximum(), dict[str, float]()
    for _ in range(400):
        key = f"k{rng.randint(0, 20)}"
        if rng.random() < 0.5:
            made.drop(key)
            known.pop(key, None)
        else:
            known[key] = float(rng.randint(0, 9))
            made.put(key, known[key])
        assert made.get(-1.0) == max(known.values(), default=-1.0)
