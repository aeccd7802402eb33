"""The core's view of queues, pod groups, their classes and topologies: a row for each of the cache's rules."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from apportion_runtime.core.snapshot import Queue, QueueResource, SubGroup, Topology, TopologyConstraint
from apportion_runtime.snapshots.document_loader import Source
from apportion_runtime.snapshots.snapshot_reader import read_snapshot

from .objects import NOW, group, group_of, made, pod, queue, read

QUEUES = {
    "nothing said": ({}, Queue("q", None)),
    "units": (
        {
            "parentQueue": "root",
            "priority": 5,
            "preemptMinRuntime": "1h30m",
            "reclaimMinRuntime": "90s",
            "resources": {
                "gpu": {"quota": 8, "limit": -1, "overQuotaWeight": 2},
                "cpu": {"quota": 4000, "limit": 8000},
                "memory": {"quota": 1.5, "limit": -1},
            },
        },
        Queue(
            "q", "root", QueueResource(4000, 8000), QueueResource(1_500_000, -1), QueueResource(8, -1, 2), 5,
            preempt_min_runtime=5400.0, reclaim_min_runtime=90.0,
        ),
    ),
    "priority of zero": ({"priority": 0}, Queue("q", None, priority=0)),
}  # fmt: skip


@pytest.mark.parametrize("case", QUEUES)
def test_queues(case: str) -> None:
    written, expected = QUEUES[case]
    snapshot = read(queue("q", written), queue("root")).snapshot
    assert snapshot is not None
    assert next(q for q in snapshot.queues if q.name == "q") == expected


_BOUND = "use -1 for unlimited, or an amount of 0 or more"
_LESS = "the engine lets other queues share that much more"
_UNLIMITED = "the engine treats it as -1, which means unlimited"
_SURPLUS = "the engine divides the surplus incorrectly among the queue and its siblings"
NEGATIVE: dict[tuple[str, str, float], tuple[str, str] | None] = {
    ("gpu", "quota", -3): (_LESS, _BOUND),
    ("gpu", "quota", -0.5): (_LESS, _BOUND),
    ("gpu", "limit", -2): ("no job that requests gpu can start in the queue", _BOUND),
    ("cpu", "limit", -2.5): ("no job that requests cpu can start in the queue", _BOUND),
    ("memory", "quota", -500): (_UNLIMITED, _BOUND),
    ("memory", "limit", -2): (_UNLIMITED, _BOUND),
    ("memory", "overQuotaWeight", -1): (_SURPLUS, "use a weight of 0 or more"),
    ("cpu", "overQuotaWeight", -0.1): (_SURPLUS, "use a weight of 0 or more"),
    ("gpu", "quota", -1): None,
    ("gpu", "limit", -1): None,
    ("memory", "quota", -1): None,
    ("memory", "limit", -1.0): None,
    ("gpu", "overQuotaWeight", 0): None,
}


@pytest.mark.parametrize(("resource", "field", "amount"), NEGATIVE)
def test_negative_amount_of_a_queue_is_reported_with_field_value_and_effect(
    resource: str, field: str, amount: float
) -> None:
    found = read(queue("q", {"resources": {resource: {field: amount}}})).faults
    expected = NEGATIVE[resource, field, amount]
    if expected is None:
        assert found == ()
        return
    effect, hint = expected
    (fault,) = found
    assert (fault.kind, fault.address) == ("ignored-value", "queue q")
    assert fault.message == f"`spec.resources.{resource}.{field}: {amount:g}` is negative: {effect}"
    assert (fault.hint, fault.file, fault.line) == (hint, "objects.yaml", 8)


@pytest.mark.parametrize("key", ["preemptMinRuntime", "reclaimMinRuntime"])
@pytest.mark.parametrize("written", ["-5m", "-1ns"])
def test_negative_minimum_runtime_is_reported(key: str, written: str) -> None:
    (fault,) = read(queue("q", {key: written})).faults
    assert fault.message == f"`spec.{key}: {written}` is negative: no job is protected, as with 0"
    assert fault.hint == "use 0s, or a positive duration such as 90s or 1h30m"
    assert read(queue("q", {key: "0s"})).faults == ()


DOCUMENT = """\
apiVersion: apportion.dev/v1
kind: Snapshot
queues:
  - name: q
    parent: null
    gpu: {quota: -1, limit: -2}
    memory: {limit: -3000000, weight: -1}
    preemptMinRuntime: -60
