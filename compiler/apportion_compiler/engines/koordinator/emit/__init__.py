"""Koordinator: a tree of ElasticQuotas with a minimum, a maximum and shared weights, and trees for GPU models.

Written for v1.8, based on commit a7a1b76b (v1.8.0-61, 2026-07-24). Objects: `scheduling.sigs.k8s.io/v1alpha1`
ElasticQuota (not `scheduling.x-k8s.io`, which is scheduler-plugins'), `quota.koordinator.sh/v1alpha1`
ElasticQuotaProfile, `scheduling.koordinator.sh/v1alpha1` ClusterNetworkTopology, `scheduling.k8s.io/v1` PriorityClass,
and `admissionregistration.k8s.io/v1` ValidatingAdmissionPolicy for fields that Koordinator does not restrict.

https://github.com/koordinator-sh/koordinator/tree/a7a1b76b; limitations: docs/backends/koordinator.md.
"""

from __future__ import annotations

from collections.abc import Mapping

from apportion_api.koordinator.names import INSTALLED_CLASSES
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
    Unsupported,
)
from apportion_compiler.backends.object_families import ADMISSION_KINDS
from apportion_compiler.backends.priority_classes import classes_to_make, priority_class
from apportion_compiler.engines.koordinator.emit.admission import engine_table
from apportion_compiler.engines.koordinator.emit.config import CONFIG_FILE, VALUES_FILE, artifacts
from apportion_compiler.engines.koordinator.emit.quotas import quotas
from apportion_compiler.engines.koordinator.emit.refusals import refusals
from apportion_compiler.engines.koordinator.emit.topologies import topologies
from apportion_compiler.engines.koordinator.emit.trees import profiles, trees_of
from apportion_compiler.ir.program import Program
from apportion_policy.resources import CPU, MEMORY

_SHARED_WEIGHT = "ElasticQuota annotation quota.scheduling.koordinator.sh/shared-weight"
_REVOKES_IN_PART = (
    "a queue may keep more than its share of a device if it also runs pods that do not request the device, because Koordinator "
    "revokes the least important pods first, and stops at the first pod that does not request the device"
)


def _counts_devices(program: Program) -> bool:
    """Return whether a queue declares a resource other than cpu and memory, which not every pod requests."""
    return any({*queue.guaranteed, *queue.limit} - {CPU, MEMORY, *program.unmanaged} for queue in program.queues)


