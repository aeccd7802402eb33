"""Objects that KAI rejects or ignores: one changed field of valid objects, one verdict."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

from apportion_compiler.engine_rules.verdict import Effect
from apportion_compiler.engines.kai.rules import RULES

SOUND: list[dict[str, Any]] = list(
    yaml.safe_load_all("""
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: research}
spec:
  resources:
    cpu: {quota: 1000, limit: 2000, overQuotaWeight: 1}
    memory: {quota: 1073.741824, limit: -1, overQuotaWeight: 1}
    gpu: {quota: 8, limit: 8, overQuotaWeight: 1}
---
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: vision}
spec: {parentQueue: research, priority: 100, reclaimMinRuntime: 1h30m}
---
apiVersion: kai.scheduler/v1
kind: SchedulingShard
metadata: {name: default}
spec: {partitionLabelValue: "", placementStrategy: {gpu: binpack, cpu: spread}, kValue: 0.5, args: {v: "4"}}
---
apiVersion: kai.scheduler/v1alpha1
kind: Topology
metadata: {name: racks}
spec: {levels: [{nodeLabel: example.com/rack}, {nodeLabel: kubernetes.io/hostname}]}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: batch}
value: 50
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: gang, namespace: vision}
spec: {queue: vision, minMember: 2}
""")
)
RESEARCH, VISION, SHARD, TOPOLOGY, CLASS, GROUP = range(6)
SOUND[VISION]["spec"]["resources"] = copy.deepcopy(SOUND[RESEARCH]["spec"]["resources"])
CASES = [
    (RESEARCH, "apiVersion", "scheduling.run.ai/v1", Effect.REJECTED, "apiVersion"),
    (RESEARCH, "spec.resources", None, Effect.REJECTED, "spec.resources"),
    (RESEARCH, "spec.resources.gpu.quota", "4", Effect.REJECTED, "spec.resources.gpu.quota"),
    (RESEARCH, "spec.resources.gpu.quota", True, Effect.REJECTED, "spec.resources.gpu.quota"),
    (RESEARCH, "spec.reclaimMinRuntime", "2d", Effect.REJECTED, "spec.reclaimMinRuntime"),
    (RESEARCH, "spec.priority", 1.5, Effect.REJECTED, "spec.priority"),
    (RESEARCH, "spec.displayName", 5, Effect.REJECTED, "spec.displayName"),
    (VISION, "spec.resources.gpu.limit", None, Effect.PENDING, "spec.resources.gpu.limit"),
    (VISION, "spec.resources.gpu.limit", -4, Effect.PENDING, "spec.resources.gpu.limit"),
    (VISION, "spec.resources.gpu", None, Effect.PENDING, "spec.resources.gpu.limit"),
    (VISION, "spec.resources.memory.limit", -4, Effect.IGNORED, "spec.resources.memory.limit"),
    (VISION, "spec.resources.memory.overQuotaWeight", None, Effect.IGNORED, "spec.resources.memory.overQuotaWeight"),
    (VISION, "spec.resources.cpu.quota", -2, Effect.IGNORED, "spec.resources.cpu.quota"),
    (VISION, "spec.resources.gpu.limit", 4, Effect.IGNORED, "spec.resources.gpu.quota"),
    (VISION, "spec.resources.cpu.overQuotaWeight", -1, Effect.IGNORED, "spec.resources.cpu.overQuotaWeight"),
    (VISION, "spec.resources.cpu.limit", 3000, Effect.IGNORED, "spec.resources.cpu.limit"),
    (VISION, "spec.parentQueue", "reserch", Effect.IGNORED, "spec.parentQueue"),
    (VISION, "spec.parentQueue", "vision", Effect.IGNORED, "spec.parentQueue"),
    (RESEARCH, "spec.resources.cpu.quota", 10, Effect.IGNORED, "spec.resources.cpu.quota"),
    (VISION, "metadata.labels", {"kai.scheduler/node-pool": "h100"}, Effect.IGNORED, "metadata.labels[kai.scheduler/node-pool]"),
    (VISION, "metadata.name", "v" * 64, Effect.PENDING, "metadata.name"),
    (SHARD, "spec.placementStrategy.gpu", "pack", Effect.IGNORED, "spec.placementStrategy.gpu"),
    (SHARD, "spec.args.v", 4, Effect.REJECTED, "spec.args.v"),
    (SHARD, "spec.queueDepthPerAction", {"evict": 3}, Effect.IGNORED, "spec.queueDepthPerAction.evict"),
    (SHARD, "spec.minRuntime", {"reclaimMinRuntime": "soon"}, Effect.IGNORED, "spec.minRuntime.reclaimMinRuntime"),
    (SHARD, "spec.kValue", "1", Effect.REJECTED, "spec.kValue"),
    (SHARD, "metadata.name", "a.b", Effect.IGNORED, "metadata.name"),
    (TOPOLOGY, "spec.levels", None, Effect.REJECTED, "spec.levels"),
    (TOPOLOGY, "spec.levels", [], Effect.REJECTED, "spec.levels"),
    (TOPOLOGY, "spec.levels", [{"nodeLabel": "a"}] * 2, Effect.REJECTED, "spec.levels[1].nodeLabel"),
    (TOPOLOGY, "spec.levels", [{"nodeLabel": "kubernetes.io/hostname"}, {"nodeLabel": "a"}], Effect.REJECTED, "spec.levels[0].nodeLabel"),
    (TOPOLOGY, "spec.levels", [{"nodeLabel": "a", "alias": "b"}, {"nodeLabel": "b"}], Effect.REJECTED, "spec.levels[0].alias"),
    (TOPOLOGY, "spec.levels", [{"nodeLabel": "not a key"}], Effect.REJECTED, "spec.levels[0].nodeLabel"),
    (CLASS, "value", 1_000_000, Effect.IGNORED, "value"),
    (CLASS, "preemptionPolicy", "Never", Effect.IGNORED, "preemptionPolicy"),
    (GROUP, "spec.queue", None, Effect.PENDING, "spec.queue"),
    (GROUP, "spec.preemptibility", "yes", Effect.REJECTED, "spec.preemptibility"),
    (GROUP, "spec.subGroups", [{"name": "a"}, {"name": "a"}], Effect.REJECTED, "spec.subGroups[1].name"),
    (GROUP, "spec.subGroups", [{"name": "a", "parent": "b"}], Effect.REJECTED, "spec.subGroups[0].parent"),
    (GROUP, "spec.subGroups", [{"name": "a", "minSubGroup": 1}], Effect.REJECTED, "spec.subGroups[0].minSubGroup"),
]  # fmt: skip


def _changed(index: int, path: str, value: object) -> list[dict[str, Any]]:
    manifests = copy.deepcopy(SOUND)
    *above, last = path.split(".")
    held = manifests[index]
    for key in above:
        held = held.setdefault(key, {})
    if value is None:
        held.pop(last, None)
    else:
        held[last] = value
    return manifests


def test_valid_objects_pass() -> None:
    assert list(RULES.check(SOUND, [])) == []


@pytest.mark.parametrize(("index", "path", "value", "effect", "field"), CASES)
def test_each_fault_yields_one_verdict(index: int, path: str, value: object, effect: Effect, field: str) -> None:
    found = {(v.effect, v.index, v.field) for v in RULES.check(_changed(index, path, value), [])}
    assert (effect, index, field) in found, found
    assert all(v.message and v.cure and v.kind for v in RULES.check(_changed(index, path, value), []))


def test_missing_parent_affects_all_descendants() -> None:
    manifests = _changed(RESEARCH, "spec.parentQueue", "acme")
    (found,) = RULES.check(manifests, [])
    assert found.message == "queue `acme` does not exist, so KAI drops the queue and its 1 descendant"
    assert list(RULES.check(manifests, [{**SOUND[RESEARCH], "metadata": {"name": "acme"}}])) == []


def test_topology_levels_are_immutable() -> None:
    manifests = _changed(TOPOLOGY, "spec.levels", [{"nodeLabel": "example.com/zone"}])
    (found,) = RULES.check(manifests, SOUND)
    assert (found.effect, found.field) == (Effect.REJECTED, "spec.levels")


def test_queues_of_the_chart_are_known() -> None:
    assert list(RULES.check(_changed(RESEARCH, "spec.parentQueue", "default-parent-queue"), [])) == []
