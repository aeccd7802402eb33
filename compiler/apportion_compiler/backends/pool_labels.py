"""The labels of a pool's nodes, for node pools, which set them, and for engines, which select by them.

Includes the labels set by the provider whose values follow from the policy: the machine type, the GPU, and the name of
a node pool on GKE. Zones and topology levels do not, or not for every node.
"""

from __future__ import annotations

from collections.abc import Mapping

from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.ir.gpu_models import counted_models
from apportion_compiler.ir.program import NodePool, Program
from apportion_compiler.kubernetes_names import gke_name, is_label_value, label_value
from apportion_compiler.machine_types import AWS_MACHINES, gke_machine
from apportion_compiler.pool_label_keys import (
    GKE_ACCELERATOR_LABEL,
    GKE_NODE_POOL_LABEL,
    GPU_MODEL_LABEL,
    INSTANCE_TYPE_LABEL,
    KARPENTER_GPU_LABEL,
    POOL_LABEL,
    is_kubernetes_label,
    is_provider_label,
)
from apportion_policy.providers import Ack, Eks, Gke, Karpenter


def node_labels(program: Program, pool: NodePool) -> Mapping[str, str]:
    """Return the labels of a pool's nodes: those declared or set, and those of the provider."""
    return {**declared_labels(program, pool), **provider_labels(pool)}


def declared_labels(program: Program, pool: NodePool) -> Mapping[str, str]:
    """Return the author's labels of a pool's nodes, overridden by those that engines select by.

    No labels can be set on pools that GKE creates for each request; for those, return the labels that GKE sets.
    """
    if is_made_on_request(pool):
        return pool_selector(pool)
    return {**pool.labels, **pool_selector(pool), **gpu_model_labels(pool), **_engine_labels(program, pool)}


def provider_labels(pool: NodePool) -> Mapping[str, str]:
    """Return the labels that the provider sets on every node of a pool, if the policy determines the value.

    Lingjun nodes of ACK, and nodes that GKE creates on request, may have a machine type other than the pool's.
    """
    name: str | None = None
    match pool.settings:
        case Gke():
            gpu, key = gke_accelerator(pool), GKE_ACCELERATOR_LABEL
            has_type = not is_made_on_request(pool)
            name = gke_name(pool.id) if has_type else None
        case Karpenter():
            gpu, key, has_type = _karpenter_gpu(pool), KARPENTER_GPU_LABEL, True
        case Eks():
            gpu, key, has_type = None, "", True
        case Ack():
            gpu, key, has_type = None, "", pool.settings.pool_type == "ess"
        case _:
            return {}
    known = {key: gpu, GKE_NODE_POOL_LABEL: name, INSTANCE_TYPE_LABEL: pool.machine_type if has_type else None}
    # Provider names are always valid label values, so the author's value is not one of them.
    return {key: value for key, value in known.items() if value is not None and is_label_value(value)}


def set_labels(program: Program, pool: NodePool) -> Mapping[str, str]:
    """Return the labels of a pool that node creation sets, without those of the provider and Kubernetes."""
    return {
        key: value
        for key, value in declared_labels(program, pool).items()
        if not is_provider_label(pool.provider, key) and not is_kubernetes_label(key)
    }


def pool_selector(pool: NodePool) -> Mapping[str, str]:
    """Return the label that exactly the nodes of a pool have."""
    if is_made_on_request(pool):
        accelerator = gke_accelerator(pool)
        return {} if accelerator is None else {GKE_ACCELERATOR_LABEL: accelerator}
    return {POOL_LABEL: label_value(pool.id)}


def gpu_model_labels(pool: NodePool) -> Mapping[str, str]:
    """Return the label of the pool's GPU model; empty for a pool without GPUs."""
    return {} if pool.gpu_model is None else {GPU_MODEL_LABEL: label_value(pool.gpu_model)}


def is_made_on_request(pool: NodePool) -> bool:
    """Return whether GKE creates the node pools by node auto-provisioning."""
    return isinstance(pool.settings, Gke) and pool.settings.node_auto_provisioning


def gke_accelerator(pool: NodePool) -> str | None:
    """Return GKE's name for a pool's GPUs: the author's, else that of the machine type; None if neither is known."""
    machine = None if pool.machine_type is None else gke_machine(pool.machine_type)
    known = None if machine is None else machine.accelerator
    return (pool.accelerator_name or known) if pool.n_gpus else None


def _karpenter_gpu(pool: NodePool) -> str | None:
    """Return EC2's name for a pool's GPUs: that of the machine type, else the name that the NodePool requires."""
    if not pool.n_gpus:
        return None
    if pool.machine_type is None:
        return pool.accelerator_name or pool.gpu_model
    machine = AWS_MACHINES.get(pool.machine_type)
    return None if machine is None else machine.accelerator


def _engine_labels(program: Program, pool: NodePool) -> Mapping[str, str]:
    label = TRAITS[program.engine].node_label
    if label is None:
        return {}
    if label.value == "pool":
        return {label.key: label_value(pool.id)}
    return {label.key: str(pool.gpu_model)} if pool.gpu_model in counted_models(program) else {}
