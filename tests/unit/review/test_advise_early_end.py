"""When a simulation that misses a goal may end: as soon as more waits exceed the bound than the percentile allows."""

from __future__ import annotations

import pytest

from apportion_review.advise.early_end import GoalMonitor, WaitLimit, wait_limits
from apportion_review.advise.goals import parse_goal
from apportion_runtime.sim.history import History, WorkloadFacts
from apportion_runtime.sim.report.summary import summarise

GOAL = parse_goal("p90 wait of serving <= 5m")


def _history() -> History:
    history = History(parents={"serving": None, "chat": "serving", "batch": None})
    history.workloads.append(WorkloadFacts(0, "w", "Job", "ns", 0.0))
    return history


def _monitor(n_most: int) -> GoalMonitor:
    return GoalMonitor((WaitLimit(GOAL, n_most),))


@pytest.mark.parametrize(("n_groups", "n_most"), [(1, 0), (8, 1), (40, 5)])
def test_limit_has_a_margin_for_more_waits(n_groups: int, n_most: int) -> None:
    """Of a quarter more waits than under the policy as it is, a tenth may exceed the bound of a 90th percentile."""
    history = _history()
    for number in range(n_groups):
        history.begin_wait(f"g{number}", 0, "chat", 0.0)
    history.end(1.0)
    goals = (GOAL, parse_goal("evictions of serving <= 1"), parse_goal("p90 wait <= 5m"))
    limits = wait_limits(goals, summarise(history))
    assert limits == (WaitLimit(GOAL, n_most), None, None)


def test_waits_of_the_queue_and_its_children_count() -> None:
    history, monitor = _history(), _monitor(1)
    for number, queue in enumerate(("serving", "chat", "batch", "batch")):
        history.begin_wait(f"g{number}", 0, queue, 0.0)
    assert monitor.missed(history, 300.0) == ()
    assert monitor.missed(history, 301.0) == (0,)


def test_waits_that_ended_in_time_do_not_count() -> None:
    history, monitor = _history(), _monitor(0)
    history.begin_wait("g", 0, "chat", 0.0)
    history.end_wait("g", 300.0)
    assert monitor.missed(history, 400.0) == ()
    history.begin_wait("g", 0, "chat", 400.0)
    history.end_wait("g", 701.0)
    assert monitor.missed(history, 701.0) == (0,)


def test_group_that_is_gone_waits_until_the_end() -> None:
    history, monitor = _history(), _monitor(0)
    history.begin_wait("g", 0, "chat", 0.0)
    history.drop_wait("g")
    assert monitor.missed(history, 300.0) == ()
    assert monitor.missed(history, 301.0) == (0,)
