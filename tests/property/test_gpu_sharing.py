"""Halves of GPUs are guaranteed and limited as whole ones are, and no device is allocated more than once."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .shared_clusters import CAPACITY, HALF_GPU, UNITS_PER_NODE, Simulated, Team, Teams, shared_teams, simulated

pytestmark = pytest.mark.property

ENGINES = ("kai",)
HALVES = 2 * CAPACITY


@st.composite
def sharing_teams(draw: st.DrawFn) -> Teams:
    """Draw a tree of queues that may share GPUs, with amounts in halves."""
    return tuple(_sharing(team) for team in draw(shared_teams(HALVES)))


def _sharing(team: Team) -> Team:
    return replace(team, settings={"gpu_sharing": True}, children=tuple(map(_sharing, team.children)))


def _devices(cluster: Simulated) -> Counter[tuple[str, str]]:
    """Return the number of halves of each shared device, by node and device."""
    pods = [pod for pod in cluster.cluster.cluster_state.pods.values() if pod.is_bound]
    return Counter((str(pod.record.node), group) for pod in pods for group in pod.record.gpu_groups)


def check(engine: str, teams: Teams) -> None:
    """Check each state of a simulated policy, and the last one."""
    cluster = simulated(engine, teams, HALF_GPU)
    every = [team for top in teams for team in top.all()]

    def within_bounds(held: dict[str, int]) -> None:
        assert not [team.name for team in every if team.limit is not None and held[team.name] > team.limit]
        devices = _devices(cluster)
        assert max(devices.values(), default=0) <= 2
        assert max(Counter(node for node, _ in devices).values(), default=0) <= UNITS_PER_NODE

    held = cluster.run(within_bounds)
    assert not [team.name for team in every if held[team.name] < min(team.guaranteed or 0, team.wanted)]
    assert sum(held[top.name] for top in teams) == min(HALVES, sum(top.wanted for top in teams))


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=2, derandomize=True)
@given(teams=sharing_teams())
def test_halves_of_gpus_are_shared_within_quotas(engine: str, teams: Teams) -> None:
    check(engine, teams)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=12, derandomize=True)
@given(teams=sharing_teams())
def test_halves_of_gpus_of_many_policies_are_shared_within_quotas(engine: str, teams: Teams) -> None:
    check(engine, teams)
