"""Node objects of pools, and changes of nodes."""

from __future__ import annotations

from typing import Any

from apportion_api.kubernetes.names import GPU_PRODUCT_LABEL, HOSTNAME_LABEL
from apportion_runtime.sim.api.cluster_state import ClusterState
from apportion_runtime.sim.api.object_store import Manifest
from apportion_runtime.sim.scenario.format import Pool

POOL_LABEL = "apportion.dev/node-pool"
_MODEL_LABELS = (
    "apportion.dev/gpu-model",
    "cloud.google.com/gke-accelerator",
    "aliyun.accelerator/nvidia_name",
    GPU_PRODUCT_LABEL,
)
"""Labels with a node's GPU model, by precedence: Apportion's, the providers', that of NVIDIA's device plugin."""


def node_name(pool: Pool, number: int) -> str:
    """Return the name of a node of a pool; zero-padded numbers keep names in order."""
    return f"{pool.name}-{number:04}"


def node_manifest(pool: Pool, name: str) -> dict[str, Any]:
    """Return a ready node of a pool."""
    shape = pool.shape
    labels = {HOSTNAME_LABEL: name, POOL_LABEL: pool.name, **shape.labels}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": [dict(taint) for taint in shape.taints]} if shape.taints else {},
        "status": {"allocatable": dict(shape.allocatable), "conditions": _conditions(ready=True)},
    }


def _conditions(*, ready: bool) -> list[dict[str, str]]:
    return [{"type": "Ready", "status": "True" if ready else "Unknown"}]


def add_node(cluster_state: ClusterState, made: Manifest) -> None:
    """Add a node."""
    cluster_state.records.put_node(cluster_state.store.create(made))
    labels = made["metadata"].get("labels") or {}
    cluster_state.history.models[made["metadata"]["name"]] = next((labels[k] for k in _MODEL_LABELS if k in labels), "")
    note_capacity(cluster_state, made["metadata"]["name"])
    cluster_state.note("node-joined", node=made["metadata"]["name"])
    cluster_state.request_cycle()


def remove_node(cluster_state: ClusterState, name: str) -> None:
    """Remove a node."""
    cluster_state.store.delete("Node", "", name)
    cluster_state.records.drop_node(name)
    note_capacity(cluster_state, name)
    cluster_state.note("node-left", node=name)
    cluster_state.request_cycle()


def set_ready(cluster_state: ClusterState, name: str, *, ready: bool) -> None:
    """Mark a node as failed or recovered; a recovered node is schedulable again."""
    made = cluster_state.store.patch_status("Node", "", name, {"conditions": _conditions(ready=ready)})
    if ready and made["spec"].get("unschedulable"):
        made = cluster_state.store.update(
            {**made, "spec": {k: v for k, v in made["spec"].items() if k != "unschedulable"}}
        )
    cluster_state.records.put_node(made)
    note_capacity(cluster_state, name)
    cluster_state.note("node-joined" if ready else "node-failed", node=name)
    cluster_state.request_cycle()


def cordon(cluster_state: ClusterState, name: str) -> None:
    """Mark a node as unschedulable."""
    made = cluster_state.store.get("Node", "", name)
    assert made is not None
    cluster_state.records.put_node(
        cluster_state.store.update({**made, "spec": {**made["spec"], "unschedulable": True}})
    )
    note_capacity(cluster_state, name)
    cluster_state.note("node-drained", node=name)
    cluster_state.request_cycle()


def note_capacity(cluster_state: ClusterState, name: str) -> None:
    """Record the GPUs of schedulable nodes, and of the node that changed."""
    records, now_s = cluster_state.records, cluster_state.elapsed_s
    cluster_state.history.set_capacity(records.usable_gpus, now_s)
    cluster_state.history.set_machine(name, records.usable_gpus_of(name), now_s)
