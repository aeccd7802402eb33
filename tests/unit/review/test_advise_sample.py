"""The sample of a large load: one of every so many jobs and nodes, and the same part of the quotas."""

from __future__ import annotations

from typing import Any

import pytest

from apportion_policy import Cluster, Engine, Environment, Organisation, Policy
from apportion_review.advise.problem import Problem, Variable
from apportion_review.advise.sample import sample_interval, sampled_policy, sampled_scenario
from apportion_runtime.sim.scenario.format import NodeShape, Pool, Scenario, Work


def _node(name: str, gpus: str) -> dict[str, Any]:
    return {"kind": "Node", "metadata": {"name": name}, "status": {"allocatable": {"nvidia.com/gpu": gpus}}}


def _scenario(n_jobs: int, n_nodes: int) -> Scenario:
    works = tuple(Work({"metadata": {"name": f"w{number}"}}, arrives_s=float(-number)) for number in range(n_jobs))
    return Scenario(pools=(Pool("gpu", NodeShape({}, {}), n_nodes, n_nodes, n_nodes),), works=works)


def _problem(*guarantees: int) -> Problem:
    return Problem(tuple(Variable(value, min(value, 1), 1_000) for value in guarantees), ((0,),), (True,))


@pytest.mark.parametrize(
    ("n_jobs", "n_nodes", "guarantees", "interval"),
    [
        (19_999, 1_000, (1_000,), 1),
        (100_000, 1_000, (1_000, 0), 10),
        (100_000, 200, (1_000,), 4),
        (100_000, 1_000, (1_000, 20), 2),
        (100_000, 1_000, (1_000, 7), 1),
    ],
    ids=["small load", "jobs", "nodes", "quotas", "tiny quota"],
)
def test_interval_leaves_enough_jobs_nodes_and_gpus(
    n_jobs: int, n_nodes: int, guarantees: tuple[int, ...], interval: int
) -> None:
    assert sample_interval(_scenario(n_jobs, n_nodes), _problem(*guarantees)) == interval


def test_jobs_are_chosen_in_order_of_arrival_and_nodes_of_each_kind() -> None:
    nodes = [_node("a", "8"), _node("b", "8"), _node("c", "4"), _node("d", "8"), _node("e", "8")]
    other = {"kind": "PriorityClass", "metadata": {"name": "p"}}
    scenario = _scenario(5, 7)
    made = sampled_scenario(Scenario(scenario.pools, scenario.works, (*nodes, other)), 3)
    assert [work.arrives_s for work in made.works] == [-4.0, -1.0]
    assert (made.pools[0].size, made.pools[0].least, made.pools[0].most) == (3, 3, 3)
    assert [each["metadata"]["name"] for each in made.objects] == ["a", "c", "e", "p"]


def test_only_the_share_of_the_cluster_changes() -> None:
    clusters = (
        Cluster(name="main", engine=Engine.KAI, engine_version="0.17.0", share="1/2"),
        Cluster(name="other", engine=Engine.KAI, engine_version="0.17.0", share="1/2"),
    )
    policy = Policy(
        organisation=Organisation(name="acme", owner="@acme/platform"),
        environments=(Environment(name="prod", clusters=clusters),),
    )
    made = sampled_policy(policy, "prod", "main", 5)
    assert [cluster.share for cluster in made.environments[0].clusters] == ["1/10", "1/2"]
