"""Surplus is divided among siblings by weight, to within one GPU, on engines that divide it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .policy_shares import Claim, shares_of
from .shared_clusters import Jobs, Team, Teams, groups_of, shared_teams, simulated

pytestmark = pytest.mark.property

ENGINES = ("kai", "koordinator", "kueue")
PRIORITISED = ("kai",)
REQUESTS_BEYOND_LIMITS = ("kai",)
"""Engines that divide surplus by what queues request, also beyond the limits of their children, as their pages state."""
_GRANULARITY = 1
"""GPUs: the size of a pod, below which no engine divides."""


@st.composite
def weighted_teams(draw: st.DrawFn) -> Teams:
    """Draw a tree of queues with weights."""
    return tuple(_weighted(draw, team) for team in draw(shared_teams()))


def _weighted(draw: st.DrawFn, team: Team) -> Team:
    weight = draw(st.sampled_from((None, 1, 2, 3, 5)))
    settings_ = {} if weight is None else {"over_quota_weight": weight}
    return replace(team, settings=settings_, children=tuple(_weighted(draw, child) for child in team.children))


def _claim(team: Team) -> Claim:
    weight = Fraction(team.settings.get("over_quota_weight", 1))
    return Claim(team.name, team.guaranteed or 0, weight, team.wanted, team.settings.get("priority", 100))


@st.composite
def prioritised_teams(draw: st.DrawFn) -> Teams:
    """Draw a tree of queues with weights and priorities."""
    return tuple(_prioritised(draw, team) for team in draw(weighted_teams()))


def _prioritised(draw: st.DrawFn, team: Team) -> Team:
    priority = draw(st.sampled_from((None, 50, 100, 200)))
    settings_ = team.settings if priority is None else {**team.settings, "priority": priority}
    return replace(team, settings=settings_, children=tuple(_prioritised(draw, child) for child in team.children))


def check(engine: str, teams: Teams) -> None:
    """Compare what each queue holds in the end with its part of what its siblings hold together."""
    cluster = simulated(engine, teams)
    held = cluster.run()
    if engine in REQUESTS_BEYOND_LIMITS and any(team.requested > team.wanted for team in teams):
        return
    for amount, siblings in groups_of(teams, held):
        shares = shares_of(amount, [_claim(team) for team in siblings])
        apart = {
            name: (held[name], float(share)) for name, share in shares.items() if abs(held[name] - share) > _GRANULARITY
        }
        assert not apart


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=2, derandomize=True)
@given(teams=weighted_teams())
def test_surplus_is_divided_by_weight(engine: str, teams: Teams) -> None:
    check(engine, teams)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=12, derandomize=True)
@given(teams=weighted_teams())
def test_surplus_of_many_policies_is_divided_by_weight(engine: str, teams: Teams) -> None:
    check(engine, teams)


@pytest.mark.parametrize("engine", PRIORITISED)
@settings(max_examples=2, derandomize=True)
@given(teams=prioritised_teams())
def test_queues_of_higher_priority_get_surplus_first(engine: str, teams: Teams) -> None:
    check(engine, teams)


@pytest.mark.slow
@pytest.mark.parametrize("engine", PRIORITISED)
@settings(max_examples=12, derandomize=True)
@given(teams=prioritised_teams())
def test_queues_of_higher_priority_get_surplus_first_in_many_policies(engine: str, teams: Teams) -> None:
    check(engine, teams)


def test_kai_divides_surplus_by_requests_beyond_limits() -> None:
    """`second` is given surplus for jobs that exceed the limit of its child; what `first` uses of it is not divided."""
    first = (
        Team("late", 0, jobs=(Jobs(15, 120.0),), settings={"over_quota_weight": 3}),
        Team("early", 7, jobs=(Jobs(14),)),
    )
    second = (Team("busy", 3, jobs=(Jobs(5),)), Team("limited", 1, 1, jobs=(Jobs(13),)))
    teams = (
        Team("first", 7, children=first),
        Team("second", 4, 13, children=second, settings={"priority": 200}),
    )
    held = simulated("kai", teams).run()
    assert (held["late"], held["early"], held["busy"], held["limited"]) == (0, 10, 5, 1)
