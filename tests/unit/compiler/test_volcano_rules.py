"""Objects that Volcano rejects or ignores: one changed field of valid objects, one verdict."""

from __future__ import annotations

import copy
from itertools import pairwise
from typing import Any

import pytest
import yaml

from apportion_compiler.engines.volcano.rules import RULES
from apportion_compiler.engines.volcano.rules.hierarchy import refused_deletion
from apportion_compiler.engines.volcano.rules.queue_tree import queue_tree

CONFIGURATION = {
    "actions": "enqueue, allocate, reclaim",
    "tiers": [{"plugins": [{"name": "conformance"}, {"name": "capacity", "enableHierarchy": True}]}],
}
SOUND: list[dict[str, Any]] = list(
    yaml.safe_load_all("""
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: research}
spec:
  parent: root
  weight: 1
  priority: 0
  dequeueStrategy: traverse
  reclaimable: true
  deserved: {cpu: 10, memory: 10Gi, nvidia.com/gpu: 8}
  guarantee: {resource: {nvidia.com/gpu: 2}}
  capability: {cpu: 20, nvidia.com/gpu: 16}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: vision}
spec:
  parent: research
  deserved: {cpu: 10, nvidia.com/gpu: 8}
  guarantee: {resource: {nvidia.com/gpu: 2}}
  capability: {cpu: 20}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train, namespace: vision}
spec:
  queue: vision
  minAvailable: 3
  plugins: {svc: []}
  policies: [{event: PodEvicted, action: RestartJob}]
  tasks:
    - {name: head, replicas: 1, template: {spec: {}}}
    - name: worker
      replicas: 4
      minAvailable: 2
      dependsOn: {name: [head]}
      partitionPolicy: {totalPartitions: 2, partitionSize: 2}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: group, namespace: vision}
spec: {queue: vision, minMember: 2, networkTopology: {mode: hard, highestTierAllowed: 1}}
---
apiVersion: topology.volcano.sh/v1alpha1
kind: HyperNode
metadata: {name: rack-1}
spec: {tier: 1, members: [{type: Node, selector: {exactMatch: {name: node-1}}}]}
""")
)
QUEUE, CHILD, JOB, GROUP, HYPER_NODE, CONFIG = range(6)
SOUND.append(
    {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "volcano-scheduler-configmap", "namespace": "volcano-system"},
        "data": {"volcano-scheduler.conf": yaml.safe_dump(CONFIGURATION)},
    }
)


def _changed(index: int, path: str, value: object) -> list[dict[str, Any]]:
    changed = copy.deepcopy(SOUND)
    at: Any = changed[index]
    *above, last = path.split("|")
    for key in above:
        at = at[int(key)] if isinstance(at, list) else at.setdefault(key, {})
    if value is None:
        at.pop(last)
    else:
        at[int(last) if isinstance(at, list) else last] = value
    return changed


def _found(manifests: list[dict[str, Any]], existing: list[dict[str, Any]] | None = None) -> list[tuple[str, int, str]]:
    return [(v.effect.value, v.index, v.field) for v in RULES.check(manifests, existing or [])]


def test_valid_objects_pass() -> None:
    assert _found(SOUND) == []


