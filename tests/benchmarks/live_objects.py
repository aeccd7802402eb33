"""The objects of the live scheduler's benchmarks: nodes with sixteen GPUs, and gangs of eight pods of one GPU each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

NAMESPACE, SCHEDULER, GANG = "bench", "kai-scheduler", 8
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
_QUEUES = "/apis/scheduling.run.ai/v2/queues"
_GROUPS = f"/apis/scheduling.run.ai/v2alpha2/namespaces/{NAMESPACE}/podgroups"
_PARENT, _TEAM = "bench-all", "bench-team"
_GPU, _GPUS = "nvidia.com/gpu", 16
Object = dict[str, Any]
Request = tuple[str, Object]
"""The path at which an object is created, and the object."""


def setting() -> Iterator[Request]:
    """Yield the namespace, the priority class of training and the queues."""
    yield "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    # Every pod mounts it, KAI requires it, and the controller that publishes it does not run.
    made: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kube-root-ca.crt"}}
    yield f"/api/v1/namespaces/{NAMESPACE}/configmaps", made
    made = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "train"}, "value": 50}
    yield "/apis/scheduling.k8s.io/v1/priorityclasses", made
    free = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    resources = {"gpu": free, "cpu": free, "memory": free}
    for name, spec in ((_PARENT, {}), (_TEAM, {"parentQueue": _PARENT})):
        made = {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}}
        yield _QUEUES, {**made, "spec": {"resources": resources, **spec}}


def nodes(count: int) -> Iterator[Request]:
    """Yield nodes with their status, as a kubelet registers them."""
    amounts = {"cpu": "192", "memory": "2048Gi", _GPU: str(_GPUS), "pods": "110", "ephemeral-storage": "1Ti"}
    for number in range(count):
        name = f"node-{number:05}"
        labels = {
            "kubernetes.io/hostname": name,
            "kubernetes.io/arch": "amd64",
            "kubernetes.io/os": "linux",
            "topology.kubernetes.io/zone": f"zone-{number % 3}",
            "node.kubernetes.io/instance-type": "gpu-large",
            "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
        }
        conditions = [
            {"type": type_, "status": "True" if type_ == "Ready" else "False"}
            for type_ in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
        ]
        status = {"capacity": amounts, "allocatable": amounts, "conditions": conditions}
        metadata = {"name": name, "labels": labels}
        yield "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}


def gangs(n_pods: int) -> Iterator[Request]:
    """Yield pod groups and their pods, which are grouped already."""
    for number in range(n_pods // GANG):
        name = f"gang-{number:05}"
        yield _group(name, GANG)
        for member in range(GANG):
            yield PODS, pod(f"{name}-{member}", name)


def _group(name: str, n_pods: int) -> Request:
    """Return a pod group."""
    made = {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup"}
    metadata = {"name": name, "namespace": NAMESPACE}
    return _GROUPS, {**made, "metadata": metadata, "spec": {"minMember": n_pods, "queue": _TEAM}}


def pod(name: str, of_group: str | None = None) -> Object:
    """Return a pod with one GPU, and as many variables as a trainer has."""
    resources = {"requests": {"cpu": "8", "memory": "64Gi", _GPU: "1"}, "limits": {"memory": "64Gi", _GPU: "1"}}
    variables = [{"name": f"SETTING_{number}", "value": "x" * 20} for number in range(12)]
    metadata: Object = {
        "name": name,
        "namespace": NAMESPACE,
        "labels": {"kai.scheduler/queue": _TEAM, "app": "trainer"},
    }
    if of_group is not None:
        metadata["annotations"] = {"pod-group-name": of_group}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {
            "schedulerName": SCHEDULER,
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": "none", "resources": resources, "env": variables}],
            # No controller removes the taint that admission adds to each node.
            "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoSchedule"}],
        },
    }
