"""Pods of a snapshot whose requests cannot be read: the object, the field and the value are named."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from apportion_review.unreadable_requests import why_unreadable

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "namespace": "speech"},
    "spec": {"containers": [{"name": "main", "resources": {"requests": {"nvidia.com/gpu": "8", "cpu": "500m"}}}]},
    "status": {"phase": "Running"},
}


def _pod(**spec: Any) -> dict[str, Any]:
    return {**copy.deepcopy(POD), "spec": {**copy.deepcopy(POD["spec"]), **spec}}


def _requesting(requests: Any) -> dict[str, Any]:
    return _pod(containers=[{"name": "main", "resources": {"requests": requests}}])


@pytest.mark.parametrize(
    ("pod", "clause"),
    [
        (_pod(containers=None), "`spec.containers`: expected a list, found no value"),
        (_pod(containers=[]), "`spec.containers`: expected a list, found an empty list"),
        (_pod(containers="x"), "`spec.containers`: expected a list, found the string `x`"),
        (_pod(containers=[None]), "`spec.containers[0]`: expected a mapping, found no value"),
        (_pod(initContainers=3), "`spec.initContainers`: expected a list, found the number `3`"),
        (_requesting(["8"]), "`spec.containers[0].resources.requests`: expected a mapping, found a list"),
        (
            _requesting({"nvidia.com/gpu": "8x"}),
            "`spec.containers[0].resources.requests.nvidia.com/gpu`: `8x` is not a quantity such as 500m, 2 or 16Gi",
        ),
        (
            _requesting({"cpu": None}),
            "`spec.containers[0].resources.requests.cpu`: expected a quantity such as 500m or 16Gi, found no value",
        ),
        (_requesting({"cpu": "-1"}), "`spec.containers[0].resources.requests.cpu`: `-1` is negative"),
        (_pod(overhead={"cpu": "x"}), "`spec.overhead.cpu`: `x` is not a quantity such as 500m, 2 or 16Gi"),
    ],
)
def test_field_and_value_of_a_pod_are_named(pod: dict[str, Any], clause: str) -> None:
    assert why_unreadable([POD, pod]) == f"Pod speech/a: {clause}"


def test_number_of_further_objects_is_stated() -> None:
    broken = _pod(containers=None)
    assert why_unreadable([broken, broken, broken]).endswith("found no value, and 2 more")


def test_template_of_a_workload_is_named() -> None:
    spec = {"containers": [{"resources": {"requests": {"cpu": "x"}}}]}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "b", "namespace": "speech"},
        "spec": {"template": {"spec": spec}},
    }
    queued = {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": {"name": "job-b", "namespace": "speech"},
        "spec": {"podSets": [{"name": "main", "count": 1, "template": {"spec": spec}}]},
    }
    field = "containers[0].resources.requests.cpu"
    value = "`x` is not a quantity such as 500m, 2 or 16Gi"
    assert why_unreadable([job]) == f"Job speech/b: `spec.template.spec.{field}`: {value}"
    assert why_unreadable([queued]) == f"Workload speech/job-b: `spec.podSets[0].template.spec.{field}`: {value}"


@pytest.mark.parametrize("pod", [POD, _pod(overhead=None), _pod(containers=[{"name": "main", "resources": None}])])
def test_readable_pod_has_no_fault(pod: dict[str, Any]) -> None:
    assert why_unreadable([pod]) == ""


def test_ended_pod_is_not_read() -> None:
    assert why_unreadable([{**_pod(containers=None), "status": {"phase": "Succeeded"}}]) == ""
