"""ProvisioningRequests that a user creates, on a cluster without Kueue."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from apportion_runtime.engines.ack.model import MODEL as ACK
from apportion_runtime.engines.base.model import Model
from apportion_runtime.engines.kai.model import MODEL as KAI
from apportion_runtime.engines.native.model import MODEL as NATIVE
from apportion_runtime.engines.volcano.model import MODEL as VOLCANO
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.history import History
from apportion_runtime.sim.scenario.reader import read_scenario

from .test_ack_engine import TREE
from .test_cluster import queue
from .test_volcano import config_map

_POOL = """
nodes:
  - pool: dws
    count: 0
    max: 9
    gpus: 2
    cpu: 16
    memory: 64Gi
    queued: {boot: 2m, open_requests: 2, capacity: [{zone: a, at: 30m, nodes: 4}]}
"""
_SPEC = {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1", "nvidia.com/gpu": "2"}}}]}


def _request(name: str, count: int = 2, **parameters: str) -> list[dict[str, Any]]:
    metadata = {"name": name, "namespace": "ns"}
    return [
        {"apiVersion": "v1", "kind": "PodTemplate", "metadata": metadata, "template": {"spec": _SPEC}},
        {
            "apiVersion": "autoscaling.x-k8s.io/v1",
            "kind": "ProvisioningRequest",
            "metadata": metadata,
            "spec": {
                "provisioningClassName": "queued-provisioning.gke.io",
                "parameters": parameters,
                "podSets": [{"count": count, "podTemplateRef": {"name": name}}],
            },
        },
    ]


def _job(name: str, request: str, pods: int, key: str = "autoscaling.x-k8s.io") -> dict[str, Any]:
    template = {"metadata": {"annotations": {f"{key}/consume-provisioning-request": request}}, "spec": _SPEC}
    spec = {"parallelism": pods, "completions": pods, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "ns"}, "spec": spec}


def _run(workloads: list[dict[str, Any]], events: list[dict[str, Any]], pool: str = _POOL) -> tuple[Cluster, History]:
    text = pool + yaml.safe_dump({"workloads": workloads, "events": events, "until": "4h"})
    cluster = Cluster([], read_scenario(text, lambda name: [], NATIVE.workload_labels), NATIVE)
    return cluster, cluster.run()


def _at(history: History, what: str, words: str = "") -> list[float]:
    return [fact.at_s for fact in history.facts if fact.what == what and words in fact.why]


@pytest.mark.parametrize("key", ["autoscaling.x-k8s.io", "cluster-autoscaler.kubernetes.io"])
def test_requested_nodes_are_reserved_for_their_pods(key: str) -> None:
    other = _job("other", "", 1)
    del other["spec"]["template"]["metadata"]
    works = [
        {"manifest": _job("mine", "mine", 2, key), "at": "1m", "duration": "30m"},
        {"manifest": other, "at": "40m"},
    ]
    _, history = _run(works, [{"at": "0s", "made": _request("mine")}])
    bound = {fact.pod: fact.at_s for fact in history.facts if fact.what == "bound"}
    assert bound == {"mine-0": 1920.0, "mine-1": 1920.0}
    (idle,) = set(_at(history, "node-left"))
    assert idle == 1920.0 + 2.0 + 1800.0 + 600.0, "ten minutes after the last pod"


def test_number_of_open_requests_is_limited() -> None:
    """The scenario lets two be open."""
    made = [each for name in ("one", "two", "three") for each in _request(name, 1)]
    cluster, history = _run([], [{"at": "0s", "made": made}])
    (failed,) = [fact.why for fact in history.facts if fact.what == "request-failed"]
    assert failed == "three: QuotaExceeded: Quota 'ACTIVE_RESIZE_REQUESTS' exceeded. Limit: 2.0 in region region."
    request = cluster.cluster_state.store.get("ProvisioningRequest", "ns", "three")
    assert request is not None
    (condition,) = request["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("Failed", "True", "QuotaExceeded")


def test_deleted_request_provisions_no_nodes() -> None:
    cancel = {"at": "31m", "deleted": {"kind": "ProvisioningRequest", "namespace": "ns", "name": "mine"}}
    _, history = _run([], [{"at": "0s", "made": _request("mine")}, cancel])
    assert _at(history, "request-accepted")
    assert not _at(history, "node-joined")


def test_unfulfilled_request_expires() -> None:
    pool = _POOL.replace("boot: 2m", "boot: 2m, patience: 1h")
    _, history = _run([], [{"at": "0s", "made": _request("mine", 9)}], pool)
    assert _at(history, "request-failed", "Expired: ProvisioningRequest is expired") == [3610.0]


def test_unsupported_provisioning_class_is_ignored() -> None:
    made = _request("mine")
    made[1]["spec"]["provisioningClassName"] = "check-capacity.autoscaling.x-k8s.io"
    cluster, history = _run([], [{"at": "0s", "made": made}])
    assert _at(history, "request-ignored", "class check-capacity.autoscaling.x-k8s.io is not simulated")
    request = cluster.cluster_state.store.get("ProvisioningRequest", "ns", "mine")
    assert request is not None
    assert "status" not in request


@pytest.mark.parametrize(("gpus", "n_bound"), [("2", 2), ("1", 1)])
def test_nodes_are_counted_without_regard_to_anti_affinity(gpus: str, n_bound: int) -> None:
    """Two pods with one GPU each get one node, on which the second finds no place."""
    apart = {"labelSelector": {"matchLabels": {"app": "apart"}}, "topologyKey": "kubernetes.io/hostname"}
    spec = {
        "containers": [{"name": "main", "resources": {"requests": {"cpu": "1", "nvidia.com/gpu": gpus}}}],
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}},
    }
    template, request = _request("mine")
    job = _job("mine", "mine", 2)
    job["spec"]["template"]["spec"] = template["template"]["spec"] = spec
    job["spec"]["template"]["metadata"]["labels"] = {"app": "apart"}
    _, history = _run([{"manifest": job, "duration": "3h"}], [{"at": "0s", "made": [template, request]}])
    assert len(_at(history, "request-provisioned")) == 1
    assert len([at for at in _at(history, "bound") if at < 7200.0]) == n_bound


def test_kai_places_the_pods_of_a_request_on_its_nodes() -> None:
    job = _job("mine", "mine", 2)
    job["metadata"]["labels"] = job["spec"]["template"]["metadata"]["labels"] = {"kai.scheduler/queue": "a"}
    job["spec"]["template"]["spec"] = {**_SPEC, "schedulerName": "kai-scheduler"}
    text = _POOL + yaml.safe_dump(
        {
            "workloads": [{"manifest": job, "at": "1m", "duration": "30m"}],
            "events": [{"at": "0s", "made": _request("mine")}],
            "until": "4h",
        }
    )
    queues = (queue("top"), queue("a", "top", 4))
    history = Cluster(queues, read_scenario(text, lambda name: [], KAI.workload_labels), KAI).run()
    assert _at(history, "request-provisioned") == [1920.0]
    assert len(_at(history, "bound")) == 2
    assert _at(history, "node-left"), "they go when they are idle"


@pytest.mark.parametrize("model", [ACK, VOLCANO], ids=["ack", "volcano"])
def test_requests_are_fulfilled_under_every_engine(model: Model) -> None:
    text = _POOL + yaml.safe_dump({"events": [{"at": "0s", "made": _request("mine")}], "until": "4h"})
    history = Cluster(
        {"ack": [TREE], "volcano": [config_map()]}[model.name],
        read_scenario(text, lambda name: [], model.workload_labels),
        model,
    ).run()
    assert _at(history, "request-provisioned") == [1920.0]
