"""Alibaba Cloud ACK: one ElasticQuotaTree with a minimum and a maximum for every queue, and kube-queue in front of it.

Based on ACK's documentation of capacity scheduling and of ack-kube-queue v1.21.4 and later, and on the open-source
successor of kube-queue, koordinator-sh/koord-queue at 298e9a8c; ACK's scheduler and the hosted kube-queue are not open
source. Objects: `scheduling.sigs.k8s.io/v1beta1` ElasticQuotaTree, optionally `scheduling.x-k8s.io/v1alpha1` Queue,
`scheduling.k8s.io/v1` PriorityClass, and `admissionregistration.k8s.io/v1` ValidatingAdmissionPolicy for fields that
kube-queue does not restrict.

https://help.aliyun.com/zh/ack/ack-managed-and-ack-dedicated/user-guide/elasticquotatree; limitations:
docs/backends/ack.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from apportion_compiler.backends.admission.policies import workload_policies
from apportion_compiler.backends.capability import (
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
from apportion_compiler.backends.quota_tree import OWN_GUARANTEE_ALONE, beyond_numbers, shares_guarantee
from apportion_compiler.engines.ack.emit.admission import engine_table
from apportion_compiler.engines.ack.emit.components import COMPONENTS_FILE, components
from apportion_compiler.engines.ack.emit.queues import policy_of, queues
from apportion_compiler.engines.ack.emit.tree import elastic_quota_tree, tree_numbers
from apportion_compiler.ir.gpu_models import model_only_bounds
from apportion_compiler.ir.program import Program

_NODE = "ElasticQuotaTree spec.root.children[*]"

_MANY_QUEUES = 1000
"""A tree with fewer queues always fits into one object."""
_MAX_BYTES = 1536 * 1024
"""Default of etcd's --max-request-bytes (server/embed/config.go, DefaultMaxRequestBytes)."""

CAPABILITIES: Mapping[Feature, Capability] = {
    Feature.QUEUE_TREE: Native(f"{_NODE}.children"),
    Feature.GUARANTEED: Lowered(f"{_NODE}.min", OWN_GUARANTEE_ALONE, shares_guarantee),
    Feature.LIMIT: Native(f"{_NODE}.max"),
    Feature.LIMIT_OVER_NAMESPACES: Native(f"{_NODE}.max, across all of its namespaces"),
    Feature.LENDING_LIMIT: Lowered(
        "the node's alibabacloud.com/lendlimit attribute",
        "kube-queue enforces the lending limit when it dequeues jobs; ACK does not document whether the scheduler enforces "
        "it for pods that bypass kube-queue",
    ),
    Feature.OVER_QUOTA_WEIGHT: Unsupported(
        "AP507",
        "tree nodes have only min and max, so free capacity is allocated first come, first served",
        "remove `over_quota_weight` on this cluster",
    ),
    Feature.WEIGHT_PER_RESOURCE: Unsupported(
        "AP507",
        "tree nodes have only min and max, so free capacity is allocated first come, first served",
        "remove `over_quota_weight` on this cluster",
    ),
    Feature.QUEUE_PRIORITY: Lowered(
        "kube-queue's Queue spec.priority, if `queue_policy` is set",
        "the priority determines which queue's jobs are dequeued first; ACK's scheduler orders pods only by their own "
        "priority",
    ),
    Feature.PREEMPT_MIN_RUNTIME: Unsupported(
        "AP509", "ElasticQuotaTree does not support minimum runtimes", "remove the minimum runtime on this cluster"
    ),
    Feature.RECLAIM_MIN_RUNTIME: Unsupported(
        "AP509", "ElasticQuotaTree does not support minimum runtimes", "remove the minimum runtime on this cluster"
    ),
    Feature.GPU_MODEL_QUOTA: Lowered(
        "nvidia.com/gpu, the sum over all models",
        "guarantees and limits do not distinguish between GPU models",
    ),
    Feature.MIXED_GPU_COUNTING: Lowered("nvidia.com/gpu, the sum over all models", ""),
    Feature.EXTENDED_RESOURCES: Native(f"{_NODE}.min and max, by resource name"),
    Feature.GPU_SHARING: Unsupported(
        "AP510",
        "GPU fractions are a separate resource, such as aliyun.com/gpu-mem, which does not count towards "
        "the tree's nvidia.com/gpu",
        "remove `gpu_sharing`, or limit the fractional resource with `extended`",
    ),
    Feature.USER_LIMITS: Unsupported(
        "AP503", "quotas do not support per-user limits", "remove `users`, or declare a queue for each user"
    ),
    Feature.PRIORITY_CLASSES: Lowered(
        "PriorityClass",
        "kube-queue dequeues a queue's jobs by priority; if its queue or an ancestor has reached its max, a job is not dequeued "
        "and does not preempt running jobs",
    ),
    Feature.PREEMPTIBILITY: Lowered(
        "the job's label quota.scheduling.alibabacloud.com/preemptible, which the admission policies compare with the job's "
        "priority class",
        "kube-queue limits non-preemptible jobs to their queue's guarantee; the scheduler reclaims usage beyond "
        "the guarantee by priority and age, and ignores the label",
    ),
    Feature.ALLOWED_CLASSES: Lowered("admission policies on workloads", ""),
    Feature.ALLOWED_POOLS: Unsupported(
        "AP504",
        "the resourceflavors attribute of tree nodes references ResourceFlavors of another product, whose schema ACK "
        "does not publish; taint the pools instead",
        "remove `pools`, and taint the pool so that only permitted workloads run there",
    ),
    Feature.NAMESPACES: Native(f"{_NODE}.namespaces"),
    Feature.DEFAULT_QUEUE: Native(f"{_NODE}.namespaces"),
    Feature.PLACEMENT: Lowered(
        "components.yaml, as a reference for configuring the scheduler's scoring in the console",
        "the provider runs the scheduler, which cannot be configured through Kubernetes objects",
    ),
    Feature.POOL_PLACEMENT: Lowered(
        "components.yaml, as a reference for configuring the scheduler's scoring in the console",
        "the cluster's placement applies to every pool",
    ),
    Feature.TOPOLOGY: Unsupported(
        "AP511",
        "ACK supports topology-aware placement only on Lingjun machines, with topology levels defined by the provider",
        "remove the topology setting for this cluster",
    ),
    Feature.QUEUED_PROVISIONING: Unsupported(
        "AP505",
        "jobs are dequeued as soon as their quota allows, and pools then scale up for one pending pod at a time",
        "remove `provisioning` from the pool, or run workloads that need all their nodes at once on a cluster with Kueue",
    ),
}


