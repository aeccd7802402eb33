"""Pods that the controllers of a snapshot lack."""

from __future__ import annotations

from typing import Any

import pytest

from apportion_runtime.sim.observed.missing_pods import n_missing_pods, with_missing_pods
from apportion_runtime.sim.observed.workloads import Owner, observed_workloads

Made = dict[str, Any]
TEMPLATE = {"spec": {"containers": [{"name": "main"}]}}
COMPLETE = {"conditions": [{"type": "Complete", "status": "True"}]}


def controller(kind: str, status: Made | None = None, **spec: Any) -> Made:
    group = "batch" if kind == "Job" else "apps"
    metadata = {"name": "w", "namespace": "ns"}
    made = {"apiVersion": f"{group}/v1", "kind": kind, "metadata": metadata, "spec": {"template": TEMPLATE, **spec}}
    return made if status is None else {**made, "status": status}


def pod(number: int, kind: str, phase: str = "Running") -> Made:
    owner = {"kind": kind, "name": "w", "controller": True}
    metadata = {"name": f"w-{number}", "namespace": "ns", "ownerReferences": [owner]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {}, "status": {"phase": phase}}


@pytest.mark.parametrize(
    ("made", "n_missing"),
    [
        (controller("Job"), 0),
        (controller("Job", parallelism=3), 2),
        (controller("Job", parallelism=3, completions=2), 1),
        (controller("Job", {"succeeded": 4}, parallelism=3, completions=6), 1),
        (controller("Job", {"succeeded": 1}, parallelism=3), 0),
        (controller("Job", parallelism=3, suspend=True), 0),
        (controller("Job", COMPLETE, parallelism=3), 0),
        (controller("ReplicaSet", replicas=4), 3),
        (controller("StatefulSet", replicas=0), 0),
        ({"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "w", "namespace": "ns"}, "spec": {}}, 0),
    ],
)
def test_number_of_missing_pods(made: Made, n_missing: int) -> None:
    assert n_missing_pods([made, pod(0, made["kind"]), pod(1, made["kind"], "Succeeded")]) == n_missing


def test_workload_without_pods_is_found() -> None:
    found = with_missing_pods([], [controller("Job", parallelism=2)])
    assert [(each.owner, [lacking["count"] for lacking in each.missing]) for each in found] == [
        (Owner("ns", "w", "Job"), [2])
    ]


def test_missing_pods_belong_to_their_workload() -> None:
    objects = [controller("ReplicaSet", replicas=2), pod(0, "ReplicaSet")]
    (found,) = with_missing_pods(observed_workloads(objects), objects)
    assert len(found.pods) == 1
    assert [each["count"] for each in found.manifest()["spec"]["podSets"]] == [1, 1]


def test_queued_job_has_no_missing_pods() -> None:
    job = controller("Job", parallelism=2)
    assert with_missing_pods([], [job], [job]) == []
    assert n_missing_pods([job], [job]) == 0
