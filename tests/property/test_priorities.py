"""Work of a higher class is placed before work of a lower one in its queue, and work that is not preemptible stays."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .shared_clusters import CAPACITY, HIGH, KEPT, LOW, Jobs, Team, Teams, shared_teams, simulated

pytestmark = pytest.mark.property

ORDERED = ("kai", "koordinator", "kueue")
PROTECTED = ("kai", "koordinator", "volcano")
HELD_TO_GUARANTEE = ("kai", "koordinator")
"""Engines under which work that is not preemptible never exceeds the guarantee of its queue."""


@st.composite
def teams_with(draw: st.DrawFn, *classes: str) -> Teams:
    """Draw a tree of queues with jobs of some classes, in any order of arrival."""
    return tuple(_with(draw, team, classes) for team in draw(shared_teams()))


def _with(draw: st.DrawFn, team: Team, classes: tuple[str, ...]) -> Team:
    if team.children:
        return replace(team, children=tuple(_with(draw, child, classes) for child in team.children))
    arrivals = st.sampled_from((0.0, 60.0, 120.0))
    return replace(
        team, jobs=tuple(Jobs(draw(st.integers(0, CAPACITY // 2)), draw(arrivals), name) for name in classes)
    )


def check_order(engine: str, teams: Teams) -> None:
    """Check that in no queue, work of the low class runs while work of the high class waits."""
    cluster = simulated(engine, teams)
    cluster.run()
    high, low = cluster.held(HIGH), cluster.held(LOW)
    passed_over = {
        leaf.name: (high[leaf.name], low[leaf.name])
        for top in teams
        for leaf in top.leaves()
        if low[leaf.name] and high[leaf.name] < sum(jobs.number for jobs in leaf.jobs if jobs.priority == HIGH)
    }
    assert not passed_over


def check_protection(engine: str, teams: Teams) -> None:
    """Check that work that is not preemptible is never evicted, and where the engine limits it, is within the guarantee."""
    cluster = simulated(engine, teams)
    cluster.run()
    assert not [name for name in cluster.evicted if f".{KEPT}." in name]
    kept = cluster.held(KEPT)
    if engine in HELD_TO_GUARANTEE:
        assert all(kept[team.name] <= (team.guaranteed or 0) for top in teams for team in top.all())


@pytest.mark.parametrize("engine", ORDERED)
@settings(max_examples=2, derandomize=True)
@given(teams=teams_with(LOW, HIGH))
def test_higher_classes_run_first(engine: str, teams: Teams) -> None:
    check_order(engine, teams)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ORDERED)
@settings(max_examples=12, derandomize=True)
@given(teams=teams_with(LOW, HIGH))
def test_higher_classes_of_many_policies_run_first(engine: str, teams: Teams) -> None:
    check_order(engine, teams)


@pytest.mark.parametrize("engine", PROTECTED)
@settings(max_examples=2, derandomize=True)
@given(teams=teams_with(LOW, KEPT, HIGH))
def test_non_preemptible_work_stays(engine: str, teams: Teams) -> None:
    check_protection(engine, teams)


@pytest.mark.slow
@pytest.mark.parametrize("engine", PROTECTED)
@settings(max_examples=12, derandomize=True)
@given(teams=teams_with(LOW, KEPT, HIGH))
def test_non_preemptible_work_of_many_policies_stays(engine: str, teams: Teams) -> None:
    check_protection(engine, teams)
