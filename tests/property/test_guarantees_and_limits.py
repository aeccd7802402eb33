"""No queue waits below its guarantee, none is ever above its limit, and no GPU is idle while a queue may use it.

Engines whose pages name an exception are compared without it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from tests.engine_lists import engines_except

from apportion_policy import NodePool

from .shared_clusters import ALL_ENGINES, CAPACITY, H100, TWO_MODELS, Jobs, Team, Teams, shared_teams, simulated

pytestmark = pytest.mark.property

LEAVES_ALONE = ("ack",)
"""Engines that reclaim for a queue up to its own guarantee, not up to that of its parent."""
LIMITS_ALONE = ("volcano", "yunikorn")
"""Engines under which other queues may take what a queue reclaims, as their pages state."""
HELD_WHILE_PENDING = ("ack",)
"""Engines under which jobs whose pods are pending count as usage of all ancestors, so that units may be idle."""
EXTENDED = "example.com/fpga"
GUARANTEED_ALONE = {("kueue", EXTENDED)}
"""Resources of engines of which queues can use together only what they are guaranteed."""


def check(
    engine: str,
    teams: Teams,
    resource: str = "gpu",
    *,
    names_queue: bool = True,
    pools: Sequence[NodePool] = (H100,),
) -> None:
    """Check each state of a simulated policy, and the last one."""
    every = [team for top in teams for team in top.all()]

    def within_limits(held: dict[str, int]) -> None:
        assert not {
            each.name: held[each.name] for each in every if each.limit is not None and held[each.name] > each.limit
        }

    cluster = simulated(engine, teams, resource, names_queue=names_queue, pools=pools)
    held = cluster.run(within_limits)
    if engine in LIMITS_ALONE:
        return
    promised = [team for team in every if engine not in LEAVES_ALONE or not team.children]
    assert not {
        team.name: held[team.name] for team in promised if held[team.name] < min(team.guaranteed or 0, team.wanted)
    }
    if engine in HELD_WHILE_PENDING:
        return
    usable = sum(top.guaranteed or 0 for top in teams) if (engine, resource) in GUARANTEED_ALONE else CAPACITY
    assert sum(held[top.name] for top in teams) == min(usable, sum(top.wanted for top in teams))


@pytest.mark.parametrize("engine", ALL_ENGINES)
@settings(max_examples=2, derandomize=True)
@given(teams=shared_teams())
def test_guarantees_and_limits_hold(engine: str, teams: Teams) -> None:
    check(engine, teams)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ALL_ENGINES)
@settings(max_examples=12, derandomize=True)
@given(teams=shared_teams())
def test_guarantees_and_limits_of_many_policies_hold(engine: str, teams: Teams) -> None:
    check(engine, teams)


COUNTING_ANY_RESOURCE = engines_except(kai="its queues count only GPUs, CPU and memory", native="it has no guarantees")
COUNTING_ANY_MODEL = ("ack", "yunikorn")
BY_NAMESPACE = ("ack", "koordinator", "yunikorn")


@pytest.mark.parametrize("engine", COUNTING_ANY_RESOURCE)
@settings(max_examples=2, derandomize=True)
@given(teams=shared_teams())
def test_guarantees_and_limits_of_an_extended_resource_hold(engine: str, teams: Teams) -> None:
    check(engine, teams, EXTENDED)


@pytest.mark.slow
@pytest.mark.parametrize("engine", COUNTING_ANY_RESOURCE)
@settings(max_examples=12, derandomize=True)
@given(teams=shared_teams())
def test_guarantees_and_limits_of_an_extended_resource_hold_in_many_policies(engine: str, teams: Teams) -> None:
    check(engine, teams, EXTENDED)


@pytest.mark.parametrize("engine", BY_NAMESPACE)
@settings(max_examples=2, derandomize=True)
@given(teams=shared_teams())
def test_work_that_names_no_queue_counts_towards_that_of_its_namespace(engine: str, teams: Teams) -> None:
    check(engine, teams, names_queue=False)


@pytest.mark.slow
@pytest.mark.parametrize("engine", BY_NAMESPACE)
@settings(max_examples=12, derandomize=True)
@given(teams=shared_teams())
def test_work_of_many_policies_that_names_no_queue_counts(engine: str, teams: Teams) -> None:
    check(engine, teams, names_queue=False)


@pytest.mark.parametrize("engine", COUNTING_ANY_MODEL)
@settings(max_examples=2, derandomize=True)
@given(teams=shared_teams())
def test_gpus_of_any_model_count(engine: str, teams: Teams) -> None:
    check(engine, teams, pools=TWO_MODELS)


@pytest.mark.slow
@pytest.mark.parametrize("engine", COUNTING_ANY_MODEL)
@settings(max_examples=12, derandomize=True)
@given(teams=shared_teams())
def test_gpus_of_any_model_count_in_many_policies(engine: str, teams: Teams) -> None:
    check(engine, teams, pools=TWO_MODELS)


def test_volcano_evicts_below_a_guarantee_while_pods_terminate() -> None:
    """Terminating pods count as usage: `team` is guaranteed two GPUs, wants more, and is evicted from both."""
    one = (Team("other", 0, 14, jobs=(Jobs(3),)), Team("team", 2, jobs=(Jobs(13, 60.0),)))
    two = (
        Team("late", 1, 13, jobs=(Jobs(6, 60.0),)),
        Team("short", 3, 10, jobs=(Jobs(12, 60.0),)),
        Team("busy", 7, 13, jobs=(Jobs(10),)),
    )
    small = Team("small", 1, 13, jobs=(Jobs(10, 120.0),))
    teams = (Team("one", 4, children=one), Team("two", 11, children=two), small)
    cluster = simulated("volcano", teams, grace_s=30.0)
    reached = False
    while cluster.cluster.step():
        held = cluster.held()["team"]
        reached = reached or held >= 2
        if reached and held == 0:
            return
    raise AssertionError("no state has the queue below its guarantee")


def test_kueue_reclaims_from_siblings_of_equal_departments() -> None:
    """`department-0` and `department-2` are equal: if Kueue preempts in the latter, its workload is admitted first again."""
    first = (
        Team("team-0a", 2, 4, jobs=(Jobs(6, 120.0),)),
        Team("team-0b", 7, 11, jobs=(Jobs(11, 60.0),)),
        Team("team-0c", 0, 4, jobs=(Jobs(7),)),
    )
    third = (Team("team-2a", 1, 18, jobs=(Jobs(13),)), Team("team-2b", 4, 9, jobs=(Jobs(9),)))
    teams = (
        Team("department-0", 9, 13, children=first),
        Team("department-1", 1, 4, children=(Team("team-1a", 1, 1, jobs=(Jobs(2),)),)),
        Team("department-2", 5, children=third),
    )
    cluster = simulated("kueue", teams)
    held = cluster.run()
    assert (held["team-0a"], held["team-0b"], held["team-0c"]) == (2, 7, 0)
    assert max(Counter(cluster.evicted).values()) == 1
