"""The state of the cluster as the API server holds it: what the invariants are checked on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .api_client import NODES, POD_GROUPS, QUEUES, ApiClient, Object

NAMESPACE = "faults"
GPU = "nvidia.com/gpu"
REPLICA_SETS = f"/apis/apps/v1/namespaces/{NAMESPACE}/replicasets"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
GROUPS = f"{POD_GROUPS}/namespaces/{NAMESPACE}/podgroups"


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod that has not ended; `is_ending` if it is being deleted."""

    name: str
    gang: str
    owner: str
    queue: str
    gpus: int
    node: str | None
    is_ending: bool


@dataclass(frozen=True, slots=True)
class ClusterState:
    """One reading.

    Attributes:
        pods: The pods of the tests.
        gpus: The GPUs of each node.
        minimums: The minimum members of each gang.
        replicas: The pods that each ReplicaSet must have.
        limits: The limits of the queues in GPUs, without those that have none.
        parents: The parent of each queue that has one.
    """

    pods: tuple[Pod, ...]
    gpus: Mapping[str, int]
    minimums: Mapping[str, int]
    replicas: Mapping[str, int]
    limits: Mapping[str, float]
    parents: Mapping[str, str]

    def pods_of(self, gang: str) -> tuple[Pod, ...]:
        return tuple(pod for pod in self.pods if pod.gang == gang)

    def bound(self) -> Iterator[Pod]:
        return (pod for pod in self.pods if pod.node is not None)

    def bound_gangs(self) -> set[str]:
        """Return the gangs that have a bound pod."""
        return {pod.gang for pod in self.bound()}


def read_state(api: ApiClient) -> ClusterState:
    """Read the cluster."""
    queues = api.items(QUEUES)
    specs = {_name(one): one["spec"] for one in queues}
    limits = {name: spec.get("resources", {}).get("gpu", {}).get("limit", -1) for name, spec in specs.items()}
    return ClusterState(
        pods=tuple(_pod(one) for one in api.items(PODS) if one["status"].get("phase") not in ("Succeeded", "Failed")),
        gpus={_name(one): int(one["status"]["allocatable"][GPU]) for one in api.items(NODES)},
        minimums={_name(one): one["spec"].get("minMember", 1) for one in api.items(GROUPS)},
        replicas={_name(one): one["spec"]["replicas"] for one in api.items(REPLICA_SETS)},
        limits={name: limit for name, limit in limits.items() if limit >= 0},
        parents={name: spec["parentQueue"] for name, spec in specs.items() if spec.get("parentQueue")},
    )


def _pod(one: Object) -> Pod:
    metadata, spec = one["metadata"], one["spec"]
    owners: Sequence[Object] = metadata.get("ownerReferences") or ()
    return Pod(
        name=metadata["name"],
        gang=metadata.get("annotations", {}).get("pod-group-name", ""),
        owner=owners[0]["name"] if owners else "",
        queue=metadata.get("labels", {}).get("kai.scheduler/queue", ""),
        gpus=sum(int(each["resources"].get("requests", {}).get(GPU, 0)) for each in spec["containers"]),
        node=spec.get("nodeName"),
        is_ending="deletionTimestamp" in metadata,
    )


def _name(one: Object) -> str:
    return str(one["metadata"]["name"])
