"""Which labels the nodes of a pool carry: one place for node pools, which set them, and for engines, which select by them.

Labels that a provider sets of its own (`topology.kubernetes.io/zone`, `cloud.google.com/gke-nodepool`, levels of a
topology) are not among them: nobody but the provider may set those.
"""

from __future__ import annotations

from collections.abc import Mapping

from apportion_compiler.ir.gpu_models import counted_models
from apportion_compiler.ir.program import NodePool, Program
from apportion_compiler.machine_types import gke_machine
from apportion_compiler.naming import label_value
from apportion_compiler.pool_label_keys import (
    GKE_ACCELERATOR_LABEL,
    GPU_MODEL_LABEL,
    NODE_GROUP_LABEL,
    POOL_LABEL,
    SHARD_LABEL,
    is_kubernetes_label,
    is_provider_label,
)
from apportion_policy.providers import Gke


def node_labels(program: Program, pool: NodePool) -> Mapping[str, str]:
    """Return the labels of a pool's nodes: the author's, and over them those that engines select by.

    Of a pool that GKE makes for each request nobody sets labels: what is returned are those that GKE sets.
    """
    if is_made_on_request(pool):
        return pool_selector(pool)
    return {**pool.labels, **pool_selector(pool), **gpu_model_labels(pool), **_engine_labels(program, pool)}


def set_labels(program: Program, pool: NodePool) -> Mapping[str, str]:
    """Return what of a pool's labels is set when its nodes are made: the provider's and Kubernetes' own are not."""
    return {
        key: value
        for key, value in node_labels(program, pool).items()
        if not is_provider_label(pool.provider, key) and not is_kubernetes_label(key)
    }


def pool_selector(pool: NodePool) -> Mapping[str, str]:
    """Return the one label that all nodes of a pool carry, and no others."""
    if is_made_on_request(pool):
        accelerator = gke_accelerator(pool)
        return {} if accelerator is None else {GKE_ACCELERATOR_LABEL: accelerator}
    return {POOL_LABEL: label_value(pool.id)}


def gpu_model_labels(pool: NodePool) -> Mapping[str, str]:
    """Return the label of the pool's GPU model, none where it has no GPUs."""
    return {} if pool.gpu_model is None else {GPU_MODEL_LABEL: label_value(pool.gpu_model)}


def is_made_on_request(pool: NodePool) -> bool:
    """Tell whether GKE makes node pools for it by itself (node auto-provisioning)."""
    return isinstance(pool.settings, Gke) and pool.settings.node_auto_provisioning


def gke_accelerator(pool: NodePool) -> str | None:
    """Return GKE's word for a pool's GPUs: the author's, else that of the machine type; None where neither says it."""
    machine = None if pool.machine_type is None else gke_machine(pool.machine_type)
    known = None if machine is None else machine.accelerator
    return (pool.accelerator_name or known) if pool.n_gpus else None


def _engine_labels(program: Program, pool: NodePool) -> Mapping[str, str]:
    if program.engine == "kai" and pool.gpu_model in counted_models(program):
        # The value of partitionLabelValue; nodes of the default shard carry no such label.
        return {SHARD_LABEL: str(pool.gpu_model)}
    if program.engine == "volcano":
        return {NODE_GROUP_LABEL: label_value(pool.id)}
    return {}
