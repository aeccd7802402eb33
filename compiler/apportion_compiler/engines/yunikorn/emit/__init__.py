"""YuniKorn: a tree of queues in one ConfigMap, with a separate scheduler and preemption for guarantees.

Written for 1.8, based on core be3bb487 (2026-07-02) and k8shim 23b6b47f (2026-08-20). Objects: a ConfigMap with
`queues.yaml`, `scheduling.k8s.io/v1` PriorityClass, and `admissionregistration.k8s.io/v1` ValidatingAdmissionPolicy for
fields that YuniKorn does not restrict.

https://github.com/apache/yunikorn-core/tree/be3bb487/pkg/common/configs; limitations: docs/backends/yunikorn.md.
"""

from __future__ import annotations

from collections.abc import Mapping

from apportion_api.yunikorn.names import ALLOW_PREEMPTION_ANNOTATION
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
from apportion_compiler.backends.object_families import ADMISSION_KINDS
from apportion_compiler.backends.priority_classes import classes_to_make, priority_class
from apportion_compiler.backends.quota_tree import OWN_GUARANTEE_ALONE
from apportion_compiler.engines.yunikorn.emit.admission import admission_policies
from apportion_compiler.engines.yunikorn.emit.chart import KUBERAY_VALUES_FILE, VALUES_FILE, artifacts
from apportion_compiler.engines.yunikorn.emit.config_map import config_map
from apportion_compiler.engines.yunikorn.emit.refusals import refusals
from apportion_compiler.ir.program import PriorityClass, Program

_BY_GUARANTEE = "surplus goes to the queue that uses the smallest share of its guarantee; this cannot be configured"
_NO_WEIGHT = Unsupported(
    "AP507",
    _BY_GUARANTEE,
    "remove `over_quota_weight` on this cluster, or set guarantees in proportion to the weights",
)
_NO_RUNTIME = Unsupported(
    "AP509",
    "preemption.delay starts when the requesting pod is created, no matter how long the victims have been running",
    "remove the minimum runtime on this cluster",
)

