"""Profiles of a KubeSchedulerConfiguration as they are read."""

from __future__ import annotations

from typing import Any

from apportion_runtime.engines.kube_scheduler.node_search import feasible_nodes_to_find
from apportion_runtime.engines.kube_scheduler.profiles import Profile, read_profiles


def configuration(*profiles: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": "kube-scheduler"}
    return {"kind": "KubeSchedulerConfiguration", "metadata": metadata, "profiles": list(profiles)}


def test_nodes_to_score_follow_the_profile() -> None:
    assert feasible_nodes_to_find(1000, Profile(percentage=30)) == 300
    assert feasible_nodes_to_find(50, Profile(percentage=30)) == 50
    assert feasible_nodes_to_find(50, Profile(has_scores=False)) == 1


def test_profiles_are_read_with_their_plugins() -> None:
    strategy = {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 3}]}
    fit = {"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}
    off = {"plugins": {"score": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeAffinity", "weight": 7}]}}}
    profiles, unknown = read_profiles(
        [
            configuration(
                {"schedulerName": "pack", "pluginConfig": [fit]},
                {"schedulerName": "bare", **off},
                {"schedulerName": "odd", "plugins": {"score": {"enabled": [{"name": "GPUAffinity", "weight": 2}]}}},
            )
        ]
    )
    assert (profiles["pack"].strategy, profiles["pack"].resources) == ("MostAllocated", {"cpu": 3})
    assert profiles["bare"].weights == {"NodeAffinity": 7}
    assert unknown == ("GPUAffinity",)
    assert set(read_profiles([])[0]) == {"default-scheduler"}


def test_arguments_of_profiles_are_read() -> None:
    fit = {"name": "NodeResourcesFit", "args": {"ignoredResources": ["a/b"], "ignoredResourceGroups": ["c"]}}
    candidates = {"minCandidateNodesPercentage": 5, "minCandidateNodesAbsolute": 2}
    preemption = {"name": "DefaultPreemption", "args": candidates}
    made = configuration(
        {"schedulerName": "a", "pluginConfig": [fit, preemption]},
        {"schedulerName": "b", "percentageOfNodesToScore": 0, "plugins": {"score": {"disabled": [{"name": "*"}]}}},
    )
    profiles, _ = read_profiles([{**made, "percentageOfNodesToScore": 40}])
    a, b = profiles["a"], profiles["b"]
    assert [name for name in ("a/b", "c/d", "e/f", "cpu") if not a.checks(name)] == ["a/b", "c/d"]
    assert (a.candidates, a.candidate_percentage, a.percentage, b.percentage) == (2, 5, 40, 0)
    assert (a.has_scores, b.has_scores) == (True, False)
