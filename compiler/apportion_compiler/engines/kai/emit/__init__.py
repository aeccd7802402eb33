"""KAI Scheduler: queues with quota, limit and weight per resource, reclaim between queues, preemption within.

Written for v0.17, based on commit d5bc503a (v0.17.0-9, 2026-08-07). Objects: `scheduling.run.ai/v2` Queue,
`kai.scheduler/v1` SchedulingShard, `kai.scheduler/v1alpha1` Topology, `scheduling.k8s.io/v1` PriorityClass, and
`admissionregistration.k8s.io/v1` ValidatingAdmissionPolicy for fields that KAI does not restrict.

https://github.com/kai-scheduler/KAI-Scheduler/tree/d5bc503a/docs; limitations: docs/backends/kai.md.
"""

from __future__ import annotations

from collections.abc import Mapping

from apportion_api.kai.names import INSTALLED_CLASSES, TOPOLOGY_API
from apportion_compiler.backends.admission.policies import workload_policies
from apportion_compiler.backends.capability import (
    NO_QUEUED_PROVISIONING,
    Backend,
    Capability,
    Condition,
    Feature,
    Lowered,
    Manifest,
    Native,
    Output,
    Unsupported,
)
from apportion_compiler.backends.largest_amounts import declared_beyond_largest
from apportion_compiler.backends.metadata import metadata
from apportion_compiler.backends.object_families import ADMISSION_KINDS
from apportion_compiler.backends.priority_classes import classes_to_make, priority_class
from apportion_compiler.engines.kai.emit.admission import engine_table
from apportion_compiler.engines.kai.emit.chart import (
    KUBERAY_VALUES_FILE,
    VALUES_FILE,
    chart_values,
    kuberay_values,
    node_labels,
)
from apportion_compiler.engines.kai.emit.queues import queues
from apportion_compiler.engines.kai.emit.shards import emitted_shards, scheduling_shard, shards_of
from apportion_compiler.ir.program import PriorityClass, Program, Topology
from apportion_compiler.kubernetes_names import object_name

_RECLAIMS_ALL_OR_NOTHING = (
    "a queue that exceeds its fair share of one resource cannot reclaim any other resource, even within its guarantee"
)
"""Source: KAI's CanReclaimResources, pkg/scheduler/plugins/proportion/reclaimable."""


def _counts_several_resources(program: Program) -> bool:
    declared = {name for queue in program.queues for name in (*queue.guaranteed, *queue.limit)}
    return len({name.partition("/")[0] for name in declared.difference(program.unmanaged)}) > 1


CAPABILITIES: Mapping[Feature, Capability] = {
    Feature.QUEUE_TREE: Native("Queue spec.parentQueue"),
    Feature.GUARANTEED: Lowered("Queue spec.resources.*.quota", _RECLAIMS_ALL_OR_NOTHING, _counts_several_resources),
    Feature.LIMIT: Native("Queue spec.resources.*.limit"),
    Feature.LIMIT_OVER_NAMESPACES: Native("Queue spec.resources.*.limit"),
    Feature.LENDING_LIMIT: Unsupported(
        "AP501",
        "an idle guarantee is lent in full and reclaimed on demand",
        "remove `lending_limit`, or lower the queue's guarantee",
    ),
    Feature.OVER_QUOTA_WEIGHT: Lowered(
        "Queue spec.resources.*.overQuotaWeight", _RECLAIMS_ALL_OR_NOTHING, _counts_several_resources
    ),
    Feature.WEIGHT_PER_RESOURCE: Lowered(
        "Queue spec.resources.*.overQuotaWeight", _RECLAIMS_ALL_OR_NOTHING, _counts_several_resources
    ),
    Feature.QUEUE_PRIORITY: Native("Queue spec.priority"),
    Feature.PREEMPT_MIN_RUNTIME: Native("Queue spec.preemptMinRuntime"),
    Feature.RECLAIM_MIN_RUNTIME: Native("Queue spec.reclaimMinRuntime"),
    Feature.GPU_MODEL_QUOTA: Lowered(
        "if the cluster has several models, a SchedulingShard and a Queue for each model",
        "each model's shard divides its own surplus, so a surplus of one model does not cover a shortage of another; "
        "a model's shard counts only GPUs, so cpu and memory amounts apply only to nodes without a counted model; a limit "
        "without a model applies to each model separately; a workload cannot span models",
    ),
    Feature.MIXED_GPU_COUNTING: Unsupported(
        "AP513",
        "each GPU model has its own shard and quotas, so a guarantee must specify the model",
        "set `gpu` to a mapping from GPU model to number of GPUs",
    ),
    Feature.EXTENDED_RESOURCES: Unsupported(
        "AP502",
        "queues count only cpu, memory and GPUs",
        "remove the resource from the queue, and limit it with your own ResourceQuota",
    ),
    Feature.GPU_SHARING: Lowered("chart value global.gpuSharing, and an admission policy for each namespace", ""),
    Feature.USER_LIMITS: Unsupported(
        "AP503", "queues do not support per-user limits", "remove `users`, or declare a queue for each user"
    ),
    Feature.PRIORITY_CLASSES: Native("PriorityClass"),
    Feature.PREEMPTIBILITY: Lowered(
        "label kai.scheduler/preemptibility, which the admission policies require if the class's value would imply "
        "the opposite",
        "",
    ),
    Feature.ALLOWED_CLASSES: Lowered("admission policies on workloads and on the PodGroups that KAI schedules", ""),
    Feature.ALLOWED_POOLS: Unsupported(
        "AP504",
        "queues cannot be restricted to node pools; taint the pools instead",
        "remove `pools`, and taint the pool so that only permitted workloads run there",
    ),
    Feature.NAMESPACES: Lowered("admission policies that restrict a namespace to its queue", ""),
    Feature.DEFAULT_QUEUE: Lowered(
        "workloads specify their queue",
        "KAI has no default queue per namespace: the admission policies reject workloads without a queue",
    ),
    Feature.PLACEMENT: Native("SchedulingShard spec.placementStrategy"),
    Feature.POOL_PLACEMENT: Lowered(
        "placementStrategy of the pool's shard",
        "if pools in the same shard set different placements, the cluster's placement applies to all of them",
    ),
    Feature.TOPOLOGY: Native("Topology spec.levels"),
    Feature.QUEUED_PROVISIONING: NO_QUEUED_PROVISIONING,
}


