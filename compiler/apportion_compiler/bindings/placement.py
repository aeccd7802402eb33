"""On which nodes a workload may be: tolerations for its pools' taints, and a selector where not every pool will do."""

from __future__ import annotations

from collections.abc import Sequence

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_compiler.alternatives import alternatives
from apportion_compiler.backends.pool_labels import gpu_model_labels
from apportion_compiler.bindings.errors import BindingError
from apportion_compiler.ir.program import NodePool, Program, Queue, Taint
from apportion_compiler.kubernetes_names import label_value
from apportion_compiler.pool_label_keys import POOL_LABEL
from apportion_compiler.workload_shapes import Node

_ANY_GPU_TAINT = Taint(GPU_RESOURCE, None, "NoSchedule")
"""What providers put on GPU nodes, for clusters whose pools the policy does not declare."""


def placement(
    program: Program, queue: Queue, *, with_gpus: bool, model: str | None, plan: str | None, plans_are_asked: bool
) -> Node:
    """Return the fields of a pod's spec that bring it to the pools that it may use.

    Args:
        program: The cluster.
        queue: The queue, whose pools count.
        with_gpus: Whether the pods get GPUs.
        model: The GPU model that is wanted.
        plan: The provisioning plan by which nodes are asked for.
        plans_are_asked: Whether the engine asks for nodes by the pools' plans itself. Where it does not, a pool with a
            plan has no nodes for work that names none.

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
    # A device that is shared or cut up is counted as several, and what gets one of those has no whole GPU.
    usable = [pool for pool in usable if pool.sharing is None] or usable
    fields = _selector(usable, alike) if plan is not None or len(usable) < len(alike) else {}
    taints = dict.fromkeys(taint for pool in usable for taint in pool.taints)
    if taints:
        fields["tolerations"] = [_toleration(taint) for taint in taints]
    return fields


def _selector(usable: Sequence[NodePool], alike: Sequence[NodePool]) -> Node:
    """Select the usable pools among those alike: by their GPU model as far as that tells them apart, else by name.

    Kueue chooses among flavors by the keys that a flavor has, and one for several pools has the model alone.
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