CAPABILITIES: Mapping[Feature, Capability] = {
    Feature.QUEUE_TREE: Native("ElasticQuota label quota.scheduling.koordinator.sh/parent"),
    Feature.GUARANTEED: Lowered("ElasticQuota spec.min", _REVOKES_IN_PART, _counts_devices),
    Feature.LIMIT: Native(
        "ElasticQuota spec.max, enforced on parents by enableCheckParentQuota in koord-scheduler-config.yaml"
    ),
    Feature.LIMIT_OVER_NAMESPACES: Native("ElasticQuota spec.max, across all of its namespaces"),
    Feature.LENDING_LIMIT: Lowered(
        "ElasticQuota label quota.scheduling.koordinator.sh/allow-lent-resource, for a queue that lends all or nothing",
        "another queue whose share of the surplus shrinks can still use the reserved amount for up to two "
        "minutes, until Koordinator evicts its excess pods",
    ),
    Feature.OVER_QUOTA_WEIGHT: Lowered(_SHARED_WEIGHT, _REVOKES_IN_PART, _counts_devices),
    Feature.WEIGHT_PER_RESOURCE: Lowered(_SHARED_WEIGHT, _REVOKES_IN_PART, _counts_devices),
    Feature.QUEUE_PRIORITY: Unsupported(
        "AP508",
        "quotas have no priority; surplus is divided by weight",
        "remove `priority`, and set a larger `over_quota_weight` on the queue",
    ),
    Feature.PREEMPT_MIN_RUNTIME: Unsupported(
        "AP509", "ElasticQuota does not support minimum runtimes", "remove the minimum runtime on this cluster"
    ),
    Feature.RECLAIM_MIN_RUNTIME: Unsupported(
        "AP509",
        "lent capacity is reclaimed after delayEvictTime, a cluster-wide setting",
        "remove the minimum runtime on this cluster",
    ),
    Feature.GPU_MODEL_QUOTA: Lowered(
        "if the cluster has several models, an ElasticQuotaProfile and a quota tree for each model",
        "each model's tree divides its own surplus, so a surplus of one model does not cover a shortage of another; a "
        "model's tree counts only GPUs, so amounts of cpu, memory and other resources apply only to nodes without a "
        "counted model; a limit without a model applies to each model separately; pods must select the quota for the "
        "model that they request",
    ),
    Feature.MIXED_GPU_COUNTING: Unsupported(
        "AP513",
        "each GPU model has its own quota tree, so a guarantee must specify the model",
        "set `gpu` to a mapping from GPU model to number of GPUs",
    ),
    Feature.EXTENDED_RESOURCES: Native("ElasticQuota spec.min and spec.max, by resource name"),
    Feature.GPU_SHARING: Unsupported(
        "AP510",
        "GPU fractions are a separate resource, koordinator.sh/gpu-core, which does not count towards a quota's "
        "nvidia.com/gpu, so a queue that requests both can use twice its quota",
        "remove `gpu_sharing`, and share GPUs with time slicing or MIG on the node pool",
    ),
    Feature.USER_LIMITS: Unsupported(
        "AP503", "quotas do not support per-user limits", "remove `users`, or declare a queue for each user"
    ),
    Feature.PRIORITY_CLASSES: Native("PriorityClass"),
    Feature.PREEMPTIBILITY: Lowered(
        "pod label quota.scheduling.koordinator.sh/preemptible, which the admission policies require for "
        "non-preemptible classes",
        "",
    ),
    Feature.ALLOWED_CLASSES: Lowered("admission policies on workloads", ""),
    Feature.ALLOWED_POOLS: Unsupported(
        "AP504",
        "quotas cannot be restricted to node pools; taint the pools instead",
        "remove `pools`, and taint the pool so that only permitted workloads run there",
    ),
    Feature.NAMESPACES: Native("ElasticQuota annotation quota.scheduling.koordinator.sh/namespaces"),
    Feature.DEFAULT_QUEUE: Native("ElasticQuota annotation quota.scheduling.koordinator.sh/namespaces"),
    Feature.PLACEMENT: Lowered("NodeResourcesFitPlus arguments in koord-scheduler-config.yaml", ""),
    Feature.POOL_PLACEMENT: Lowered(
        "NodeResourcesFitPlus arguments in koord-scheduler-config.yaml",
        "the cluster's placement applies to every pool",
    ),
    Feature.TOPOLOGY: Lowered(
        "ClusterNetworkTopology spec.networkTopologySpec",
        "pods that replace those of a running workload, or exceed the minimum of an elastic one, may be placed outside the "
        "domain; an elastic workload starts only if all of its pods fit into a domain, and a workload whose pods have "
        "different requests may wait although they fit; label values must be unique in the cluster for each level; pods "
        "are evicted regardless of domains, and a pod that preempts others may be placed on their node outside the domain",
    ),
    Feature.QUEUED_PROVISIONING: NO_QUEUED_PROVISIONING,
}


def emit(program: Program) -> Output:
    """Return the objects of one cluster in apply order, and the configuration that Koordinator requires."""
    trees = trees_of(program)
    return Output(
        (
            *(
                priority_class(program, cls, "PreemptLowerPriority")
                for cls in classes_to_make(program)
                if INSTALLED_CLASSES.get(cls.name) != cls.value
            ),
            *topologies(program),
            *profiles(program, trees),
            *quotas(program, trees),
            *workload_policies(program, engine_table(program)),
        ),
        tuple(artifacts(program, trees)),
    )


CONDITIONS = (
    Condition(
        CONFIG_FILE,
        "is applied after each upgrade of Koordinator's Helm chart",
        "parent limits are not enforced, lent capacity is not reclaimed, and pods are preempted across quotas by "
        "priority",
        (
            Feature.GUARANTEED,
            Feature.LIMIT,
            Feature.LIMIT_OVER_NAMESPACES,
            Feature.PRIORITY_CLASSES,
            Feature.PREEMPTIBILITY,
            Feature.PLACEMENT,
            Feature.POOL_PLACEMENT,
        ),
    ),
    Condition(
        VALUES_FILE,
        "is merged into Koordinator's Helm values",
        "child quotas cannot set resources that their parent does not set, and only one quota tree is supported",
        (
            Feature.GUARANTEED,
            Feature.GPU_MODEL_QUOTA,
            Feature.EXTENDED_RESOURCES,
        ),
    ),
)
"""Koordinator's configuration on which the table depends."""

KINDS = ("PriorityClass", "ClusterNetworkTopology", "ElasticQuotaProfile", "ElasticQuota", *ADMISSION_KINDS)
"""The kinds of its objects, in apply order."""

BACKEND = Backend("koordinator", CAPABILITIES, emit, KINDS, refusals, conditions=CONDITIONS)