"""


def test_negative_amounts_of_a_document_are_reported() -> None:
    found = read_snapshot([Source("document.yaml", DOCUMENT)], now=NOW).faults
    assert sorted((fault.line, fault.message.partition(":")[0], fault.address) for fault in found) == [
        (6, "`gpu.limit", "queue q"),
        (7, "`memory.limit", "queue q"),
        (7, "`memory.weight", "queue q"),
        (8, "`preemptMinRuntime", "queue q"),
    ]


def test_huge_memory_is_finite() -> None:
    snapshot = read(queue("q", {"resources": {"memory": {"quota": 1.7e308, "limit": 1e303}}})).snapshot
    assert snapshot is not None
    assert snapshot.queues[0].memory == QueueResource(sys.float_info.max, sys.float_info.max)


def test_flat_fairness_uses_a_single_parent() -> None:
    shard = made("SchedulingShard", api="kai.scheduler/v1", spec={"args": {"full-hierarchy-fairness": "false"}})
    snapshot = read(shard, queue("root"), queue("q", {"parentQueue": "lab"})).snapshot
    assert snapshot is not None
    endless = QueueResource(-1, -1, 1)
    assert snapshot.queues == (
        Queue("default", None, endless, endless, endless, created=NOW),
        Queue("q", "default"),
    )


def classes(**values: int) -> list[dict[str, Any]]:
    return [made("PriorityClass", name, api="scheduling.k8s.io/v1", value=value) for name, value in values.items()]


PREEMPTIBILITY = {
    "unknown class: 50": ({"priorityClassName": "gone"}, (50, True)),
    "no class": ({}, (50, True)),
    "below 100": ({"priorityClassName": "low"}, (99, True)),
    "from 100": ({"priorityClassName": "high"}, (100, False)),
    "said": ({"priorityClassName": "high", "preemptibility": "preemptible"}, (100, True)),
    "said not": ({"preemptibility": "non-preemptible"}, (50, False)),
    "of a queue that is not there": ({"queue": "gone", "priorityClassName": "high"}, (0, False)),
}


@pytest.mark.parametrize("case", PREEMPTIBILITY)
def test_priority_and_preemptibility(case: str) -> None:
    written, expected = PREEMPTIBILITY[case]
    found = group_of(written, *classes(low=99, high=100))
    assert (found.priority, found.preemptible) == expected


def test_global_default_class_applies() -> None:
    default = {**classes(usual=70)[0], "globalDefault": True}
    assert group_of({}, default).priority == 70


def plain(least: int) -> SubGroup:
    return SubGroup("", None, (SubGroup("default", least),))


TREES = {
    "one pod by default": ({}, plain(1)),
    "a gang": ({"minMember": 4}, plain(4)),
    "all elastic": ({"minMember": 0}, plain(0)),
    "parts in order of name, parents in lower case": (
        {
            "minSubGroup": 1,
            "subGroups": [
                {"name": "b", "minMember": 2, "parent": "A"},
                {"name": "a", "minSubGroup": 1},
                {"name": "c"},
            ],
        },
        SubGroup("", 1, (SubGroup("a", 1, (SubGroup("b", 2),)), SubGroup("c", 0))),
    ),
    "an unknown parent": ({"minMember": 3, "subGroups": [{"name": "a", "parent": "z"}]}, plain(1)),
    "a name twice": ({"minMember": 3, "subGroups": [{"name": "a"}, {"name": "a"}]}, plain(1)),
    "constraints": (
        {
            "minMember": 2,
            "topologyConstraint": {"topology": "t", "requiredTopologyLevel": "rack", "preferredTopologyLevel": "host"},
        },
        SubGroup("", None, (SubGroup("default", 2),), TopologyConstraint("t", "example.com/rack", "host")),
    ),
    "a constraint without a topology": ({"topologyConstraint": {"requiredTopologyLevel": "rack"}}, plain(1)),
}


@pytest.mark.parametrize("case", TREES)
def test_sub_groups(case: str) -> None:
    written, expected = TREES[case]
    levels = [{"nodeLabel": "example.com/rack", "alias": "rack"}, {"nodeLabel": "host"}]
    topology = made("Topology", "t", api="kai.scheduler/v1alpha1", spec={"levels": levels})
    assert group_of(written, topology).root == expected


@pytest.mark.parametrize(
    ("parents", "lost"),
    [
        ({"a": "b", "b": "a", "c": None}, "`a`, `b`"),
        ({"a": "a"}, "`a`"),
        ({"a": "b", "b": "c", "c": "b", "d": None}, "`a`, `b`, `c`"),
        ({"a": None, "b": "A", "c": "b"}, None),
    ],
)
def test_sub_groups_in_a_cycle_are_reported(parents: dict[str, str | None], lost: str | None) -> None:
    written = [{"name": name, **({} if parent is None else {"parent": parent})} for name, parent in parents.items()]
    faults = [one.message for one in read(group({"subGroups": written}), queue()).faults]
    expected = f"the parents of sub-groups {lost} form a cycle; pods in these sub-groups stay pending"
    assert faults == ([] if lost is None else [expected])


def test_topology_levels_are_widest_first() -> None:
    levels = [{"nodeLabel": "zone"}, {"nodeLabel": "host"}]
    snapshot = read(made("Topology", "t", api="kai.scheduler/v1alpha1", spec={"levels": levels}), queue()).snapshot
    assert snapshot is not None
    assert snapshot.topologies == (Topology("t", ("zone", "host")),)


def test_pod_group_timestamps() -> None:
    stamps = {
        "kai.scheduler/last-start-timestamp": "2025-11-21T07:00:00Z",
        "kai.scheduler/last-eviction-timestamp": "2025-11-21T08:00:00+01:00",
        "kai.scheduler/stale-podgroup-timestamp": "yesterday",
    }
    found = group_of(
        {"preemptionDelay": "2h", "stalenessGracePeriod": "-1s"},
        creationTimestamp="2025-11-21T06:00:00Z",
        annotations=stamps,
    )
    assert (found.created, found.last_start, found.last_eviction) == (NOW - 7200, NOW - 3600, NOW - 3600)
    assert (found.stale_since, found.preemption_delay, found.staleness_grace) == (None, 7200.0, -1.0)


def test_negative_preemption_delay_is_reported() -> None:
    (fault,) = read(group({"preemptionDelay": "-5m"}), queue()).faults
    assert fault.message == "`spec.preemptionDelay: -5m` is negative: there is no delay, as with 0"
    assert fault.hint == "use 0s, or a positive duration such as 90s or 1h30m"
    assert read(group({"preemptionDelay": "0s"}), queue()).faults == ()


@pytest.mark.parametrize(
    ("backoff", "pool", "is_read"),
    [(None, "default", True), (-1, "default", True), (1, "default", False), (1, "a", True)],
)
def test_pod_group_in_backoff_is_skipped(backoff: int | None, pool: str, is_read: bool) -> None:
    status = {"schedulingConditions": [{"nodePool": pool, "transitionID": "1"}]}
    snapshot = read(group({"schedulingBackoff": backoff}, status=status), queue()).snapshot
    assert snapshot is not None
    assert len(snapshot.pod_groups) == is_read


def test_pod_groups_are_identified_by_name() -> None:
    here = pod(metadata={"annotations": {"pod-group-name": "g"}, "namespace": "other"})
    snapshot = read(group(), queue(), here).snapshot
    assert snapshot is not None
    assert [each.group for each in snapshot.pods] == ["g"]
