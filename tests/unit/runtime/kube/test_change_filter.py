"""Which changes start a cycle."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from apportion_api.kubernetes.names import REGION_LABEL, ZONE_LABEL
from apportion_runtime.kube.change_filter import is_relevant

from .objects import node, pod, pod_group, queue

Change = Callable[[dict[str, Any]], object]
NODE, POD, QUEUE, GROUP = node("n1", 8), pod("a", "team", 1), queue("team", None, 8), pod_group("g", "team", 2)
BOUND = pod("a", "team", 1, on="n1")


def _heartbeat(made: dict[str, Any]) -> None:
    made["status"]["conditions"][0]["lastHeartbeatTime"] = "2026-11-21T08:00:00Z"
    made["metadata"]["annotations"] = {"agent/seen": "08:00"}
    made["status"]["images"] = [{"names": ["image"]}]


def _condition(made: dict[str, Any]) -> None:
    made["status"]["conditions"] = [{"type": "PodScheduled", "status": "False", "message": "no node fits"}]


@pytest.mark.parametrize(
    ("before", "change", "expected"),
    [
        (NODE, _heartbeat, False),
        (NODE, lambda made: made["status"]["conditions"][0].update(status="False"), True),
        (NODE, lambda made: made["status"]["allocatable"].update({"nvidia.com/gpu": "7"}), True),
        (NODE, lambda made: made["spec"].update(unschedulable=True), True),
        (NODE, lambda made: made["metadata"]["labels"].update(zone="a"), True),
        (POD, _condition, False),
        (POD, lambda made: made["status"].update(containerStatuses=[{"ready": True}]), False),
        (POD, lambda made: made["status"].update(phase="Succeeded"), True),
        (POD, lambda made: made["spec"].update(nodeName="n1"), True),
        (POD, lambda made: made["spec"].update(schedulingGates=[]), True),
        (POD, lambda made: made["metadata"].update(deletionTimestamp="2026-11-21T08:00:00Z"), True),
        (POD, lambda made: made["metadata"]["labels"].update(team="b"), True),
        (POD, lambda made: made["metadata"].update(uid="another"), True),
        (POD, lambda made: made["metadata"]["labels"].update({ZONE_LABEL: "a"}), True),
        (BOUND, lambda made: made["metadata"]["labels"].update({ZONE_LABEL: "a", REGION_LABEL: "b"}), False),
        (BOUND, lambda made: made["metadata"]["labels"].update({ZONE_LABEL: "a", "team": "b"}), True),
        (QUEUE, lambda made: made.update(status={"allocated": {}}), False),
        (QUEUE, lambda made: made["spec"]["resources"]["gpu"].update(quota=4), True),
        (GROUP, lambda made: made.update(status={"resourcesStatus": {}}), False),
        (GROUP, lambda made: made.update(status={"schedulingConditions": [{"type": "UnschedulableOnNodePool"}]}), True),
        (GROUP, lambda made: made["spec"].update(minMember=3), True),
    ],
)
def test_cycle_starts_for_relevant_changes(before: dict[str, Any], change: Change, expected: bool) -> None:
    after = copy.deepcopy(before)
    after["metadata"]["resourceVersion"] = "2"
    change(after)
    assert is_relevant(before["kind"], before, after) is expected


def test_new_object_starts_cycle_and_own_write_does_not() -> None:
    written = copy.deepcopy(POD)
    written["metadata"]["resourceVersion"] = "2"
    assert is_relevant("Pod", None, written)
    assert not is_relevant("Pod", written, copy.deepcopy(written))


@pytest.mark.parametrize("made", [NODE, POD, QUEUE, GROUP])
def test_version_that_a_restored_etcd_uses_again_does_not_hide_a_change(made: dict[str, Any]) -> None:
    before = {**made, "metadata": {**made["metadata"], "resourceVersion": "2"}}
    other = {**before, "spec": {**before["spec"], "changed": True}}
    assert is_relevant(made["kind"], before, copy.deepcopy(before)) is False
    assert is_relevant(made["kind"], before, other) is True


def test_object_that_is_listed_again_starts_no_cycle() -> None:
    before = {"kind": "PriorityClass", "metadata": {"name": "train", "uid": "1", "resourceVersion": "2"}, "value": 50}
    assert is_relevant("PriorityClass", before, copy.deepcopy(before)) is False
    assert is_relevant("PriorityClass", before, {**before, "value": 60}) is True
