"""Selection of a workload's queue, namespace, class, plan and GPU model."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from apportion_compiler.alternatives import alternatives
from apportion_compiler.backends.partitions import partitions_of, queue_names
from apportion_compiler.bindings.binding import EngineBinding
from apportion_compiler.bindings.errors import BindingError
from apportion_compiler.ir.program import PriorityClass, Program, ProvisioningPlan, Queue


def leaf(program: Program, id_: str) -> Queue:
    """Return a leaf queue.

    Raises:
        BindingError: If there is no such queue, or it has children.
    """
    queues = {queue.id: queue for queue in program.queues}
    if id_ not in queues:
        raise BindingError(f"queue {id_} does not exist{instead(id_, queues)}")
    queue = queues[id_]
    if not queue.is_leaf:
        leaves = [q.id for q in program.queues if q.is_leaf and id_ in q.path]
        raise BindingError(
            f"queue {id_} has child queues and cannot run workloads; use one of its leaves: {some(leaves)}"
        )
    return queue


def namespace_in(queue: Queue, wanted: str | None) -> str:
    """Return the namespace of the workload: by default, the queue's first namespace in the policy.

    Raises:
        BindingError: If the queue has no namespace, or not the requested one.
    """
    if not queue.namespaces:
        raise BindingError(f"queue {queue.id} has no namespace, so it cannot run workloads; add one in the policy")
    if wanted is None:
        return queue.first_namespace or queue.namespaces[0]
    if wanted not in queue.namespaces:
        raise BindingError(
            f"namespace {wanted} does not belong to queue {queue.id}, whose namespaces are {some(queue.namespaces)}"
        )
    return wanted


def class_in(program: Program, queue: Queue, wanted: str | None, *, serves: bool) -> PriorityClass | None:
    """Return the priority class of the workload.

    By default, the policy's default class if the queue may use it; otherwise the highest that the queue may use for
    serving workloads, and the lowest for those that run to completion. None if the policy has no classes.

    Raises:
        BindingError: If the queue may not use the class.
    """
    allowed = [cls for cls in program.priority_classes if cls.name in queue.priority_classes]
    if wanted is not None:
        for cls in allowed:
            if cls.name == wanted:
                return cls
        known = [cls.name for cls in allowed]
        raise BindingError(f"queue {queue.id} cannot use priority class {wanted}{instead(wanted, known)}")
    if not allowed:
        if program.priority_classes:
            raise BindingError(f"queue {queue.id} cannot use any priority class, so it cannot run workloads")
        return None
    for cls in allowed:
        if cls.global_default:
            return cls
    return max(allowed, key=lambda cls: cls.value) if serves else min(allowed, key=lambda cls: cls.value)


def plan_in(program: Program, queue: Queue, wanted: str | None) -> ProvisioningPlan | None:
    """Return the requested provisioning plan.

    Raises:
        BindingError: If there is no such plan, or the queue may not use any of its pools.
    """
    if wanted is None:
        return None
    plans = {plan.id: plan for plan in program.plans}
    if wanted not in plans:
        raise BindingError(f"no node pool in the cluster uses provisioning plan {wanted}{instead(wanted, plans)}")
    if not any(pool.plan == wanted and pool.id in queue.pools for pool in program.pools):
        raise BindingError(f"queue {queue.id} cannot use any pool with provisioning plan {wanted}")
    return plans[wanted]


def named_queue(
    program: Program, queue: Queue, engine: EngineBinding, *, model: str | None, with_gpus: bool
) -> tuple[str, str | None]:
    """Return the queue name that a workload sets, and the GPU model of its partition.

    Args:
        program: The cluster.
        queue: A leaf.
        engine: The cluster's engine.
        model: The requested GPU model.
        with_gpus: Whether the workload requests GPUs; one without GPUs belongs to the partition without a model.

    Raises:
        BindingError: If the cluster is partitioned by GPU model and the model of the workload is ambiguous.
    """
    parts = partitions_of(program)
    if len(parts) == 1:
        return engine.workload_queue(program, queue) or "", None
    names = {p.model: n[queue.id] for p, n in zip(parts, queue_names(program, parts), strict=True) if queue.id in n}
    models = [name for name in names if name is not None]
    if not with_gpus:
        return names[None], None
    if model is None and len(models) > 1:
        raise BindingError(
            f"queue {queue.id} has separate quotas for several GPU models: choose one with --gpu-model "
            f"{' or '.join(models)}"
        )
    chosen = models[0] if model is None and models else model
    if chosen not in models:
        asked = "GPUs of a model that has its own quota" if chosen is None else f"{chosen} GPUs"
        raise BindingError(f"queue {queue.id} cannot use any pool with {asked}; {alternatives(models)}")
    return names[chosen], chosen


def instead(name: str, known: Iterable[str]) -> str:
    """Return the end of a message: a similar valid name, or the valid names."""
    names = list(known)
    close = get_close_matches(name, names, n=1)
    return f"; did you mean {close[0]}?" if close else f"; {alternatives(names)}"


def some(names: Iterable[str]) -> str:
    """Return the first of many names."""
    listed = list(names)
    shown = ", ".join(listed[:8])
    return f"{shown} and {len(listed) - 8} more" if len(listed) > 8 else shown or "none"
