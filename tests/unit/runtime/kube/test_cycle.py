"""One cycle of the live scheduler on an in-memory cluster: groups, binds, evictions, and reasons of pending pods."""

from __future__ import annotations

import pytest

from apportion_runtime.kube.errors import MissingShard, Refused

from .memory_cluster import Memory, events_without, run_cycle
from .objects import NOW, TRAIN, TREE, node, pod


def test_pods_are_grouped_and_bound_within_their_queues_limit() -> None:
    cluster = Memory(node("n1", 4), TRAIN, *TREE, pod("a", "vision", 2), pod("b", "vision", 1))
    result = run_cycle(cluster, NOW)
    assert result.grouped == ["team/a", "team/b"]
    assert sum(cluster.node_of(name) == "n1" for name in "ab") == 1
    (waiting,) = set(result.waiting)
    assert "vision" in cluster.told[waiting.removeprefix("team/")]
    assert result.faults == ()


def test_second_cycle_makes_no_further_decisions() -> None:
    cluster = Memory(node("n1", 4), TRAIN, *TREE, pod("a", "vision", 2))
    run_cycle(cluster, NOW)
    again = run_cycle(cluster, NOW + 1)
    assert (again.bound, again.evicted, again.grouped, again.refused) == ([], [], [], [])


def test_guarantee_is_reclaimed() -> None:
    cluster = Memory(node("n1", 4), TRAIN, *TREE, pod("b1", "nlp", 2), pod("b2", "nlp", 2))
    run_cycle(cluster, NOW)
    cluster.create(pod("mine", "vision", 2))
    result = run_cycle(cluster, NOW + 1)
    assert len(result.evicted) == 1
    assert set(cluster.evicted) < {"b1", "b2"}
    ((name, reason, message),) = events_without(cluster, "Scheduled", "Unschedulable")
    assert (name, reason) == (cluster.evicted[0], "Reclaimed")
    assert "team/pg-mine" in message
    assert "queue nlp uses 4 GPUs, more than its quota of 2 GPUs" in cluster.told[name]
    assert cluster.node_of("mine") is None


def test_pods_of_another_scheduler_are_left_alone() -> None:
    other = pod("a", "vision", 1)
    other["spec"]["schedulerName"] = "default-scheduler"
    cluster = Memory(node("n1", 4), TRAIN, *TREE, other)
    result = run_cycle(cluster, NOW)
    assert (result.bound, result.grouped) == ([], [])


def test_rejected_write_is_reported_and_retried() -> None:
    cluster = Memory(node("n1", 4), TRAIN, *TREE, pod("a", "vision", 2))
    cluster.refuses = {"a": Refused(409, "the pod was changed")}
    (refused,) = run_cycle(cluster, NOW).refused
    assert refused.endswith("pod a to node n1: the pod was changed")
    cluster.refuses = {}
    assert run_cycle(cluster, NOW + 1).bound == ["team/a"]


def test_missing_shard_is_rejected() -> None:
    with pytest.raises(MissingShard, match="the SchedulingShard mars does not exist"):
        run_cycle(Memory(node("n1", 4), *TREE), NOW, shard="mars")


def test_pod_of_an_undefined_sub_group_gives_the_reason() -> None:
    lost = pod("a", "vision", 1)
    lost["metadata"]["labels"]["kai.scheduler/subgroup-name"] = "workers"
    cluster = Memory(node("n1", 4), TRAIN, *TREE, lost)
    result = run_cycle(cluster, NOW)
    assert result.waiting == ["team/a"]
    assert result.pending["undefined-sub-group"] == 1
    assert "sub-group workers, which the pod group does not define" in cluster.told["a"]
    assert {(about, reason) for about, reason, _ in cluster.events} == {
        ("a", "Unschedulable"),
        ("pg-a-uid-a", "Unschedulable"),
    }
