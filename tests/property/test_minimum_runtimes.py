"""No workload is evicted before its minimum runtime, and queues get their guarantees after it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion_runtime.sim.history import Fact

from .shared_clusters import CAPACITY, HIGH, LOW, Jobs, Team, Teams, shared_teams, simulated

pytestmark = pytest.mark.property

ENGINES = ("kai",)
_RUNTIMES_S = {None: 0.0, "0s": 0.0, "2m": 120.0, "5m": 300.0}


@st.composite
def protected_teams(draw: st.DrawFn) -> Teams:
    """Draw a tree of queues with minimum runtimes, and jobs of two classes."""
    return tuple(_protected(draw, team) for team in draw(shared_teams()))


def _protected(draw: st.DrawFn, team: Team) -> Team:
    names = ("preempt_min_runtime", "reclaim_min_runtime")
    chosen = {name: draw(st.sampled_from(sorted(_RUNTIMES_S, key=str))) for name in names}
    arrivals = st.sampled_from((0.0, 60.0, 120.0))
    jobs = tuple(Jobs(draw(st.integers(0, CAPACITY // 2)), draw(arrivals), name) for name in (LOW, HIGH))
    return replace(
        team,
        settings={name: value for name, value in chosen.items() if value is not None},
        jobs=() if team.children else jobs,
        children=tuple(_protected(draw, child) for child in team.children),
    )


def _path(teams: Teams, leaf: str) -> tuple[Team, ...]:
    """Return a queue and its ancestors, from the leaf upwards."""
    return tuple(team for top in teams for team in top.all() if leaf in [each.name for each in team.leaves()])[::-1]


def minimum_s(teams: Teams, victim: str, reclaimer: str) -> float:
    """Return the minimum runtime of a victim, by the names of the queues, as the page of AP208 defines it."""
    path, name = _path(teams, victim), "preempt_min_runtime"
    if victim != reclaimer:
        name = "reclaim_min_runtime"
        shared = [team for team in path if team in _path(teams, reclaimer)]
        path = path[-len(shared) - 1 :]
    return next((_RUNTIMES_S[team.settings[name]] for team in path if name in team.settings), 0.0)


def check(engine: str, teams: Teams) -> None:
    """Check every eviction of a simulated policy, and the last state."""
    cluster = simulated(engine, teams)
    held = cluster.run()
    assert not list(_evicted_early(teams, cluster.cluster.cluster_state.history.facts))
    every = [team for top in teams for team in top.all()]
    assert not [team.name for team in every if held[team.name] < min(team.guaranteed or 0, team.wanted)]


def _evicted_early(teams: Teams, facts: list[Fact]) -> Iterator[tuple[str, float]]:
    began: dict[str, float] = {}
    for fact in facts:
        if fact.what == "bound":
            began[fact.workload] = fact.at_s
        elif fact.what == "evicted":
            ran_s = fact.at_s - began[fact.workload]
            if ran_s < minimum_s(teams, *(name.split(".")[0] for name in (fact.workload, fact.by))):
                yield fact.workload, ran_s


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=2, derandomize=True)
@given(teams=protected_teams())
def test_no_workload_is_evicted_before_its_minimum_runtime(engine: str, teams: Teams) -> None:
    check(engine, teams)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=12, derandomize=True)
@given(teams=protected_teams())
def test_no_workload_of_many_policies_is_evicted_before_its_minimum_runtime(engine: str, teams: Teams) -> None:
    check(engine, teams)