def emit(program: Program) -> Output:
    """Return the objects of one cluster in apply order, and the components that they require."""
    return Output(
        (
            # No chart installs priority classes here.
            *(priority_class(program, cls, "PreemptLowerPriority") for cls in classes_to_make(program)),
            *queues(program),
            elastic_quota_tree(program),
            *workload_policies(program, engine_table(program)),
        ),
        (components(program),),
    )


def refusals(program: Program) -> Iterator[Refusal]:
    """Yield refusals of values that the tree has fields for but cannot represent."""
    yield from _unheld_priorities(program)
    yield from _bounds_by_model(program)
    yield from beyond_numbers(program, [tree_numbers(program).total])
    yield from _too_long(program)


def _too_long(program: Program) -> Iterator[Refusal]:
    """Yield a refusal of a tree that exceeds the maximum size of an object in etcd."""
    if len(program.queues) < _MANY_QUEUES:
        return
    size = len(json.dumps(elastic_quota_tree(program), separators=(",", ":")))
    if size > _MAX_BYTES:
        yield Refusal(
            "AP518",
            f"cluster {program.environment}/{program.cluster}",
            program.source,
            f"a tree of {len(program.queues)} queues: the object is {size / 2**20:.1f} MiB, but etcd accepts at most "
            f"{_MAX_BYTES / 2**20:g} MiB unless --max-request-bytes is raised",
            "remove queues that have neither guarantees nor limits, or split the tree across clusters",
            bound_is_a_setting=True,
        )


def _unheld_priorities(program: Program) -> Iterator[Refusal]:
    for queue in program.queues:
        if queue.priority is not None and (policy_of(program, queue) is None or not queue.is_leaf):
            yield Refusal(
                "AP508",
                f"queue {queue.id}",
                queue.source,
                "queue-priority: "
                + (
                    "only leaf queues can have a priority"
                    if queue.children
                    else "no Queue is emitted without `queue_policy`"
                ),
                "set `priority` on its leaf queues instead"
                if queue.children
                else "set `queue_policy` in the queue's or the cluster's `ack` settings",
            )


def _bounds_by_model(program: Program) -> Iterator[Refusal]:
    for queue, named in model_only_bounds(program):
        yield Refusal(
            "AP514",
            f"queue {queue.id}",
            queue.source,
            f"limits on only some GPU models ({', '.join(named)}): the tree counts GPUs of all models together",
            "limit every GPU model on the cluster, or limit `gpu` in total",
        )


CONDITIONS = (
    Condition(
        COMPONENTS_FILE,
        "is configured in the ACK console",
        "without preemption by ElasticQuota, the scheduler does not reclaim lent capacity; workload kinds without a "
        "kube-queue extension bypass the queue",
        (Feature.GUARANTEED, Feature.QUEUE_PRIORITY, Feature.PREEMPTIBILITY, Feature.PLACEMENT, Feature.POOL_PLACEMENT),
    ),
)
"""Settings of ACK's components on which the table depends."""

KINDS = ("PriorityClass", "Queue", "ElasticQuotaTree", *ADMISSION_KINDS)
"""The kinds of its objects, in apply order."""

BACKEND = Backend("ack", CAPABILITIES, emit, KINDS, refusals, conditions=CONDITIONS)
