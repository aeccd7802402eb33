"""Existing Volcano queues: other spellings, missing fields, and fields without meaning here."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from apportion_compiler.engines.volcano.reader import READER
from apportion_compiler.readers.record import ImportRecord

CLUSTER = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: root}
spec: {weight: 1, reclaimable: false, capability: {cpu: 100}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: default}
spec: {weight: 1}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: research}
spec: {weight: 4, capability: {cpu: "500m", memory: 1e3, nvidia.com/gpu: "8", amd.com/gpu: 2, gpus: 3}, type: batch}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: vision, labels: {team: x}, annotations: {volcano.sh/hierarchy: root/a}}
spec: {parent: research, reclaimable: false, guarantee: {resource: {cpu: "2"}}}
status: {state: Closed}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: stray}
spec: {parent: gone, deserved: {cpu: 0.0001, memory: 1.5Gi}, guarantee: {resource: {memory: 1Gi}}, capability: {cpu: 0}}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1000
---
apiVersion: topology.volcano.sh/v1alpha1
kind: HyperNode
metadata: {name: s0}
spec: {tier: 1}
"""


@pytest.fixture(scope="module")
def record() -> ImportRecord:
    return READER.read(list(yaml.safe_load_all(CLUSTER)))


def test_queues_and_their_parents(record: ImportRecord) -> None:
    assert [(queue.id, queue.parent) for queue in record.queues] == [
        ("research", None),
        ("vision", "research"),
        ("stray", None),
    ]


def test_amounts_in_any_spelling(record: ImportRecord) -> None:
    research, vision, stray = record.queues
    assert dict(research.limit) == {"cpu": 500, "memory": 1000, "gpu": 8000, "amd.com/gpu": 2}
    assert (dict(research.guaranteed), research.weight["gpu"]) == ({}, 4000)
    assert (dict(vision.guaranteed), dict(vision.lending_limit)) == ({"cpu": 2000}, {"cpu": 0})
    assert dict(stray.guaranteed) == {"cpu": 1, "memory": 3 * 2**29}
    assert (dict(stray.limit), dict(stray.lending_limit)) == ({}, {"memory": 2**29})


def test_unsupported_fields_are_noted(record: ImportRecord) -> None:
    noted = {note.object: [] for note in record.notes}
    for note in record.notes:
        noted[note.object].append(note.text)
    assert {name: len(texts) for name, texts in noted.items()} == {
        "Queue root": 1,
        "Queue research": 2,
        "Queue vision": 3,
        "Queue stray": 3,
        "Queue": 1,
        "HyperNode s0": 1,
    }


def test_preemptibility_of_classes_is_unknown(record: ImportRecord) -> None:
    assert [(cls.name, cls.preemptible) for cls in record.priority_classes] == [("high", None)]


@pytest.mark.parametrize("amount", ["-1", "many", True, {"a": 1}])
def test_invalid_amount_is_reported(amount: object) -> None:
    queue: dict[str, Any] = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": "a"},
        "spec": {"deserved": {"cpu": amount}},
    }
    with pytest.raises(ValueError, match=r"^Queue a: spec\.deserved\[cpu\]: "):
        READER.read([queue])


def test_ineffective_configuration_is_noted() -> None:
    shipped = 'actions: "enqueue, allocate, backfill"\ntiers: [{plugins: [{name: proportion}, {name: nodeorder}]}]'
    config = {"kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"volcano-scheduler.conf": shipped}}
    record = READER.read([config])
    assert [note.text.partition(",")[0] for note in record.notes] == [
        "the capacity plugin is disabled",
        "does not enable preempt",
    ]
    assert (record.cluster.gpu_placement, record.cluster.cpu_placement) == ("spread", "spread")
