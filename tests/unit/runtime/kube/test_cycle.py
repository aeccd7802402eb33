"""One cycle of the live scheduler on a cluster in memory: groups, binds, evictions, and why a pod waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from apportion_runtime.kube.cluster import Manifest
from apportion_runtime.kube.errors import Refused
from apportion_runtime.kube.scheduler import run_cycle

from .api_server import merged
from .objects import NOW, TRAIN, TREE, node, pod


class Memory:
    """A cluster that does at once what it is asked."""

    def __init__(self, *manifests: dict[str, Any]) -> None:
        self.held = {self._key(m): m for m in manifests}
        self.evicted: dict[str, str] = {}
        self.told: dict[str, str] = {}
        self.refuses: set[str] = set()

    def objects(self) -> Sequence[Manifest]:
        return list(self.held.values())

    def get(self, kind: str, namespace: str, name: str) -> Manifest | None:
        return self.held.get((kind, namespace, name))

    def has_pods(self, namespace: str, labels: Mapping[str, str]) -> bool:
        return False

    def create(self, manifest: Manifest) -> Manifest:
        made = dict(manifest)
        made["metadata"] = {"uid": f"uid-{manifest['metadata']['name']}", **manifest["metadata"]}
        self.held[self._key(made)] = made
        return made

    def merge(self, kind: str, namespace: str, name: str, patch: Manifest) -> Manifest:
        made = merged(self.held[kind, namespace, name], patch)
        self.held[kind, namespace, name] = made
        return made

    def bind(self, pod: Manifest, node: str) -> None:
        name = pod["metadata"]["name"]
        if name in self.refuses:
            raise Refused(409, "the pod was changed")
        self.held["Pod", "team", name] = {**pod, "spec": {**pod["spec"], "nodeName": node}}

    def evict(self, pod: Manifest, why: str) -> None:
        self.evicted[pod["metadata"]["name"]] = why

    def wait(self, pod: Manifest, why: str) -> None:
        self.told[pod["metadata"]["name"]] = why

    def node_of(self, name: str) -> str | None:
        node: str | None = self.held["Pod", "team", name]["spec"].get("nodeName")
        return node

    @staticmethod
    def _key(manifest: Manifest) -> tuple[str, str, str]:
        return manifest["kind"], manifest["metadata"].get("namespace", ""), manifest["metadata"]["name"]


def test_pods_are_grouped_and_bound_within_their_queues_limit() -> None:
    cluster = Memory(node("n1", 4), TRAIN, *TREE, pod("a", "vision", 2), pod("b", "vision", 1))
    result = run_cycle(cluster, NOW)
    assert result.grouped == ["team/a", "team/b"]
    assert sum(cluster.node_of(name) == "n1" for name in "ab") == 1
    (waiting,) = set(result.waiting)
    assert "vision" in cluster.told[waiting.removeprefix("team/")]
    assert result.faults == ()


def test_a_second_turn_does_nothing_more() -> None:
    cluster = Memory(node("n1", 4), TRAIN, *TREE, pod("a", "vision", 2))
    run_cycle(cluster, NOW)
    again = run_cycle(cluster, NOW + 1)
    assert (again.bound, again.evicted, again.grouped, again.refused) == ([], [], [], [])


def test_what_a_queue_is_promised_is_taken_back() -> None:
    cluster = Memory(node("n1", 4), TRAIN, *TREE, pod("b1", "nlp", 2), pod("b2", "nlp", 2))
    run_cycle(cluster, NOW)
    cluster.create(pod("mine", "vision", 2))
    result = run_cycle(cluster, NOW + 1)
    assert len(result.evicted) == 1
    assert set(cluster.evicted) < {"b1", "b2"}
    assert cluster.node_of("mine") is None


def test_pods_of_another_scheduler_are_left_alone() -> None:
    other = pod("a", "vision", 1)
    other["spec"]["schedulerName"] = "default-scheduler"
    cluster = Memory(node("n1", 4), TRAIN, *TREE, other)
    result = run_cycle(cluster, NOW)
    assert (result.bound, result.grouped) == ([], [])


def test_a_pod_that_shares_a_gpu_is_told_who_would_give_it_one() -> None:
    sharing = pod("a", "vision", 0, **{"gpu-fraction": "0.5"})
    cluster = Memory(node("n1", 4), TRAIN, *TREE, sharing)
    result = run_cycle(cluster, NOW)
    assert result.bound == []
    assert "binder" in cluster.told["a"]


def test_a_write_that_is_refused_is_told_and_tried_again() -> None:
    cluster = Memory(node("n1", 4), TRAIN, *TREE, pod("a", "vision", 2))
    cluster.refuses = {"a"}
    assert run_cycle(cluster, NOW).refused == ["team/a: the pod was changed"]
    cluster.refuses = set()
    assert run_cycle(cluster, NOW + 1).bound == ["team/a"]


def test_a_shard_that_is_not_there_is_refused() -> None:
    with pytest.raises(KeyError):
        run_cycle(Memory(node("n1", 4), *TREE), NOW, shard="mars")
