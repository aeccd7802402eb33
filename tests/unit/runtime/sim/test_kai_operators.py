"""Behaviour of workload operators under KAI Scheduler beyond their templates."""

from __future__ import annotations

from typing import Any

from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.history import History
from apportion_runtime.sim.scenario.reader import read_scenario

_FREE = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
_QUEUE = {
    "apiVersion": "scheduling.run.ai/v2",
    "kind": "Queue",
    "metadata": {"name": "q"},
    "spec": {"resources": {"cpu": _FREE, "memory": _FREE, "gpu": _FREE}},
}
_POD = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]}}
_RAY = {"headGroupSpec": {"template": _POD}, "workerGroupSpecs": [{"groupName": "w", "replicas": 2, "template": _POD}]}


def _run(manifest: dict[str, Any]) -> History:
    made = {**manifest, "metadata": {"name": "w", "namespace": "ns", "labels": {"kai.scheduler/queue": "q"}}}
    scenario = read_scenario(
        "nodes: [{pool: ordinary, cpu: 8}]\nworkloads: [{file: w.yaml, duration: 60s}]", lambda name: [made]
    )
    return Cluster([_QUEUE], scenario).run()


def test_ray_pods_get_the_configured_scheduler() -> None:
    history = _run({"apiVersion": "ray.io/v1", "kind": "RayCluster", "spec": _RAY})
    assert [fact.at_s for fact in history.facts if fact.what == "bound"] == [0.0] * 3


def test_ray_job_with_submitter_pod_is_refused() -> None:
    history = _run({"apiVersion": "ray.io/v1", "kind": "RayJob", "spec": {"rayClusterSpec": _RAY}})
    assert history.workloads[0].outcome == "refused"
    assert "does not support RayJob with K8sJobMode" in history.workloads[0].why_waiting


def test_train_job_pods_get_the_configured_scheduler() -> None:
    spec = {"trainer": {"numNodes": 2, "resourcesPerNode": {"requests": {"cpu": "1"}}}}
    history = _run({"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "spec": spec})
    assert history.workloads[0].outcome == "succeeded"
