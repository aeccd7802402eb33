"""Volcano: a tree of queues under the capacity plugin, with reclaim between queues and preemption within.

Written for v1.16, based on commit ed72c7c81 (v1.16.0-alpha.1-42, 2026-08-20). Objects: `scheduling.volcano.sh/v1beta1`
Queue, the ConfigMaps of Volcano's scheduler and controller, `scheduling.k8s.io/v1` PriorityClass, and
`admissionregistration.k8s.io/v1` ValidatingAdmissionPolicy for fields that Volcano does not restrict.

https://github.com/volcano-sh/volcano/tree/ed72c7c81/docs; limitations: docs/backends/volcano.md. Updates that Volcano's
webhook accepts at each step: `updates.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apportion_compiler.backends.admission.policies import workload_policies
from apportion_compiler.backends.capability import (
    NO_QUEUED_PROVISIONING,
    Backend,
    Capability,
    Condition,
    Feature,
    Lowered,
    Native,
    Output,
    Refusal,
    Unsupported,
)
from apportion_compiler.backends.object_families import ADMISSION_KINDS
from apportion_compiler.backends.priority_classes import classes_to_make, priority_class
from apportion_compiler.engines.volcano.emit.admission import engine_table
from apportion_compiler.engines.volcano.emit.bounds import beyond_engine
from apportion_compiler.engines.volcano.emit.chart import KUBERAY_VALUES_FILE, VALUES_FILE, artifacts
from apportion_compiler.engines.volcano.emit.queues import queues
from apportion_compiler.engines.volcano.emit.scheduler import config_maps
from apportion_compiler.ir.program import Program

CAPABILITIES: Mapping[Feature, Capability] = {
    Feature.QUEUE_TREE: Native("Queue spec.parent"),
    Feature.GUARANTEED: Lowered(
        "Queue spec.deserved",
        "GPUs that a queue reclaims can go to another queue, so pods may be repeatedly evicted and restarted; terminating pods "
        "count as usage, so reclaim may push a queue from above its guarantee to below it; as long as running "
        "and enqueued jobs use all of a parent's limit, no other job under the parent can reclaim resources",
    ),
    Feature.LIMIT: Native("Queue spec.capability"),
    Feature.LIMIT_OVER_NAMESPACES: Native("Queue spec.capability"),
    Feature.LENDING_LIMIT: Lowered(
        "Queue spec.guarantee.resource: the guarantee minus the lending limit",
        "a top-level queue or one with an unlimited parent does not reserve this capacity: other queues can use it "
        "while it is idle, but cannot reclaim it while the queue uses it",
    ),
    Feature.OVER_QUOTA_WEIGHT: Lowered(
        "Queue spec.weight, an integer from 1 to 65535",
        "the capacity plugin, the only one that supports parents and guarantees, ignores weights: surplus goes to the "
        "queue that uses the smallest share of its guarantee; fractional weights are rounded",
    ),
    Feature.WEIGHT_PER_RESOURCE: Unsupported(
        "AP515",
        "a queue has one `spec.weight` for all resources",
        "set a single weight; otherwise, the weight for GPUs is emitted",
    ),
    Feature.QUEUE_PRIORITY: Lowered(
        "Queue spec.priority",
        "Volcano orders all leaf queues in the tree by their own priority, so the priority of an inner queue has no "
        "effect, and a leaf's priority also applies beyond its siblings",
    ),
    Feature.PREEMPT_MIN_RUNTIME: Unsupported(
        "AP509",
        "queues have no minimum runtime; the cdp plugin reads a cool-down time from each workload",
        "remove `preempt_min_runtime`, or set the annotation volcano.sh/cooldown-time on workloads",
    ),
    Feature.RECLAIM_MIN_RUNTIME: Unsupported(
        "AP509",
        "queues have no minimum runtime; the cdp plugin reads a cool-down time from each workload",
        "remove `reclaim_min_runtime`, or set the annotation volcano.sh/cooldown-time on workloads",
    ),
    Feature.GPU_MODEL_QUOTA: Lowered(
        "if the cluster has several models, a queue tree for each model, restricted to the model's nodes by Queue "
        "spec.affinity.nodeGroupAffinity",
        "a surplus of one model does not cover a shortage of another; a model's queues count only GPUs, so cpu and memory "
        "amounts apply only to nodes without a counted model; a limit without a model applies to each model "
        "separately; a workload cannot span models",
    ),
    Feature.MIXED_GPU_COUNTING: Unsupported(
        "AP513",
        "each GPU model has its own queue tree, so a guarantee must specify the model",
        "set `gpu` to a mapping from GPU model to number of GPUs",
    ),
    Feature.EXTENDED_RESOURCES: Native("Queue spec.deserved and spec.capability, by resource name"),
    Feature.GPU_SHARING: Unsupported(
        "AP510",
        "GPU fractions are separate resources, volcano.sh/vgpu-*, which do not count towards a queue's GPUs",
        "remove `gpu_sharing` on this cluster, or run workloads that share GPUs on a cluster with KAI",
    ),
    Feature.USER_LIMITS: Unsupported(
        "AP503", "queues do not support per-user limits", "remove `users`, or declare a queue for each user"
    ),
    Feature.PRIORITY_CLASSES: Lowered(
        "PriorityClass",
        "GPUs freed by preemption can go to another queue; as long as running and enqueued jobs use up the "
        "limit of a queue or one of its ancestors, no other job is enqueued there, so a higher-priority job cannot preempt",
    ),
    Feature.PREEMPTIBILITY: Lowered(
        "label or annotation volcano.sh/preemptable, which the admission policies require for non-preemptible classes",
        "",
    ),
    Feature.ALLOWED_CLASSES: Lowered("admission policies on workloads and on PodGroups", ""),
    Feature.ALLOWED_POOLS: Lowered(
        "Queue spec.affinity.nodeGroupAffinity with the nodegroup plugin and the label volcano.sh/nodegroup-name on "
        "each pool's nodes",
        "",
    ),
    Feature.NAMESPACES: Lowered("admission policies that restrict a namespace to its queues", ""),
    Feature.DEFAULT_QUEUE: Lowered(
        "workloads specify their queue",
        "the admission policies require a queue on Jobs, RayClusters and pods, because Volcano would otherwise assign "
        "them to its default queue",
    ),
    Feature.PLACEMENT: Lowered(
        "the scheduler's resource-strategy-fit plugin; before Volcano 1.13, binpack and nodeorder", ""
    ),
    Feature.POOL_PLACEMENT: Unsupported(
        "AP516",
        "the scheduler configuration scores nodes in all pools the same way",
        "remove `placement` from the pool: the cluster's placement applies to all pools",
    ),
    Feature.TOPOLOGY: Lowered(
        "networkTopologyDiscovery in Volcano's controller, which creates HyperNodes from node labels, and the "
        "network-topology-aware plugin",
        "a workload that requires a level cannot preempt, and when it reclaims a guarantee, pods are evicted regardless of "
        "domains, possibly again and again; an elastic workload starts only if all of its pods fit into a domain; if no "
        "node has the labels of the level and of those below it, the requirement has no effect; label values must be "
        "unique in the cluster for each level; if the cluster has several topologies, pods may be placed in a domain of "
        "another one",
    ),
    Feature.QUEUED_PROVISIONING: NO_QUEUED_PROVISIONING,
}


def emit(program: Program) -> Output:
    """Return the objects of one cluster in apply order, and the Helm values that they require."""
    return Output(
        (
            # Volcano reads only the value; the preemption policy applies to kube-scheduler, which schedules pods
            # outside the queues.
            *(priority_class(program, cls, "PreemptLowerPriority") for cls in classes_to_make(program)),
            *config_maps(program),
            *queues(program),
            *workload_policies(program, engine_table(program)),
        ),
        tuple(artifacts(program)),
    )


def refusals(program: Program) -> Iterator[Refusal]:
    """Yield refusals of values that Volcano cannot represent."""
    return beyond_engine(program)


_KEPT_BY_THE_SCHEDULER = (
    Feature.QUEUE_TREE,
    Feature.GUARANTEED,
    Feature.LIMIT,
    Feature.LIMIT_OVER_NAMESPACES,
    Feature.LENDING_LIMIT,
    Feature.OVER_QUOTA_WEIGHT,
    Feature.QUEUE_PRIORITY,
    Feature.GPU_MODEL_QUOTA,
    Feature.EXTENDED_RESOURCES,
    Feature.PRIORITY_CLASSES,
    Feature.PREEMPTIBILITY,
    Feature.ALLOWED_POOLS,
    Feature.PLACEMENT,
    Feature.TOPOLOGY,
)
CONDITIONS = (
    Condition(
        VALUES_FILE,
        "is merged into Volcano's Helm values",
        "each chart upgrade overwrites the rendered ConfigMap with the chart's volcano-scheduler.conf, which lacks "
        "hierarchy, `deserved` and reclaim",
        _KEPT_BY_THE_SCHEDULER,
    ),
    Condition(
        KUBERAY_VALUES_FILE,
        "is merged into KubeRay's Helm values, if KubeRay runs on the cluster",
        "KubeRay does not set the scheduler and gang on RayCluster and RayJob pods, so the admission policies reject them",
        (Feature.NAMESPACES,),
    ),
)
"""Volcano's configuration on which the table depends."""

KINDS = ("PriorityClass", "ConfigMap", "Queue", *ADMISSION_KINDS)
"""The kinds of its objects, in apply order."""

BACKEND = Backend("volcano", CAPABILITIES, emit, KINDS, refusals, conditions=CONDITIONS)
