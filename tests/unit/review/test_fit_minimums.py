"""`fit` proposes no size below a minimum that the author of a workload declared, and says why nothing fits."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from apportion_review.fit.minimum_size import Minimum, minimum_of
from apportion_review.fit.records import ChangeKind, Outcome
from apportion_review.fit.scaling import dimension_of
from apportion_review.fit.text import fit_text

from .fit_clusters import Made, bound, compiled, fit, job, policy_for, snapshot

RESOURCES = {"limits": {"nvidia.com/gpu": "4"}, "requests": {"nvidia.com/gpu": "4"}}
POD: Made = {
    "spec": {
        "containers": [{"name": "main", "image": "example.com/train", "resources": RESOURCES}],
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
    }
}
NAMED = {"metadata": {"name": "train", "namespace": "speech"}}


def _pods(**marks: dict[str, str]) -> Made:
    return {**copy.deepcopy(POD), **({"metadata": marks} if marks else {})}


def _annotated(key: str, text: str) -> Made:
    return job("train", "speech", 8, 4, metadata={"annotations": {key: text}})


def _pytorch(**spec: Any) -> Made:
    replicas = {"pytorchReplicaSpecs": {"Worker": {"replicas": 8, "template": _pods()}}}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", **NAMED, "spec": {**replicas, **spec}}


def _ray() -> Made:
    head = {"template": {"spec": {"containers": [{"name": "head"}]}}}
    group = {"groupName": "gpu", "replicas": 8, "minReplicas": 4, "maxReplicas": 8, "template": _pods()}
    spec = {"headGroupSpec": head, "workerGroupSpecs": [group]}
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", **NAMED, "spec": spec}


def _volcano_job(least: int, least_of_task: int | None = None) -> Made:
    driver = {"name": "driver", "replicas": 1, "template": {"spec": {"containers": [{"name": "main"}]}}}
    task = {"name": "worker", "replicas": 8, "template": _pods()}
    if least_of_task is not None:
        task["minAvailable"] = least_of_task
    spec = {"minAvailable": least, "tasks": [driver, task]}
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", **NAMED, "spec": spec}


def _yunikorn_job(least: int) -> Made:
    group = "yunikorn.apache.org/task-group"
    made = job("train", "speech", 8, 4)
    marks = {f"{group}-name": "workers", f"{group}s": json.dumps([{"name": "workers", "minMember": least}])}
    made["spec"]["template"]["metadata"] = {"annotations": marks}
    return made


def _koordinator_job(least: int) -> Made:
    made = job("train", "speech", 8, 4)
    made["spec"]["template"]["metadata"] = {"annotations": {"gang.scheduling.koordinator.sh/min-available": str(least)}}
    return made


KAI_MINIMUM = "kai.scheduler/batch-min-member"
MINIMUMS: list[tuple[Made, int, str]] = [
    (job("train", "speech", 8, 4), 1, ""),
    (_annotated(KAI_MINIMUM, "4"), 4, f"{KAI_MINIMUM} 4"),
    (_annotated(KAI_MINIMUM, "8"), 8, f"{KAI_MINIMUM} 8"),
    # More than it has: no smaller size is better.
    (_annotated(KAI_MINIMUM, "9"), 8, f"{KAI_MINIMUM} 9"),
    (_annotated(KAI_MINIMUM, "many"), 1, ""),
    (_annotated("kueue.x-k8s.io/job-min-parallelism", "3"), 3, "kueue.x-k8s.io/job-min-parallelism 3"),
    (_koordinator_job(5), 5, "gang.scheduling.koordinator.sh/min-available 5"),
    (_yunikorn_job(6), 6, "task group workers with minMember 6"),
    (
        _pytorch(runPolicy={"schedulingPolicy": {"minAvailable": 4}}),
        4,
        "spec.runPolicy.schedulingPolicy.minAvailable 4",
    ),
    (_pytorch(elasticPolicy={"minReplicas": 2, "maxReplicas": 8}), 2, "spec.elasticPolicy.minReplicas 2"),
    (_ray(), 4, "spec.workerGroupSpecs[0].minReplicas 4"),
    # The driver is one of the pods.
    (_volcano_job(5), 4, "spec.minAvailable 5"),
    (_volcano_job(5, 6), 6, "spec.tasks[1].minAvailable 6"),
]


@pytest.mark.parametrize(("workload", "value", "because"), MINIMUMS, ids=[f"{each[2] or 'none'}" for each in MINIMUMS])
def test_smallest_size_is_that_of_the_largest_minimum(workload: Made, value: int, because: str) -> None:
    dimension = dimension_of(workload)
    assert dimension is not None
    assert minimum_of(workload, dimension) == Minimum(value, because)


def _answer(written: Made, n_free: int, *, engine: str = "kai") -> Any:
    """The answer on a cluster with some free nodes, each for two pods of the workload."""
    policy = policy_for(engine)
    cluster = compiled(policy)
    queues = ("vision", "vision", "speech", "vision")[: 4 - n_free]
    held = snapshot(cluster, [bound(cluster, job(f"held-{n}", queue, 1, 8)) for n, queue in enumerate(queues)])
    return fit(policy, bound(cluster, written), held, written=written)


@pytest.mark.parametrize("written", [_ray(), _annotated(KAI_MINIMUM, "4"), _pytorch(elasticPolicy={"minReplicas": 4})])
def test_no_size_below_the_minimum_is_proposed(written: Made) -> None:
    found = _answer(written, 1)
    assert found.decision.outcome is not Outcome.NOW
    assert (found.size.largest, found.size.least) == (0, 4)
    assert ChangeKind.SIZE not in {change.kind for change in found.changes}
    text = " ".join(fit_text(found).split())
    assert f"none, not even with {found.size.dimension} set to 4, the least that {found.size.because} permits." in text


def test_size_from_the_minimum_is_proposed() -> None:
    found = _answer(_ray(), 2)
    assert (found.size.largest, found.size.gpus, found.free) == (4, 16_000, ())
    assert [change.after for change in found.changes if change.kind is ChangeKind.SIZE] == ["4"]


def test_whole_gang_is_not_made_smaller() -> None:
    text = fit_text(_answer(_annotated(KAI_MINIMUM, "8"), 2))
    assert (
        "Largest size that can start now: none; kai.scheduler/batch-min-member 8 does not permit a smaller "
        "spec.parallelism than 8." in " ".join(text.split())
    )
    assert "fewer pods" not in text


def test_what_is_free_is_named_by_pool_and_queue_if_nothing_fits() -> None:
    found = _answer(_ray(), 1)
    assert found.free == (
        "pool h100: 8 of 32 GPUs, at most 8 on one node",
        "queue speech: 16 of 24 GPUs, its limit",
    )
    assert "Free now:\n  pool h100: 8 of 32 GPUs, at most 8 on one node\n" in fit_text(found)


@pytest.mark.parametrize("engine", ["kai", "volcano", "kueue"])
def test_engines_reason_for_the_smallest_size_is_given_if_it_differs(engine: str) -> None:
    written = job("train", "speech", 8, 8)
    found = _answer(written, 0, engine=engine)
    assert (found.size.largest, found.size.least) == (0, 1)
    assert found.size.reason
    text = " ".join(fit_text(found).split())
    assert (f"With spec.parallelism 1: {found.size.reason}" in text) is (found.size.reason != found.decision.reason)
