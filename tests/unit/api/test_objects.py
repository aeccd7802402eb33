"""API objects are parsed with their defaults and former names, and malformed values are reported."""

from __future__ import annotations

from typing import Any

import pytest

from apportion_api.ack.objects import ElasticQuotaTree
from apportion_api.fields import Fields
from apportion_api.kueue.objects import ClusterQueue, LocalQueue, ResourceFlavor
from apportion_api.objects import read, read_all, read_fields
from apportion_api.volcano.configuration import SchedulerConfiguration
from apportion_api.volcano.objects import Queue
from apportion_runtime.engines.kueue.object_reader import read as read_for_simulation
from apportion_runtime.engines.volcano.capacity import queue_spec


def _queue(api: str = "v1beta2", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"kueue.x-k8s.io/{api}", "kind": "ClusterQueue", "metadata": {"name": "q"}, "spec": spec}


def test_missing_fields_have_crd_defaults() -> None:
    queue = read(ClusterQueue, _queue(preemption=None))

    assert (queue.strategy, queue.preemption.reclaim, queue.weight) == ("BestEffortFIFO", "Never", None)
    assert queue.faults == ()


def test_fields_of_older_versions_are_read() -> None:
    queue = read(ClusterQueue, _queue("v1beta1", cohort="c", admissionChecks=["dws"]))

    assert (queue.parent, [check.name for check in queue.all_checks]) == ("c", ["dws"])


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({"resourceGroups": {"flavors": []}}, "spec.resourceGroups: `{'flavors': []}` is not a list"),
        ({"stopPolicy": 5}, "spec.stopPolicy: `5` is not a string"),
        ({"preemption": "Any"}, "spec.preemption: `Any` is not a mapping"),
        (
            {"preemption": {"borrowWithinCohort": {"maxPriorityThreshold": "9"}}},
            "spec.preemption.borrowWithinCohort.maxPriorityThreshold: `9` is not an integer",
        ),
        (
            {"resourceGroups": [{"flavors": [{"name": "a", "resources": [{"name": "cpu", "nominalQuota": True}]}]}]},
            "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: `True` is not a quantity",
        ),
    ],
)
def test_malformed_field_is_a_fault(spec: dict[str, Any], fault: str) -> None:
    made = _queue(**spec)

    assert [str(each) for each in read(ClusterQueue, made).faults] == [fault]
    with pytest.raises(ValueError, match=r"^ClusterQueue q: ") as refused:
        read_for_simulation(lambda kind: [made] if kind == "ClusterQueue" else [])
    assert str(refused.value) == f"ClusterQueue q: {fault}"


def test_malformed_scalar_is_read_as_text() -> None:
    flavor = read(ResourceFlavor, {"metadata": {"name": "a"}, "spec": {"nodeLabels": {"generation": 5}}})

    assert flavor.labels == {"generation": "5"}
    assert [fault.path for fault in flavor.faults] == ["spec.nodeLabels.generation"]


@pytest.mark.parametrize("spec", [None, "", [], 3, {"clusterQueue": {"name": "x"}}], ids=repr)
def test_reading_never_raises(spec: object) -> None:
    assert read(LocalQueue, {"metadata": ["x"], "spec": spec}).name == ""


def test_kinds_match_by_group_in_any_version() -> None:
    other = {**_queue(), "apiVersion": "example.com/v1"}

    assert [queue.name for queue in read_all(ClusterQueue, [_queue("v1beta1"), other, {}])] == ["q"]


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({"capability": {"cpu": [4]}}, "spec.capability.cpu: `[4]` is not a quantity"),
        ({"priority": "high"}, "spec.priority: `high` is not an integer"),
    ],
)
def test_malformed_volcano_queue_is_reported(spec: dict[str, Any], fault: str) -> None:
    queue = read(Queue, {"metadata": {"name": "q"}, "spec": spec})

    with pytest.raises(ValueError, match="is not") as refused:
        queue_spec(queue)
    assert str(refused.value) == fault


@pytest.mark.parametrize(
    ("plugin", "does"), [({}, False), ({"enableHierarchy": True}, True), ({"enableHierarchy": False}, False)]
)
def test_hierarchy_is_disabled_by_default(plugin: dict[str, bool], does: bool) -> None:
    document = {"actions": "enqueue, allocate", "tiers": [{"plugins": [{"name": "capacity", **plugin}]}]}
    found = read_fields(SchedulerConfiguration, Fields(document))

    assert (found.actions, found.has_hierarchy) == (("enqueue", "allocate"), does)


def test_quota_tree_nodes_have_paths() -> None:
    root = {"children": [{"name": "a", "children": [{"name": "b", "weight": 2}]}]}
    tree = read(ElasticQuotaTree, {"metadata": {"name": "t"}, "spec": {"root": root}})
    assert tree.root is not None

    assert [(path, parent, node.at, node.unknown) for path, parent, node in tree.root.walk()] == [
        ("root", None, "spec.root", ()),
        ("root/a", "root", "spec.root.children[0]", ()),
        ("root/a/b", "root/a", "spec.root.children[0].children[0]", ("weight",)),
    ]
