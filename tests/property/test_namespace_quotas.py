"""On plain Kubernetes, no namespace exceeds the limit of its queue or of any ancestor, and nothing else is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings

from apportion_policy import NodePool

from .shared_clusters import CAPACITY, H100, TWO_MODELS, Team, Teams, shared_teams, simulated

pytestmark = pytest.mark.property

EXTENDED = "example.com/fpga"


def _with_limits_alone(team: Team) -> Team:
    """Return a queue without what plain Kubernetes refuses: guarantees, and limits over several namespaces."""
    children = tuple(map(_with_limits_alone, team.children))
    return replace(team, guaranteed=None, children=children, n_namespaces=1)


def _bounds(team: Team, above: int) -> dict[str, int]:
    """Return the smallest limit on the path of each leaf."""
    bound = min(above, CAPACITY if team.limit is None else team.limit)
    if not team.children:
        return {team.name: bound}
    return {name: most for child in team.children for name, most in _bounds(child, bound).items()}


def check(teams: Teams, resource: str, pools: Sequence[NodePool] = (H100,)) -> None:
    """Check each state of a simulated policy, and that pods within the limits run in the end."""
    teams = tuple(map(_with_limits_alone, teams))
    bounds = {name: most for top in teams for name, most in _bounds(top, CAPACITY).items()}

    def within_limits(held: dict[str, int]) -> None:
        assert not {name: held[name] for name, most in bounds.items() if held[name] > most}

    held = simulated("native", teams, resource, pools=pools).run(within_limits)
    jobs = {leaf.name: sum(each.number for each in leaf.jobs) for top in teams for leaf in top.leaves()}
    wanted = sum(min(jobs[name], most) for name, most in bounds.items())
    assert sum(held[name] for name in bounds) == min(CAPACITY, wanted)


@pytest.mark.parametrize("resource", ["gpu", EXTENDED])
@settings(max_examples=2)
@given(teams=shared_teams())
def test_namespaces_stay_within_limits(resource: str, teams: Teams) -> None:
    check(teams, resource)


@pytest.mark.slow
@pytest.mark.parametrize("resource", ["gpu", EXTENDED])
@settings(max_examples=40)
@given(teams=shared_teams())
def test_namespaces_of_many_policies_stay_within_limits(resource: str, teams: Teams) -> None:
    check(teams, resource)


@settings(max_examples=2)
@given(teams=shared_teams())
def test_gpus_of_any_model_count(teams: Teams) -> None:
    check(teams, "gpu", TWO_MODELS)


@pytest.mark.slow
@settings(max_examples=40)
@given(teams=shared_teams())
def test_gpus_of_any_model_count_in_many_policies(teams: Teams) -> None:
    check(teams, "gpu", TWO_MODELS)