@pytest.mark.parametrize(
    ("index", "path", "value", "field"),
    [
        (QUEUE, "metadata|name", "Research", "metadata.name"),
        (CHILD, "spec|parent", "nobody", "spec.parent"),
        (CHILD, "spec|weight", 0, "spec.weight"),
        (CHILD, "spec|weight", 65536, "spec.weight"),
        (CHILD, "spec|priority", -1, "spec.priority"),
        (CHILD, "spec|dequeueStrategy", "lifo", "spec.dequeueStrategy"),
        (CHILD, "spec|reclaimable", "yes", "spec.reclaimable"),
        (CHILD, "spec|deserved|cpu", "ten", "spec.deserved[cpu]"),
        (CHILD, "spec|deserved|memory", "-1", "spec.deserved[memory]"),
        (CHILD, "spec|deserved|cpu", "21", "spec.deserved[cpu]"),
        (CHILD, "spec|capability|nvidia.com/gpu", "8.5", "spec.capability[nvidia.com/gpu]"),
        (CHILD, "spec|capability|cpu", "20001m", "spec.capability[cpu]"),
        (CHILD, "spec|guarantee|resource|nvidia.com/gpu", "9", "spec.deserved[nvidia.com/gpu]"),
        (CHILD, "spec|guarantee|resource|memory", "1", "spec.deserved[memory]"),
        (CHILD, "status|state", "Unknown", "status.state"),
        (CHILD, "metadata|annotations", {"volcano.sh/hierarchy": "root/a"}, "metadata.annotations[volcano.sh/hierarchy]"),
        (JOB, "spec|tasks", [], "spec.tasks"),
        (JOB, "spec|minAvailable", 6, "spec.minAvailable"),
        (JOB, "spec|queue", "research", "spec.queue"),
        (JOB, "spec|queue", "root", "spec.queue"),
        (JOB, "spec|queue", "nobody", "spec.queue"),
        (JOB, "spec|plugins|gpu", [], "spec.plugins.gpu"),
        (JOB, "spec|policies|0|event", "CommandIssued", "spec.policies[0].event"),
        (JOB, "spec|policies|0|action", "Restart", "spec.policies[0].action"),
        (JOB, "spec|policies|0|exitCode", 3, "spec.policies[0]"),
        (JOB, "spec|tasks|1|minAvailable", 5, "spec.tasks[1].minAvailable"),
        (JOB, "spec|tasks|1|name", "head", "spec.tasks[1].name"),
        (JOB, "spec|tasks|1|name", "w" * 63, "spec.tasks[1].name"),
        (JOB, "spec|tasks|1|partitionPolicy|partitionSize", 3, "spec.tasks[1].partitionPolicy"),
        (JOB, "spec|tasks|0|dependsOn", {"name": ["worker"]}, "spec.tasks"),
        (JOB, "spec|volumes", [{"mountPath": "/data"}], "spec.volumes[0]"),
        (GROUP, "spec|minMember", -1, "spec.minMember"),
        (GROUP, "spec|queue", "nobody", "spec.queue"),
        (GROUP, "spec|networkTopology|highestTierName", "rack", "spec.networkTopology"),
        (GROUP, "spec|networkTopology|mode", "strict", "spec.networkTopology.mode"),
        (HYPER_NODE, "spec|tier", None, "spec.tier"),
        (HYPER_NODE, "spec|members", [], "spec.members"),
        (HYPER_NODE, "spec|members|0|selector|regexMatch", {"pattern": "n"}, "spec.members[0].selector"),
        (HYPER_NODE, "spec|members|0|selector", {"regexMatch": {"pattern": "("}}, "spec.members[0].selector.regexMatch.pattern"),
    ],
)  # fmt: skip
def test_invalid_fields_are_rejected(index: int, path: str, value: object, field: str) -> None:
    assert ("rejected", index, field) in _found(_changed(index, path, value))


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ("spec|deserved|cpu", "9", "spec.deserved[cpu]"),
        ("spec|deserved|nvidia.com/gpu", None, "spec.deserved[nvidia.com/gpu]"),
        ("spec|guarantee", None, "spec.guarantee.resource[nvidia.com/gpu]"),
        ("spec|capability|cpu", "19", "spec.capability[cpu]"),
    ],
)
def test_children_must_fit_their_parent(path: str, value: object, field: str) -> None:
    found = _found(_changed(QUEUE, path, value))
    assert ("rejected", QUEUE, field) in found


def test_resource_missing_from_parent_is_rejected() -> None:
    """Volcano finds a device that a child names and its parent does not wanting, be it 0."""
    changed = _changed(CHILD, "spec|deserved|example.com/fpga", "0")
    assert _found(changed) == [("rejected", QUEUE, "spec.deserved[example.com/fpga]")]


@pytest.mark.parametrize(
    ("index", "path", "value", "field"),
    [
        (CHILD, "spec|quota", 1, "spec.quota"),
        (CHILD, "spec|capability|cpu", "0", "spec.capability[cpu]"),
        (CHILD, "spec|capability|gpus", "8", "spec.capability[gpus]"),
        (CHILD, "spec|weight", 4, "spec.weight"),
        (CHILD, "spec|affinity", {"nodeGroupAffinity": {}}, "spec.affinity"),
    ],
)
def test_ineffective_fields_are_ignored(index: int, path: str, value: object, field: str) -> None:
    found = _found(_changed(index, path, value))
    assert [f for f in found if f[0] != "rejected"] == [("ignored", index, field)]


