"""Placement of a workload: tolerations for its pools' taints, and a selector if not every pool is suitable."""

from __future__ import annotations

from collections.abc import Sequence

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_compiler.alternatives import alternatives
from apportion_compiler.backends.pool_labels import gpu_model_labels
from apportion_compiler.bindings.errors import BindingError
from apportion_compiler.ir.program import NodePool, Program, Queue, Taint
from apportion_compiler.kubernetes_names import label_value
from apportion_compiler.pool_label_keys import POOL_LABEL
from apportion_compiler.workload_shapes import Node, section

_ANY_GPU_TAINT = Taint(GPU_RESOURCE, None, "NoSchedule")
"""Taints that providers set on GPU nodes, for clusters whose pools are not in the policy."""


def placement(
    program: Program, queue: Queue, *, with_gpus: bool, model: str | None, plan: str | None, plans_are_asked: bool
) -> Node:
    """Return the fields of a pod's spec that direct it to the pools that it may use.

    Args:
        program: The cluster.
        queue: The queue, whose pools count.
        with_gpus: Whether the pods request GPUs.
        model: The requested GPU model.
        plan: The provisioning plan of the nodes.
        plans_are_asked: Whether the engine itself requests nodes by the pools' plans. If not, a pool with a plan has no
            nodes for workloads without one.

    Raises:
        BindingError: If the queue cannot use any pool with GPUs of the model.
    """
    if not program.pools:
        return {"tolerations": [_toleration(_ANY_GPU_TAINT)]} if with_gpus else {}
    alike = [pool for pool in program.pools if (pool.n_gpus > 0) is with_gpus]
    usable = [pool for pool in alike if pool.id in queue.pools and model in {None, pool.gpu_model}]
    if model is not None and with_gpus and not usable:
        models = {pool.gpu_model for pool in alike if pool.id in queue.pools and pool.gpu_model is not None}
        raise BindingError(f"queue {queue.id} cannot use any pool with {model} GPUs; {alternatives(sorted(models))}")
    if plan is not None:
        usable = [pool for pool in usable if pool.plan == plan]
    elif not plans_are_asked:
        usable = [pool for pool in usable if pool.plan is None] or usable
    # A shared or partitioned device is counted as several, none of which is a whole GPU.
    usable = [pool for pool in usable if pool.sharing is None] or usable
    fields = _selector(usable, alike) if plan is not None or len(usable) < len(alike) else {}
    taints = dict.fromkeys(taint for pool in usable for taint in pool.taints)
    if taints:
        fields["tolerations"] = [_toleration(taint) for taint in taints]
    return fields


def select_model(program: Program, queue: Queue, model: str, template: Node) -> None:
    """Let a pod template with GPUs select a model, on a cluster with several.

    Raises:
        BindingError: If the queue cannot use any pool with GPUs of the model, or the template selects another one.
    """
    fields = placement(program, queue, with_gpus=True, model=model, plan=None, plans_are_asked=True)
    wanted = {pool.gpu_model: gpu_model_labels(pool) for pool in program.pools if pool.gpu_model is not None}
    if "nodeSelector" not in fields or len(wanted) < 2:
        return
    selector = section(template, "spec", "nodeSelector")
    for key, value in wanted[model].items():
        if selector.setdefault(key, value) != value:
            raise BindingError(f"its nodeSelector has {key}: {selector[key]}, but --gpu-model is {model}")


def _selector(usable: Sequence[NodePool], alike: Sequence[NodePool]) -> Node:
    """Select the usable pools among similar ones: by GPU model if that distinguishes them, else by name.

    Kueue matches flavors by their label keys, and a flavor of several pools has only the model.
    """
    if not usable:
        return {}
    fields: Node = {}
    selector: Node = {}
    models = {pool.gpu_model for pool in usable}
    of_model = [pool for pool in alike if pool.gpu_model in models]
    if len(models) == 1 and len(of_model) < len(alike):
        selector.update(gpu_model_labels(usable[0]))
    if not selector or len(usable) < len(of_model):
        names: list[object] = [label_value(pool.id) for pool in usable]
        if len(names) == 1:
            selector[POOL_LABEL] = names[0]
        else:
            term: Node = {"matchExpressions": [{"key": POOL_LABEL, "operator": "In", "values": names}]}
            required: Node = {"nodeSelectorTerms": [term]}
            fields["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return {"nodeSelector": selector, **fields} if selector else fields


def _toleration(taint: Taint) -> Node:
    if taint.value is None:
        return {"key": taint.key, "operator": "Exists", "effect": taint.effect}
    return {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}
