"""Goals of `apportion advise`: their text, and by how much a value misses them."""

from __future__ import annotations

import pytest

from apportion_review.advise.goals import Goal, Measure, parse_goal


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        ("p90 wait of vision <= 5m", Goal(Measure.WAIT_P90, "vision", 300.0)),
        ("p50 wait of team-a ≤ 8 h", Goal(Measure.WAIT_P50, "team-a", 28_800.0)),
        ("P99 wait at most 90s", Goal(Measure.WAIT_P99, None, 90.0)),
        ("p90 wait of vision <= 5 min", Goal(Measure.WAIT_P90, "vision", 300.0)),
        ("p90 wait of vision <= 0", Goal(Measure.WAIT_P90, "vision", 0.0)),
        ("evictions of research<=10", Goal(Measure.EVICTIONS, "research", 10.0)),
        ("evictions at most 0", Goal(Measure.EVICTIONS, None, 0.0)),
        ("lost GPU-hours <= 2.5", Goal(Measure.LOST, None, 2.5)),
    ],
)
def test_goal_is_parsed(text: str, goal: Goal) -> None:
    assert parse_goal(text) == goal


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("wait of vision <= 5m", "`wait of vision <= 5m` is not a goal such as `p90 wait of vision <= 5m`"),
        ("p90 wait of vision >= 5m", "is not a goal such as"),
        ("p90 wait of vision <= soon", "`soon` is not a duration such as 30s, 5m or 8h"),
        ("p90 wait of vision <= 5", "`5` is not a duration such as"),
        ("evictions <= few", "`few` is not a number such as 10"),
        ("evictions <= -1", "`-1` is not a number such as 10"),
    ],
)
def test_invalid_goal_is_refused(text: str, told: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - its text is compared
        parse_goal(text)
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("goal", "value", "excess"),
    [
        (Goal(Measure.WAIT_P90, "a", 300.0), 300.0, 0.0),
        (Goal(Measure.WAIT_P90, "a", 300.0), 450.0, 0.5),
        (Goal(Measure.WAIT_P90, "a", 0.0), 30.0, 0.5),
        (Goal(Measure.EVICTIONS, None, 0.0), 3.0, 3.0),
    ],
)
def test_excess_is_relative_to_the_bound(goal: Goal, value: float, excess: float) -> None:
    assert goal.excess(value) == excess


@pytest.mark.parametrize(("text", "bound"), [("1h30m", "1h30m"), ("90s", "1m30s"), ("2 hours", "2h"), ("1d", "24h")])
def test_bound_is_written_with_units(text: str, bound: str) -> None:
    goal = parse_goal(f"p90 wait of vision <= {text}")
    assert (goal.subject, goal.amount_text(goal.bound)) == ("p90 wait of vision", bound)
