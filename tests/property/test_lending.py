"""Other queues use as much of an idle guarantee as its lending limit allows, and no more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .shared_clusters import CAPACITY, Team, Teams, shared_teams, simulated, units

pytestmark = pytest.mark.property

ENGINES = ("koordinator", "kueue")
ALL_OR_NOTHING = ("koordinator",)
AFTER_REVOCATION = ("koordinator",)
"""Engines under which a reserve is in use until pods of another queue, whose share of the surplus shrank, are revoked."""


@st.composite
def lending_teams(draw: st.DrawFn, engine: str) -> Teams:
    """Draw a tree of queues some of which lend a part of their guarantee."""
    return tuple(_lending(draw, team, engine) for team in draw(shared_teams()))


def _lending(draw: st.DrawFn, team: Team, engine: str) -> Team:
    if team.children:
        return replace(team, children=tuple(_lending(draw, child, engine) for child in team.children))
    most = 0 if engine in ALL_OR_NOTHING else team.guaranteed or 0
    lent = draw(st.none() | st.integers(0, most))
    return replace(team, settings={} if lent is None else {"lending_limit": units("gpu", lent)})


def _reserved(team: Team) -> int:
    """Return the part of a guarantee that is not lent."""
    lent = team.settings.get("lending_limit")
    return 0 if lent is None else (team.guaranteed or 0) - int(lent.gpu)


def _committed(team: Team, held: Mapping[str, int]) -> int:
    """Return what a queue holds, together with what it does not lend."""
    if team.children:
        return sum(_committed(child, held) for child in team.children)
    return max(held[team.name], _reserved(team))


def _blocked(leaf: Team, teams: Teams, held: Mapping[str, int]) -> bool:
    """Return whether the limit of a queue on the path of a leaf, or the cluster, has no room for another job."""
    path = [team for top in teams for team in top.all() if leaf in team.leaves()]
    is_full = any(team.limit is not None and _committed(team, held) >= team.limit for team in path)
    return is_full or sum(_committed(top, held) for top in teams) >= CAPACITY


def check(engine: str, teams: Teams) -> None:
    """Check each state of a simulated policy, and that in the end a queue waits only for what is not lent."""
    every = [team for top in teams for team in top.all()]

    def keeps_reserves(held: dict[str, int]) -> None:
        assert sum(_committed(top, held) for top in teams) <= CAPACITY
        assert not [team.name for team in every if team.limit is not None and _committed(team, held) > team.limit]

    cluster = simulated(engine, teams)
    held = cluster.run() if engine in AFTER_REVOCATION else cluster.run(keeps_reserves)
    keeps_reserves(held)
    waiting = [leaf for top in teams for leaf in top.leaves() if held[leaf.name] < leaf.wanted]
    assert not [leaf.name for leaf in waiting if held[leaf.name] < _reserved(leaf) or not _blocked(leaf, teams, held)]


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=2, derandomize=True)
@given(data=st.data())
def test_lending_limits_hold(engine: str, data: st.DataObject) -> None:
    check(engine, data.draw(lending_teams(engine)))


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=12, derandomize=True)
@given(data=st.data())
def test_lending_limits_of_many_policies_hold(engine: str, data: st.DataObject) -> None:
    check(engine, data.draw(lending_teams(engine)))
