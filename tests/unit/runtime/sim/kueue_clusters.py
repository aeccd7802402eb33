"""Small clusters under Kueue, and their histories."""

from __future__ import annotations

from typing import Any

import yaml

from apportion_runtime.engines.kueue.engine import Kueue
from apportion_runtime.engines.kueue.model import MODEL as KUEUE
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.history import Fact, History
from apportion_runtime.sim.scenario.reader import read_scenario

Made = dict[str, Any]


GPU = "nvidia.com/gpu"


API = "kueue.x-k8s.io/v1beta2"


NODES = "nodes: [{pool: n, count: 4, gpus: 2, cpu: 16, memory: 64Gi}]\n"


def object_of(kind: str, name: str, spec: Made, namespace: str = "", api: str = API) -> Made:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}


def groups_of(gpus: int, borrowing: int | None = None) -> list[Made]:
    quota: Made = {"name": GPU, "nominalQuota": gpus}
    if borrowing is not None:
        quota["borrowingLimit"] = borrowing
    others = [{"name": "cpu", "nominalQuota": 1000}, {"name": "memory", "nominalQuota": "1Ti"}]
    return [
        {"coveredResources": ["cpu", "memory"], "flavors": [{"name": "any", "resources": others}]},
        {"coveredResources": [GPU], "flavors": [{"name": "gpu", "resources": [quota]}]},
    ]


def queue_of(name: str, gpus: int, **spec: Any) -> list[Made]:
    preemption = {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}
    own = {"cohortName": "all", "namespaceSelector": {}, "preemption": preemption, "resourceGroups": groups_of(gpus)}
    return [
        object_of("ClusterQueue", name, {**own, **spec}),
        object_of("LocalQueue", name, {"clusterQueue": name}, "ns"),
    ]


FLAVORS = [object_of("ResourceFlavor", name, {}) for name in ("any", "gpu")]


HIGH = {"apiVersion": API, "kind": "WorkloadPriorityClass", "metadata": {"name": "high"}, "value": 100}


def configuration_of(**values: Any) -> Made:
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "metadata": {"name": "configuration"},
        **values,
    }


def job_of(name: str, queue: str, at: str, pods: int, **more: Any) -> Made:
    own = {"name": name, "namespace": "ns", "queue": queue, "at": at, "pods": pods, "gpus": 1, "duration": "10m"}
    return {**own, **more}


def cluster_of(jobs: list[Made], *objects: Made, nodes: str = NODES, **more: Any) -> Cluster:
    text = nodes + yaml.safe_dump({"workloads": jobs, **more})
    return Cluster([*FLAVORS, *objects], read_scenario(text, lambda name: [], KUEUE.workload_labels), KUEUE)


def engine_of(cluster: Cluster) -> Kueue:
    assert isinstance(cluster.engine, Kueue)
    return cluster.engine


def facts_of(history: History, workload: str, *what: str) -> list[Fact]:
    return [fact for fact in history.facts if fact.workload == workload and fact.what in what]


def moments_of(history: History, workload: str, what: str) -> list[float]:
    return [fact.at_s for fact in facts_of(history, workload, what)]
