"""Delays after rejections, on a clock of the test's own."""

from __future__ import annotations

import pytest

from apportion_runtime.kube.backoffs import Backoffs


@pytest.fixture
def clock() -> list[float]:
    return [0.0]


@pytest.fixture
def backoffs(clock: list[float]) -> Backoffs[str]:
    return Backoffs(10, 300, lambda: clock[0])


def test_delays_double(clock: list[float], backoffs: Backoffs[str]) -> None:
    assert [backoffs.reject("gang", "rejected") for _ in range(6)] == [10, 20, 40, 80, 160, 300]


def test_remaining_time_is_that_of_the_first_key(clock: list[float], backoffs: Backoffs[str]) -> None:
    backoffs.reject("one", "rejected")
    clock[0] = 4.0
    backoffs.reject("two", "rejected")
    assert backoffs.remaining_s() == 6.0


def test_delay_that_ends_after_its_key_was_looked_up_is_due_once(clock: list[float], backoffs: Backoffs[str]) -> None:
    backoffs.reject("gang", "rejected")
    clock[0] = 9.9
    assert (backoffs.remaining_s(), backoffs.active()) == (pytest.approx(0.1), {"gang": "rejected"})
    clock[0] = 10.1
    assert (backoffs.remaining_s(), backoffs.active(), backoffs.remaining_s()) == (0.0, {}, None)
