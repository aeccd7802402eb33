"""Short equivalents of each engine's compiled objects, for queues of equal guarantee in ten departments.

Each queue has a namespace of its name and, if the engine has queues, a queue object. GPUs beyond the guarantee may be
borrowed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

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


OBJECTS: Mapping[str, Callable[[int, int], Objects]] = {
    "kai": _kai, "native": _native, "kueue": _kueue, "volcano": _volcano, "ack": _ack,
}  # fmt: skip
"""Functions that create an engine's objects for a number of queues and GPUs."""


def classes() -> Objects:
    """Return the priority classes, which KAI Scheduler's chart installs."""
    values = (("train", 50), ("build-preemptible", 75))
    return [_made("scheduling.k8s.io/v1", "PriorityClass", name, value, key="value") for name, value in values]
