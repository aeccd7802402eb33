"""The rules, the reader and the scheduler interpret KAI's objects alike."""

from __future__ import annotations

from typing import Any

import pytest

from apportion_api.kai.objects import PodGroup, Queue
from apportion_api.objects import read
from apportion_compiler.engines.kai.reader import READER
from apportion_compiler.engines.kai.rules import RULES
from apportion_runtime.snapshots.document_loader import LocatedObject
from apportion_runtime.snapshots.faults import Fault, ObjectLocation
from apportion_runtime.snapshots.kubernetes.reader import Cluster, read_cluster

ENDLESS = {"quota": -1, "limit": -1, "overQuotaWeight": 1}


def _queue(**spec: Any) -> dict[str, Any]:
    resources = dict.fromkeys(("cpu", "memory", "gpu"), ENDLESS)
    return {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": "a"},
        "spec": {"resources": resources, **spec},
    }


def _shard(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "kai.scheduler/v1", "kind": "SchedulingShard", "metadata": {"name": "default"}, "spec": spec}


def _scheduled(*objects: dict[str, Any]) -> tuple[Cluster, list[Fault]]:
    faults: list[Fault] = []
    located = [LocatedObject(each, ObjectLocation(0, 0)) for each in objects]
    return read_cluster(located, faults, now=0.0, shard=None), faults


@pytest.mark.parametrize("written", ["0", "f", "F", "false", "False", "FALSE"])
def test_full_hierarchy_fairness_accepts_go_booleans(written: str) -> None:
    shard = _shard(args={"full-hierarchy-fairness": written})
    record = READER.read([_queue(), shard])

    assert record.cluster is not None
    assert record.cluster.kai is not None
    assert not record.cluster.kai.full_hierarchy_fairness
    assert [queue.name for queue in _scheduled(_queue(parentQueue="b"), shard)[0].snapshot.queues] == ["default", "a"]


def test_invalid_boolean_argument_is_reported() -> None:
    shard = _shard(args={"full-hierarchy-fairness": "fALSE"})
    notes = [note.text for note in READER.read([_queue(), shard]).notes]

    assert "`spec.args.full-hierarchy-fairness` is dropped" in notes
    assert [fault.message for fault in _scheduled(_queue(), shard)[1]] == [
        "`full-hierarchy-fairness`: `fALSE` is neither true nor false"
    ]


def test_negative_minimum_runtime_protects_nothing() -> None:
    queue = _queue(preemptMinRuntime="-5s")
    record = READER.read([queue])

    assert [verdict.field for verdict in RULES.check([queue], [])] == []
    assert record.queues[0].preempt_min_runtime is None
    assert "spec.preemptMinRuntime is -5s, which is negative and has no effect: dropped" in [
        note.text for note in record.notes
    ]
    assert _scheduled(queue)[0].snapshot.queues[0].preempt_min_runtime == -5.0


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        ({"priority": "7"}, "spec.priority", "`spec.priority`: expected an integer, found the string `7`"),
        (
            {"resources": {"gpu": {"quota": float("inf"), "limit": -1, "overQuotaWeight": 1}}},
            "spec.resources.gpu.quota",
            "`spec.resources.gpu.quota`: expected a finite number, found the number `inf`",
        ),
        ({"parentQueue": ["x"]}, "spec.parentQueue", "`spec.parentQueue`: expected a string, found a list"),
    ],
)
def test_rejected_objects_are_not_read(spec: dict[str, Any], field: str, message: str) -> None:
    queue = _queue(**spec)

    assert field in [verdict.field for verdict in RULES.check([queue], []) if verdict.effect.value == "rejected"]
    assert [fault.message for fault in _scheduled(queue)[1]] == [message]


def test_pod_group_labels_and_sub_groups_are_typed() -> None:
    group = read(
        PodGroup,
        {
            "metadata": {"name": "g", "labels": {"kai.scheduler/node-pool": 5}},
            "spec": {"subGroups": [{"name": "a", "minMember": "2"}]},
        },
    )

    assert [fault.path for fault in group.faults] == [
        "metadata.labels[kai.scheduler/node-pool]",
        "spec.subGroups[0].minMember",
    ]


def test_missing_numbers_are_zero_and_malformed_unknown() -> None:
    queue = read(Queue, {"spec": {"resources": {"gpu": {"quota": "8"}}}})

    assert (queue.counted("gpu", "limit"), queue.counted("gpu", "quota")) == (0, None)
