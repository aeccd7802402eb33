"""Values that an existing manifest declares: a valid minimum of a gang is kept, and replaced values are reported."""

from __future__ import annotations

from typing import Any

import pytest

from apportion_compiler.bindings.bind import adopt
from apportion_compiler.bindings.options import Options
from apportion_compiler.plain_objects import mapping

from .programs import program

_LEAST = {
    "kai": ("annotations", "kai.scheduler/batch-min-member"),
    "volcano": ("annotations", "scheduling.volcano.sh/group-min-member"),
    "koordinator": ("annotations", "gang.scheduling.koordinator.sh/min-available"),
    "ack": ("labels", "pod-group.scheduling.sigs.k8s.io/min-available"),
}
_ON_PODS = ("koordinator", "ack")


def _job(engine: str, least: str | None) -> dict[str, Any]:
    template: dict[str, Any] = {
        "metadata": {},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "train"}]},
    }
    job: dict[str, Any] = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train"},
        "spec": {"parallelism": 4, "completions": 4, "template": template},
    }
    if least is not None:
        family, key = _LEAST[engine]
        (template if engine in _ON_PODS else job)["metadata"][family] = {key: least}
    return job


def _least_of(engine: str, job: object) -> object:
    where = ("spec", "template", "metadata") if engine in _ON_PODS else ("metadata",)
    family, key = _LEAST[engine]
    return mapping(job, *where, family)[key]


@pytest.mark.parametrize("engine", _LEAST)
@pytest.mark.parametrize(
    ("declared", "written"), [(None, "4"), ("2", "2"), ("4", "4"), ("9", "4"), ("0", "4"), ("x", "4")]
)
def test_valid_minimum_is_kept(engine: str, declared: str | None, written: str) -> None:
    (made,) = adopt(program(engine), "vision", [_job(engine, declared)], Options()).objects
    assert _least_of(engine, made) == written


@pytest.mark.parametrize("engine", _LEAST)
@pytest.mark.parametrize(
    ("declared", "says"),
    [
        ("4", ()),
        ("2", ("{key} remains at 2 of 4 pods: remove it from the manifest to start all pods together",)),
        ("9", ("{key} is 4 instead of 9",)),
        ("x", ("{key} is 4 instead of x",)),
    ],
)
def test_other_minimum_is_reported(engine: str, declared: str, says: tuple[str, ...]) -> None:
    notes = adopt(program(engine), "vision", [_job(engine, declared)], Options()).notes
    key = _LEAST[engine][1]
    assert notes == tuple(f"train: {clause.format(key=key)}" for clause in says)


def _pytorch_job(least: int) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "train"}]}}
    replicas = {"Master": {"replicas": 1, "template": template}, "Worker": {"replicas": 3, "template": template}}
    policy = {"schedulingPolicy": {"minAvailable": least, "queue": "other"}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "train"},
        "spec": {"runPolicy": policy, "pytorchReplicaSpecs": replicas},
    }


@pytest.mark.parametrize(
    ("declared", "written", "says"),
    [
        (
            2,
            2,
            (
                "spec.runPolicy.schedulingPolicy.minAvailable remains at 2 of 4 pods: remove it from the manifest to start "
                "all pods together"
            ),
        ),
        (9, 4, "minAvailable is 4 instead of 9"),
    ],
)
def test_minimum_of_a_kubeflow_job_under_volcano(declared: int, written: int, says: str) -> None:
    """The PodGroup that the training operator adopts has the same minimum."""
    bound = adopt(program("volcano"), "vision", [_pytorch_job(declared)], Options())
    group, job = bound.objects
    assert mapping(job, "spec", "runPolicy", "schedulingPolicy")["minAvailable"] == written
    assert mapping(group, "spec")["minMember"] == written
    assert bound.notes == (f"train: {says}", "train: queue is vision instead of other")


def test_replaced_and_removed_values_are_reported_once() -> None:
    """A label of both the Job and its pods is one note; a fraction of a GPU becomes an annotation."""
    job = _job("kai", None)
    spec = job["spec"]["template"]["spec"]
    spec["schedulerName"] = "some-scheduler"
    spec["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "500m"}}
    for node in (job, job["spec"]["template"]):
        node["metadata"]["labels"] = {"kai.scheduler/queue": "other", "app": "train"}
    assert adopt(program("kai"), "vision", [job], Options()).notes == (
        "train: kai.scheduler/queue is vision instead of other",
        "train: nvidia.com/gpu is removed; it was 500m",
        "train: schedulerName is kai-scheduler instead of some-scheduler",
    )
