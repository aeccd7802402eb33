"""The surplus of each resource is divided by the weights for that resource, whatever those of other resources are.

The engines do so among queues that use one resource each; their pages state what a queue that uses several may lose.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion_policy import Weight

from .policy_shares import Claim, shares_of
from .shared_clusters import CAPACITY, CORES, GPU_AND_CPU, Jobs, Team, Teams, groups_of, shared_teams, simulated

pytestmark = pytest.mark.property

ENGINES = ("kai", "koordinator")
REQUESTS_BEYOND_LIMITS = ("kai",)
"""Engines that divide surplus by what queues request, also beyond the limits of their children, as their pages state."""
REQUESTS = {"gpu": {"nvidia.com/gpu": "1"}, "cpu": {"cpu": f"{CORES * 1000 - 100}m"}}
"""Of the jobs of each kind, which use no other resource. Slightly less than a unit, because Koordinator rounds down."""
_GRANULARITY = 1
_WEIGHTS = (1, 2, 3, 5)


@st.composite
def weighted_teams(draw: st.DrawFn) -> Teams:
    """Draw a tree of queues with a weight for each resource, each of which uses one of them."""
    return tuple(_weighted(draw, team) for team in draw(shared_teams()))


def _weighted(draw: st.DrawFn, team: Team) -> Team:
    weight = Weight(gpu=draw(st.sampled_from(_WEIGHTS)), cpu=draw(st.sampled_from(_WEIGHTS)))
    kind = draw(st.sampled_from(sorted(REQUESTS)))
    jobs = Jobs(draw(st.integers(0, CAPACITY)), draw(st.sampled_from((0.0, 60.0))), kind=kind, requests=REQUESTS[kind])
    return replace(
        team,
        settings={"over_quota_weight": weight},
        jobs=() if team.children else (jobs,),
        children=tuple(_weighted(draw, child) for child in team.children),
    )


def _of(team: Team, kind: str) -> Team:
    """Return a queue with only the jobs of a kind."""
    jobs = tuple(each for each in team.jobs if each.kind == kind)
    return replace(team, jobs=jobs, children=tuple(_of(child, kind) for child in team.children))


def _claim(team: Team, kind: str) -> Claim:
    weight: Any = team.settings["over_quota_weight"]
    return Claim(team.name, team.guaranteed or 0, Fraction(getattr(weight, kind)), team.wanted)


def check(engine: str, teams: Teams) -> None:
    """Compare what each queue holds of each resource in the end with its part of what its siblings hold together."""
    cluster = simulated(engine, teams, GPU_AND_CPU)
    cluster.run()
    for kind in REQUESTS:
        held, wanting = cluster.held(kind), tuple(_of(team, kind) for team in teams)
        usable = min(CAPACITY, sum(team.wanted for team in wanting))
        assert usable - sum(held[team.name] for team in wanting) < sum(1 for top in wanting for _ in top.leaves()), kind
        if engine in REQUESTS_BEYOND_LIMITS and any(team.requested > team.wanted for team in wanting):
            continue
        for amount, siblings in groups_of(wanting, held):
            shares = shares_of(amount, [_claim(team, kind) for team in siblings])
            apart = {
                name: (held[name], float(share))
                for name, share in shares.items()
                if abs(held[name] - share) > _GRANULARITY
            }
            assert not apart, kind


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=2, derandomize=True)
@given(teams=weighted_teams())
def test_each_resource_is_divided_by_its_weight(engine: str, teams: Teams) -> None:
    check(engine, teams)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=12, derandomize=True)
@given(teams=weighted_teams())
def test_each_resource_of_many_policies_is_divided_by_its_weight(engine: str, teams: Teams) -> None:
    check(engine, teams)


def _jobs(kind: str, number: int, arrives_s: float = 0.0) -> Jobs:
    return Jobs(number, arrives_s, kind=kind, requests=REQUESTS[kind])


def test_kai_reclaims_nothing_for_queues_above_their_share_of_another_resource() -> None:
    """Each queue exceeds its fair share of one resource and is below its guarantee of the other."""
    teams = (
        Team("gpus", 8, jobs=(_jobs("gpu", 16), _jobs("cpu", 8, 60.0))),
        Team("cores", 8, jobs=(_jobs("cpu", 16), _jobs("gpu", 8, 60.0))),
    )
    cluster = simulated("kai", teams, GPU_AND_CPU)
    cluster.run()
    assert (cluster.held("gpu"), cluster.held("cpu")) == ({"gpus": 16, "cores": 0}, {"gpus": 0, "cores": 16})


def test_koordinator_revokes_no_device_of_a_queue_whose_least_important_pod_requests_none() -> None:
    """After it subtracts that pod, the controller forgets how much of the device the queue uses."""
    teams = (
        Team("borrower", 0, jobs=(_jobs("gpu", 16), _jobs("cpu", 1, 30.0))),
        Team("owner", 8, jobs=(_jobs("gpu", 8, 60.0),)),
    )
    cluster = simulated("koordinator", teams, GPU_AND_CPU)
    cluster.run()
    assert cluster.held("gpu") == {"borrower": 16, "owner": 0}