@pytest.mark.parametrize(
    "configuration",
    [
        {**CONFIGURATION, "actions": "enqueue, allocate"},
        {**CONFIGURATION, "actions": "enqueue, allocate, reclaim, recycle"},
        {**CONFIGURATION, "tiers": [{"plugins": [{"name": "capacity"}]}]},
        {**CONFIGURATION, "tiers": [{"plugins": [{"name": "capacity", "enableHierarchy": True}, {"name": "proportion"}]}]},
        {**CONFIGURATION, "tiers": [{"plugins": [{"name": "capacity", "enableHierarchy": True}, {"name": "fair"}]}]},
        {
            **CONFIGURATION,
            "tiers": [
                {"plugins": [{"name": "conformance"}]},
                {"plugins": [{"name": "capacity", "enableHierarchy": True}]},
            ],
        },
    ],
)  # fmt: skip
def test_ineffective_configuration_is_reported(configuration: dict[str, object]) -> None:
    changed = _changed(CONFIG, "data|volcano-scheduler.conf", yaml.safe_dump(configuration))
    assert _found(changed) == [("ignored", CONFIG, "data[volcano-scheduler.conf]")]


def test_default_configuration_of_the_chart_is_reported() -> None:
    shipped = {"actions": "enqueue, allocate, backfill", "tiers": [{"plugins": [{"name": "proportion"}]}]}
    found = _found(_changed(CONFIG, "data|volcano-scheduler.conf", yaml.safe_dump(shipped)))
    assert {field for _, _, field in found} == {"spec.deserved", "spec.parent"}


def test_pod_group_in_an_inner_queue_stays_pending() -> None:
    assert _found(_changed(GROUP, "spec|queue", "research")) == [("pending", GROUP, "spec.queue")]


def test_closed_queue_accepts_no_work() -> None:
    closed = [SOUND[QUEUE], {**SOUND[CHILD], "status": {"state": "Closed"}}]
    assert _found([SOUND[JOB], SOUND[GROUP]], closed) == [("rejected", 0, "spec.queue"), ("rejected", 1, "spec.queue")]


def test_unchanged_objects_are_not_checked() -> None:
    faulty = _changed(QUEUE, "spec|deserved|cpu", "1")[:2]
    assert _found(faulty, faulty) == []
    assert _found(faulty) != []


def test_root_queue_is_immutable() -> None:
    root = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "root"}, "spec": {}}
    bounded = {**root, "spec": {"capability": {"cpu": "4"}}}
    assert _found([bounded], [root]) == [("rejected", 0, "spec.capability")]


def test_queue_depth_is_limited() -> None:
    names = ["root", *"abcdef"]
    chain = [
        {**SOUND[QUEUE], "metadata": {"name": name}, "spec": {"parent": parent}} for parent, name in pairwise(names)
    ]
    assert _found(chain) == [("rejected", 5, "spec.parent")]


def test_queue_cycle_is_rejected() -> None:
    """The webhook may let it pass, and the scheduler then schedules nothing at all."""
    circle = [{**SOUND[QUEUE], "metadata": {"name": a}, "spec": {"parent": b}} for a, b in ("ab", "ba")]
    assert {effect for effect, _, _ in _found(circle)} == {"rejected"}


def test_queue_with_pods_cannot_get_children() -> None:
    busy = {**SOUND[QUEUE], "status": {"allocated": {"pods": "3"}}}
    assert _found([SOUND[CHILD]], [busy]) == [("rejected", 0, "spec.parent")]


def test_job_tasks_are_immutable() -> None:
    scaled = _changed(JOB, "spec|tasks|0|replicas", 2)
    assert _found(scaled, SOUND) == []
    moved = _changed(JOB, "spec|queue", "default")
    assert _found(moved, SOUND) == [("rejected", JOB, "spec")]


def test_queue_with_children_cannot_be_deleted() -> None:
    tree = queue_tree([], SOUND)
    assert refused_deletion("vision", tree) is None
    assert refused_deletion("default", tree) == "`default` queue can not be deleted"
    assert (
        refused_deletion("research", tree) == "queue research can not be deleted because it has 1 child queues: vision"
    )