CAPABILITIES: Mapping[Feature, Capability] = {
    Feature.QUEUE_TREE: Native("queues.yaml queues[].queues[]"),
    Feature.GUARANTEED: Lowered(
        "queues.yaml queues[].resources.guaranteed",
        f"a pod preempts only once, and another queue may get the freed capacity; {OWN_GUARANTEE_ALONE}",
    ),
    Feature.LIMIT: Native("queues.yaml queues[].resources.max"),
    Feature.LIMIT_OVER_NAMESPACES: Native("queues.yaml queues[].resources.max"),
    Feature.LENDING_LIMIT: Unsupported(
        "AP501",
        "an idle guarantee is lent in full and reclaimed by preemption on demand",
        "remove `lending_limit`, or lower the queue's guarantee",
    ),
    Feature.OVER_QUOTA_WEIGHT: _NO_WEIGHT,
    Feature.WEIGHT_PER_RESOURCE: _NO_WEIGHT,
    Feature.QUEUE_PRIORITY: Lowered(
        "queue properties `priority.policy: fence` and `priority.offset`, the rank among siblings, where 0 is the highest",
        "a queue with a higher priority is served first and may use its siblings' guarantees, which they regain by "
        "preemption; when surplus is reclaimed, the newest workloads are evicted first, regardless of their queue's priority",
    ),
    Feature.PREEMPT_MIN_RUNTIME: _NO_RUNTIME,
    Feature.RECLAIM_MIN_RUNTIME: _NO_RUNTIME,
    Feature.GPU_MODEL_QUOTA: Lowered(
        "nvidia.com/gpu, the sum over all models",
        "guarantees and limits do not distinguish between GPU models, because YuniKorn on Kubernetes supports only one node partition",
    ),
    Feature.MIXED_GPU_COUNTING: Lowered("nvidia.com/gpu, the sum over all models", ""),
    Feature.EXTENDED_RESOURCES: Native("queues.yaml queues[].resources, by resource name"),
    Feature.GPU_SHARING: Unsupported(
        "AP510",
        "queues count whole devices; device fractions are separate resources of the device plugin",
        "remove `gpu_sharing`, or limit the fractional resource with `extended`",
    ),
    Feature.USER_LIMITS: Lowered(
        "queues.yaml queues[].limits[].users, and YuniKorn's admission controller, which sets each pod's user",
        "`max_jobs` counts applications: all pods with the same application ID are one application; pods created by an "
        "operator such as KubeRay belong to the operator, so they all count toward one user",
    ),
    Feature.PRIORITY_CLASSES: Lowered(
        "PriorityClass: higher-priority workloads are scheduled first within their queue",
        "running workloads are never evicted for pending workloads in the same queue",
    ),
    Feature.PREEMPTIBILITY: Lowered(
        f"PriorityClass annotation {ALLOW_PREEMPTION_ANNOTATION}, and queue property `preemption.policy: disabled` on "
        "leaves without preemptible classes",
        "in other leaves, non-preemptible workloads are evicted last, but not protected",
    ),
    Feature.ALLOWED_CLASSES: Lowered("admission policies on workloads", ""),
    Feature.ALLOWED_POOLS: Unsupported(
        "AP504",
        "queues cannot be restricted to specific nodes; taint the pools instead",
        "remove `pools`, and taint the pool so that only permitted workloads run there",
    ),
    Feature.NAMESPACES: Lowered(
        "the `tag` placement rule with the namespace annotation namespace.parentqueue, and admission policies that "
        "isolate applications in different namespaces",
        "",
    ),
    Feature.DEFAULT_QUEUE: Lowered(
        "the `tag` placement rule with namespace.parentqueue: workloads do not need to specify a queue", ""
    ),
    Feature.PLACEMENT: Native("queues.yaml partitions[].nodesortpolicy.type"),
    Feature.POOL_PLACEMENT: Unsupported(
        "AP516",
        "partitions[].nodesortpolicy orders nodes in all pools the same way",
        "remove `placement` from the pool: the cluster's placement applies to all pools",
    ),
    Feature.TOPOLOGY: Unsupported(
        "AP511",
        "nodes cannot be grouped by network level; only pod affinity places pods close to each other",
        "remove the topology setting for this cluster, or set a required pod affinity on its workloads",
    ),
    Feature.QUEUED_PROVISIONING: NO_QUEUED_PROVISIONING,
}


def emit(program: Program) -> Output:
    """Return the objects of one cluster in apply order, and the Helm values that they require."""
    return Output(
        (
            *(_priority_class(program, cls) for cls in classes_to_make(program)),
            config_map(program),
            *admission_policies(program),
        ),
        artifacts(program),
    )


def _priority_class(program: Program, cls: PriorityClass) -> Manifest:
    # With `Never`, workloads of the class could not reclaim the guarantee of their queue.
    annotations = None if cls.preemptible else {ALLOW_PREEMPTION_ANNOTATION: "false"}
    return priority_class(program, cls, "PreemptLowerPriority", annotations=annotations)


CONDITIONS = (
    Condition(
        VALUES_FILE,
        "is merged into YuniKorn's Helm values",
        "without the admission controller, a pod's user is unknown; by default, YuniKorn schedules pods in all namespaces",
        (Feature.USER_LIMITS, Feature.NAMESPACES, Feature.DEFAULT_QUEUE),
    ),
    Condition(
        KUBERAY_VALUES_FILE,
        "is merged into KubeRay's Helm values, if KubeRay runs on the cluster",
        "KubeRay does not copy the queue and application labels to RayCluster and RayJob pods, so the admission "
        "policies reject them",
        (Feature.NAMESPACES,),
    ),
)
"""YuniKorn's configuration on which the table depends."""

KINDS = ("PriorityClass", "ConfigMap", *ADMISSION_KINDS)
"""The kinds of its objects, in apply order."""

BACKEND = Backend("yunikorn", CAPABILITIES, emit, KINDS, refusals, conditions=CONDITIONS)
