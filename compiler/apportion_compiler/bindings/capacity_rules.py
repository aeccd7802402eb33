"""Workloads that never start on a cluster: they exceed a limit, a machine or all machines.

The engines' rules evaluate objects alone; only the policy has the size and number of machines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_compiler.backends.pool_labels import node_labels
from apportion_compiler.bindings import ENGINES
from apportion_compiler.bindings.binding import Selection
from apportion_compiler.bindings.bounds import beyond_bounds, beyond_machine
from apportion_compiler.bindings.errors import BindingError
from apportion_compiler.bindings.gangs import starts_together
from apportion_compiler.bindings.requests import pod_requests
from apportion_compiler.engine_rules.verdict import Effect, Manifest, Verdict
from apportion_compiler.engine_rules.workload_rules.workload_context import Workload, context_of, template_field
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.ir.program import NodePool, PriorityClass, Program, Queue
from apportion_compiler.kubernetes_names import object_name
from apportion_compiler.plain_objects import mapping, text
from apportion_compiler.pool_label_keys import (
    GKE_ACCELERATOR_LABEL,
    GKE_NODE_POOL_LABEL,
    GPU_MODEL_LABEL,
    INSTANCE_TYPE_LABEL,
    KARPENTER_GPU_LABEL,
    POOL_LABEL,
)
from apportion_compiler.workload_shapes import PodSet

_OF_PROVIDERS = (GKE_ACCELERATOR_LABEL, GKE_NODE_POOL_LABEL, KARPENTER_GPU_LABEL, INSTANCE_TYPE_LABEL)
_SELECTED_BY = (GPU_MODEL_LABEL, POOL_LABEL, *_OF_PROVIDERS)


def capacity_verdicts(program: Program, manifests: Sequence[Manifest]) -> Iterator[Verdict]:
    """Yield verdicts for workloads in the namespaces of a cluster's queues that would stay pending."""
    queues = {namespace: queue for queue in program.queues for namespace in queue.namespaces}
    for workload in context_of(program.engine, manifests, ()).workloads:
        queue = queues.get(workload.namespace)
        if queue is None:
            continue
        yield from _of_another_engine(program, queue, workload)
        try:
            yield from _of_pods(program, queue, workload)
            yield from _of_workload(program, queue, workload)
        except BindingError:
            # An invalid quantity is reported by the rules on devices and by the API server's schema.
            continue


def _of_another_engine(program: Program, queue: Queue, workload: Workload) -> Iterator[Verdict]:
    others = workload.other_engines(program.engine)
    if not others:
        return
    # Pods of a scheduler that is not installed are never placed, and pods without a scheduler name bypass the engine's
    # quotas.
    title = TRAITS[program.engine].title
    effect = Effect.PENDING if workload.names_scheduler_of(others) else Effect.IGNORED
    yield workload.verdict(
        effect, "", "Invalid",
        f"it references a queue or scheduler of {' and '.join(TRAITS[name].title for name in others)}, but cluster "
        f"{program.cluster} runs {title}",
        f"convert it to {title} with `apportion bind {queue.id} --from FILE`",
    )  # fmt: skip


def _of_pods(program: Program, queue: Queue, workload: Workload) -> Iterator[Verdict]:
    pools = [pool for pool in program.pools if pool.id in queue.pools]
    for pods in workload.sets:
        if not pods.count:
            continue
        selected = list(_selected(program, pools, pods))
        if program.pools and pools and not selected:
            key, value = _unmet(program, pools, pods)
            known = sorted({node_labels(program, pool).get(key, "") for pool in pools} - {""})
            yield workload.pending(
                template_field(pods, "spec", f"nodeSelector[{key}]"), "NotFound",
                f"no node pool that queue {queue.id} may use has {key}: {value}",
                f"select one of {', '.join(known)}" if known else "remove the selector",
            )  # fmt: skip
            continue
        yield from ENGINES[program.engine].misplaced(
            Selection(program, queue, workload, pods, _selector(pods), selected)
        )
        for resource, clause in beyond_machine(queue, selected, pod_requests(pods.spec)):
            field = template_field(pods, "spec", f"containers[0].resources.requests[{resource}]")
            yield workload.pending(field, "TooMany", f"it {clause}", "request less per pod")


def _of_workload(program: Program, queue: Queue, workload: Workload) -> Iterator[Verdict]:
    model = _model(program, workload)
    together = starts_together(program.engine, workload)
    manifests = (dict(workload.manifest),)
    for excess in beyond_bounds(program, queue, _class(program, workload), model, manifests, together=together):
        if excess.waits and "in one pod" not in excess.clause:
            yield workload.pending(
                "", "Exceeded", f"it {excess.clause}", "request less, or raise the limit in the policy"
            )
        elif not excess.waits:
            yield workload.ignored(
                "", "Exceeded", f"it {excess.clause}, so its pods can never all run at the same time",
                "request less, or raise the limit in the policy",
            )  # fmt: skip


def _selected(program: Program, pools: Sequence[NodePool], pods: PodSet) -> Iterator[NodePool]:
    selector = _selector(pods)
    return (pool for pool in pools if all(_carries(program, pool, key, value) for key, value in selector))


def _carries(program: Program, pool: NodePool, key: str, value: str) -> bool:
    # Nodes may have a provider's label that is not in the policy.
    return node_labels(program, pool).get(key, value if key in _OF_PROVIDERS else None) == value


def _unmet(program: Program, pools: Sequence[NodePool], pods: PodSet) -> tuple[str, str]:
    """Return the part of a selector that no pool matches, alone or in combination with the part before it."""
    remaining = pools
    for key, value in (selector := _selector(pods)):
        if not any(_carries(program, pool, key, value) for pool in pools):
            return key, value
        remaining = [pool for pool in remaining if _carries(program, pool, key, value)]
        if not remaining:
            return key, value
    return selector[-1]


def _selector(pods: PodSet) -> list[tuple[str, str]]:
    selector = mapping(pods.spec, "nodeSelector")
    return [(key, str(selector[key])) for key in _SELECTED_BY if key in selector]


def _model(program: Program, workload: Workload) -> str | None:
    """Return the GPU model that all pods with GPUs select; None if they do not select exactly one."""
    models = {
        text(pods.spec, "nodeSelector", GPU_MODEL_LABEL)
        for pods in workload.sets
        if pod_requests(pods.spec).get(GPU_RESOURCE)
    }
    selected = models.pop() if len(models) == 1 else None
    return next((pool.gpu_model for pool in program.pools if selected and pool.gpu_model == selected), None)


def _class(program: Program, workload: Workload) -> PriorityClass | None:
    named = {text(pods.spec, "priorityClassName") for pods in workload.sets}
    return next((cls for cls in program.priority_classes if object_name(cls.name) in named), None)