def emit(program: Program) -> Output:
    """Return the objects of one cluster in apply order, and the Helm values that they require."""
    shards = shards_of(program)
    emitted = emitted_shards(program, shards)
    own_classes = _takes_over_classes(program)
    return Output(
        (
            *(
                _priority_class(program, cls)
                for cls in classes_to_make(program)
                if own_classes or not cls.installed_by_engine
            ),
            *(_topology(program, topology) for topology in program.topologies),
            *(scheduling_shard(program, shard) for shard in emitted),
            *queues(program, shards),
            *workload_policies(program, engine_table(program)),
        ),
        (
            chart_values(program, emitted, own_classes=own_classes),
            kuberay_values(program),
            *node_labels(program, shards),
        ),
    )


def _takes_over_classes(program: Program) -> bool:
    """Return whether the chart must not install its classes: a queue uses them, or the policy redefines one."""
    return program.kai.emit_installed_priority_classes or any(
        cls.name in INSTALLED_CLASSES and not cls.installed_by_engine for cls in program.priority_classes
    )


def _priority_class(program: Program, cls: PriorityClass) -> Manifest:
    # KAI reads only the value; the preemption policy applies to kube-scheduler, which schedules pods outside the
    # queues.
    return priority_class(program, cls, "PreemptLowerPriority")


def _topology(program: Program, topology: Topology) -> Manifest:
    # Workloads name the topology, so its name is the author's. Levels are immutable: other levels require another name.
    return {
        "apiVersion": TOPOLOGY_API,
        "kind": "Topology",
        "metadata": metadata(program, object_name(topology.name), topology.source),
        "spec": {"levels": [{"nodeLabel": level} for level in topology.levels]},
    }


CONDITIONS = (
    Condition(
        VALUES_FILE,
        "is merged into KAI's Helm values",
        "KAI does not bind pods that request a fraction of a GPU unless `global.gpuSharing` is true; each upgrade "
        "replaces the policy's objects with the chart's default shard, default queue and priority classes",
        (Feature.GPU_SHARING, Feature.PRIORITY_CLASSES, Feature.PLACEMENT, Feature.POOL_PLACEMENT),
    ),
    Condition(
        KUBERAY_VALUES_FILE,
        "is merged into KubeRay's Helm values, if KubeRay runs on the cluster",
        "KubeRay does not set the scheduler and gang on RayCluster and RayJob pods, so the admission policies reject them",
        (Feature.NAMESPACES,),
    ),
)
"""KAI's configuration on which the table depends."""

KINDS = ("PriorityClass", "Topology", "SchedulingShard", "Queue", *ADMISSION_KINDS)
"""The kinds of its objects, in apply order."""

BACKEND = Backend("kai", CAPABILITIES, emit, KINDS, declared_beyond_largest, conditions=CONDITIONS)
