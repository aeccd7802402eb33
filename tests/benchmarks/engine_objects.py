"""Short equivalents of each engine's compiled objects, for queues of equal guarantee in ten departments.

Each queue has a namespace of its name and, if the engine has queues, a queue object. GPUs beyond the guarantee may be
borrowed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from apportion_runtime.engines.detection import named
from apportion_runtime.sim.scenario.workload_labels import WorkloadLabels

_GPU = "nvidia.com/gpu"
Objects = list[dict[str, Any]]


def _made(api: str, kind: str, name: str, spec: Any, namespace: str = "", key: str = "spec") -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, key: spec}


def _kai(n_queues: int, gpus: int) -> Objects:
    def queue(name: str, parent: str, quota: float) -> dict[str, Any]:
        free = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
        resources = {"cpu": free, "memory": free, "gpu": {"quota": quota, "limit": -1, "overQuotaWeight": 1}}
        spec = {"resources": resources, **({"parentQueue": parent} if parent else {})}
        return _made("scheduling.run.ai/v2", "Queue", name, spec)

    n_departments = min(10, n_queues)
    departments = [queue(f"d{i}", "", gpus / n_departments) for i in range(n_departments)]
    return departments + [queue(f"q{i}", f"d{i % n_departments}", gpus / n_queues) for i in range(n_queues)]


def _native(n_queues: int, gpus: int) -> Objects:
    hard = {f"requests.{_GPU}": str(max(16, 8 * gpus // n_queues)), "count/jobs.batch": "5000"}
    return [_made("v1", "ResourceQuota", "gpus", {"hard": hard}, f"q{i}") for i in range(n_queues)]


def _kueue(n_queues: int, gpus: int) -> Objects:
    api = "kueue.x-k8s.io/v1beta2"
    made: Objects = [_made(api, "ResourceFlavor", "gpu-nodes", {})]
    own = max(1, gpus // n_queues)
    quotas = [
        {"name": name, "nominalQuota": amount} for name, amount in (("cpu", 10**6), ("memory", "100Ti"), (_GPU, own))
    ]
    groups = [{"coveredResources": ["cpu", "memory", _GPU], "flavors": [{"name": "gpu-nodes", "resources": quotas}]}]
    preemption = {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}
    n_departments = min(10, n_queues)
    made += [_made(api, "Cohort", f"d{i}", {"parentName": "org"}) for i in range(n_departments)]
    for i in range(n_queues):
        spec = {
            "cohortName": f"d{i % n_departments}", "namespaceSelector": {}, "preemption": preemption,
            "resourceGroups": groups,
        }  # fmt: skip
        made.append(_made(api, "ClusterQueue", f"q{i}", spec))
        made.append(_made(api, "LocalQueue", f"q{i}", {"clusterQueue": f"q{i}"}, f"q{i}"))
    priorities = (("train", 50), ("build-preemptible", 75))
    made += [_made(api, "WorkloadPriorityClass", name, value, key="value") for name, value in priorities]
    return made


_VOLCANO = """actions: "enqueue, allocate, backfill, preempt, reclaim"
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: predicates
  - name: capacity
    enableHierarchy: true
  - name: nodeorder
"""


def _volcano(n_queues: int, gpus: int) -> Objects:
    api, n_departments = "scheduling.volcano.sh/v1beta1", min(10, n_queues)
    data = {"volcano-scheduler.conf": _VOLCANO}
    made = [_made("v1", "ConfigMap", "volcano-scheduler-configmap", data, "volcano-system", "data")]
    made += [
        _made(api, "Queue", f"d{i}", {"parent": "root", "deserved": {_GPU: gpus // n_departments}})
        for i in range(n_departments)
    ]
    return made + [
        _made(api, "Queue", f"q{i}", {"parent": f"d{i % n_departments}", "deserved": {_GPU: max(1, gpus // n_queues)}})
        for i in range(n_queues)
    ]


def _ack(n_queues: int, gpus: int) -> Objects:
    n_departments, most = min(10, n_queues), {"cpu": 10**5, "memory": "100Ti", _GPU: gpus}

    def leaf(i: int) -> dict[str, Any]:
        return {"name": f"q{i}", "min": {_GPU: gpus // n_queues}, "max": most, "namespaces": [f"q{i}"]}

    departments = [
        {
            "name": f"d{d}", "min": {_GPU: gpus // n_departments}, "max": most,
            "children": [leaf(i) for i in range(d, n_queues, n_departments)],
        }
        for d in range(n_departments)
    ]  # fmt: skip
    root = {"name": "root", "min": most, "max": most, "children": departments}
    return [_made("scheduling.sigs.k8s.io/v1beta1", "ElasticQuotaTree", "tree", {"root": root}, "kube-system")]


_KOORD_SCHEDULER = """profiles:
- schedulerName: koord-scheduler
  pluginConfig:
  - name: ElasticQuota
    args: {enableCheckParentQuota: true, monitorAllQuotas: true, enableRuntimeQuota: true, enableMinQuotaScale: true}
  - name: NodeResourcesFitPlus
    args:
      resources:
        cpu: {type: LeastAllocated, weight: 1}
        memory: {type: LeastAllocated, weight: 1}
        nvidia.com/gpu: {type: MostAllocated, weight: 1}
  plugins:
    preFilter: {enabled: [{name: Coscheduling}, {name: ElasticQuota}]}
    postFilter: {disabled: [{name: "*"}], enabled: [{name: Coscheduling}, {name: ElasticQuota}]}
    preScore: {enabled: [{name: NodeResourcesFitPlus}]}
    score:
      disabled: [{name: NodeResourcesFit}]
      enabled: [{name: NodeResourcesFitPlus, weight: 10}, {name: NodeNUMAResource, weight: 1}]
    permit: {enabled: [{name: Coscheduling}]}
"""


def _koordinator(n_queues: int, gpus: int) -> Objects:
    prefix, n_departments = "quota.scheduling.koordinator.sh", min(10, n_queues)
    most, weights = {"cpu": 10**5, "memory": "100Ti", _GPU: gpus}, '{"cpu":"1","memory":"1","nvidia.com/gpu":"1"}'

    def quota(name: str, parent: str, guaranteed: int, namespaces: str = "[]") -> dict[str, Any]:
        spec = {"min": {"cpu": 0, "memory": 0, _GPU: guaranteed}, "max": most}
        made = _made("scheduling.sigs.k8s.io/v1alpha1", "ElasticQuota", name, spec, "koordinator-system")
        is_parent = str(namespaces == "[]").lower()
        labels = {"parent": parent, "is-parent": is_parent, "allow-lent-resource": "true"}
        annotations = {"shared-weight": weights, "namespaces": namespaces}
        for field, values in (("labels", labels), ("annotations", annotations)):
            made["metadata"][field] = {f"{prefix}/{key}": value for key, value in values.items()}
        return made

    data = {"koord-scheduler-config": _KOORD_SCHEDULER}
    made = [_made("v1", "ConfigMap", "koord-scheduler-config", data, "koordinator-system", "data")]
    made += [quota(f"d{i}", "koordinator-root-quota", gpus // n_departments) for i in range(n_departments)]
    return made + [quota(f"q{i}", f"d{i % n_departments}", gpus // n_queues, f'["q{i}"]') for i in range(n_queues)]


def _yunikorn(n_queues: int, gpus: int) -> Objects:
    n_departments, fence = min(10, n_queues), {"priority.policy": "fence"}

    def leaf(i: int) -> dict[str, Any]:
        resources = {"guaranteed": {_GPU: str(max(1, gpus // n_queues))}}
        return {"name": f"q{i}", "parent": False, "resources": resources, "properties": fence}

    departments = [
        {
            "name": f"d{d}", "parent": True, "properties": fence,
            "resources": {"guaranteed": {_GPU: str(gpus // n_departments)}, "max": {_GPU: str(gpus)}},
            "queues": [leaf(i) for i in range(d, n_queues, n_departments)],
        }
        for d in range(n_departments)
    ]  # fmt: skip
    root = {"name": "root", "parent": True, "submitacl": "*", "properties": fence, "queues": departments}
    partition = {
        "name": "default", "nodesortpolicy": {"type": "binpacking"}, "preemption": {"enabled": True},
        "placementrules": [{"name": "provided", "create": False}], "queues": [root],
    }  # fmt: skip
    data = {"queues.yaml": json.dumps({"partitions": [partition]})}
    return [_made("v1", "ConfigMap", "yunikorn-configs", data, "yunikorn", "data")]


def queue_name(engine: str, number: int, n_queues: int) -> str:
    """Return the name by which workloads refer to a queue."""
    return f"root.d{number % min(10, n_queues)}.q{number}" if engine == "yunikorn" else f"q{number}"


def workload_labels(engine: str) -> WorkloadLabels:
    """Return the labels of workloads; under YuniKorn, each Job is an application of its own."""
    labels = named(engine).workload_labels
    return replace(labels, finished=_application) if engine == "yunikorn" else labels


def _application(job: dict[str, Any]) -> dict[str, Any]:
    template = job["spec"]["template"]
    labels = {"yunikorn.apache.org/app-id": job["metadata"]["name"]}
    template = {**template, "metadata": {**template.get("metadata", {}), "labels": labels}}
    return {**job, "spec": {**job["spec"], "template": template}}


OBJECTS: Mapping[str, Callable[[int, int], Objects]] = {
    "kai": _kai, "native": _native, "kueue": _kueue, "volcano": _volcano, "ack": _ack, "koordinator": _koordinator,
    "yunikorn": _yunikorn,
}  # fmt: skip
"""Functions that create an engine's objects for a number of queues and GPUs."""


def classes() -> Objects:
    """Return the priority classes, which KAI Scheduler's chart installs."""
    values = (("train", 50), ("build-preemptible", 75))
    return [_made("scheduling.k8s.io/v1", "PriorityClass", name, value, key="value") for name, value in values]
