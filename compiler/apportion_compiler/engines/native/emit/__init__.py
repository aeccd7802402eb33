"""Plain Kubernetes: namespaces and access to them, and hard quotas if no other engine schedules.

Every cluster gets this target in addition to its engine's: Namespace, ResourceQuota and LimitRange (`v1`), ClusterRole,
RoleBinding and ClusterRoleBinding (`rbac.authorization.k8s.io/v1`), and the admission policy that prevents teams from
relabelling their namespaces (`admissionregistration.k8s.io/v1`, Kubernetes 1.30 and later). On a cluster with the
engine `native`, it also contains PriorityClasses, quotas on amounts and the admission policies on workloads.

https://kubernetes.io/docs/concepts/policy/resource-quotas/; limitations: docs/backends/native.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apportion_compiler.backends.admission.engine_table import EngineTable
from apportion_compiler.backends.admission.namespaces import namespace_policy
from apportion_compiler.backends.admission.policies import workload_policies
from apportion_compiler.backends.capability import (
    Backend,
    Capability,
    Condition,
    Feature,
    Lowered,
    Manifest,
    Native,
    Output,
    Refusal,
    Unsupported,
)
from apportion_compiler.backends.largest_amounts import declared_beyond_largest
from apportion_compiler.backends.object_families import ADMISSION_KINDS
from apportion_compiler.backends.priority_classes import classes_to_make, priority_class
from apportion_compiler.engines.native.emit.access import cluster_roles, reader_bindings, role_bindings
from apportion_compiler.engines.native.emit.namespaces import namespaces
from apportion_compiler.engines.native.emit.node_labels import node_label_list
from apportion_compiler.engines.native.emit.quotas import limit_ranges, quotas
from apportion_compiler.engines.native.emit.scheduler import SCHEDULER_FILE, scheduler_configuration
from apportion_compiler.engines.native.emit.templates_workloads import workload_templates
from apportion_compiler.engines.native.names import DEFAULT_SCHEDULER, schedulers
from apportion_compiler.ir.gpu_models import model_only_bounds
from apportion_compiler.ir.program import Program
from apportion_compiler.kubernetes_names import object_name

NAME = "native"
CAPABILITIES: Mapping[Feature, Capability] = {
    Feature.QUEUE_TREE: Lowered("each namespace's quota, which includes the limits of all ancestors", ""),
    Feature.GUARANTEED: Unsupported(
        "AP506",
        "a ResourceQuota limits a namespace, but reserves nothing for it",
        "install a queueing engine such as KAI on the cluster, or remove the guarantee",
    ),
    Feature.LIMIT: Lowered(
        "ResourceQuota spec.hard requests.*",
        "pods above the limit are rejected at creation, not queued",
    ),
    Feature.LIMIT_OVER_NAMESPACES: Unsupported(
        "AP512",
        "a ResourceQuota limits one namespace, so each namespace gets the full limit, and nothing limits their total",
        "give the queue a single namespace, or set a limit on each of its child queues",
    ),
    Feature.LENDING_LIMIT: Unsupported(
        "AP501",
        "ResourceQuotas guarantee nothing, so there is nothing to lend",
        "remove `lending_limit` on this cluster",
    ),
    Feature.OVER_QUOTA_WEIGHT: Unsupported(
        "AP507",
        "free capacity is allocated first come, first served",
        "remove `over_quota_weight`, or install a queueing engine such as KAI on the cluster",
    ),
    Feature.WEIGHT_PER_RESOURCE: Unsupported(
        "AP507",
        "free capacity is allocated first come, first served",
        "remove `over_quota_weight`, or install a queueing engine such as KAI on the cluster",
    ),
    Feature.QUEUE_PRIORITY: Unsupported(
        "AP508",
        "kube-scheduler orders pods only by their own priority",
        "remove `priority`, and set a priority class on the workloads",
    ),
    Feature.PREEMPT_MIN_RUNTIME: Unsupported(
        "AP509",
        "kube-scheduler preempts regardless of runtime",
        "remove the minimum runtime, or install KAI on the cluster",
    ),
    Feature.RECLAIM_MIN_RUNTIME: Unsupported(
        "AP509",
        "kube-scheduler preempts regardless of runtime",
        "remove the minimum runtime, or install KAI on the cluster",
    ),
    Feature.GPU_MODEL_QUOTA: Lowered(
        "requests.nvidia.com/gpu, the sum over all models", "limits do not distinguish between GPU models"
    ),
    Feature.MIXED_GPU_COUNTING: Lowered("requests.nvidia.com/gpu, the sum over all models", ""),
    Feature.EXTENDED_RESOURCES: Native("ResourceQuota spec.hard requests.<resource>"),
    Feature.GPU_SHARING: Unsupported(
        "AP510",
        "kube-scheduler allocates whole devices",
        "remove `gpu_sharing`, and share GPUs with time slicing or MIG on the node pool",
    ),
    Feature.USER_LIMITS: Unsupported(
        "AP503", "ResourceQuotas do not support per-user limits", "remove `users` on this cluster"
    ),
    Feature.PRIORITY_CLASSES: Native("PriorityClass"),
    Feature.PREEMPTIBILITY: Lowered(
        "preemptionPolicy Never for each class above a non-preemptible class",
        "workloads in these classes never preempt others, not even preemptible workloads",
    ),
    Feature.ALLOWED_CLASSES: Lowered("ResourceQuota with scope PriorityClass, and the admission policies", ""),
    Feature.ALLOWED_POOLS: Unsupported(
        "AP504",
        "namespaces cannot be restricted to nodes; taint the pools instead",
        "remove `pools`, and taint the pool so that only permitted workloads run there",
    ),
    Feature.NAMESPACES: Native("Namespace"),
    Feature.DEFAULT_QUEUE: Native("Namespace: its ResourceQuotas apply to all pods in the namespace"),
    Feature.PLACEMENT: Lowered(
        "KubeSchedulerConfiguration profiles in kube-scheduler.yaml, for workloads with and without GPUs",
        "workloads select their profile by schedulerName, and managed control planes do not accept this file",
    ),
    Feature.POOL_PLACEMENT: Lowered(
        "a profile in kube-scheduler.yaml for each GPU model",
        "the cluster's placement applies to pools without GPUs, and to pools with the same GPU model but different placements",
    ),
    Feature.TOPOLOGY: Unsupported(
        "AP511",
        "kube-scheduler spreads pods across topology domains, but does not pack them into one",
        "remove the topology, and set podAffinity with its node labels on the workloads",
    ),
    Feature.QUEUED_PROVISIONING: Unsupported(
        "AP505",
        "pools scale up for one pending pod at a time, not for a whole workload",
        "remove `provisioning` from the pool, or install Kueue",
    ),
}


def emit(program: Program) -> Output:
    """Return the objects of one cluster in apply order."""
    schedules = program.engine == NAME
    return Output(
        (
            *(_priority_classes(program) if schedules else ()),
            *namespaces(program),
            *limit_ranges(program, counts_amounts=schedules),
            *quotas(program, bound_amounts=schedules),
            *cluster_roles(program),
            *reader_bindings(program),
            *role_bindings(program),
            *namespace_policy(program),
            *(workload_policies(program, _engine_table(program)) if schedules else ()),
        ),
        (
            *node_label_list(program),
            *((scheduler_configuration(program), *workload_templates(program)) if schedules else ()),
        ),
    )


def refusals(program: Program) -> Iterator[Refusal]:
    """Yield refusals of limits that a ResourceQuota cannot represent."""
    for queue, named in model_only_bounds(program):
        yield Refusal(
            "AP514",
            f"queue {queue.id}",
            queue.source,
            f"limits on only some GPU models ({', '.join(named)}): requests.nvidia.com/gpu counts GPUs of all models together",
            "limit every GPU model on the cluster, or limit `gpu` in total",
        )
    yield from declared_beyond_largest(program)


def _priority_classes(program: Program) -> Iterator[Manifest]:
    """Yield all classes, because no chart installs any.

    kube-scheduler preempts any pod of lower priority, so a class above a non-preemptible one must not preempt.
    """
    protected = min((cls.value for cls in program.priority_classes if not cls.preemptible), default=None)
    for cls in classes_to_make(program):
        above = protected is not None and cls.value > protected
        yield priority_class(program, cls, "Never" if above else "PreemptLowerPriority")


def _engine_table(program: Program) -> EngineTable:
    return EngineTable(
        scheduler_name=DEFAULT_SCHEDULER,
        more_schedulers=schedulers(program)[1:],
        preemptible={object_name(cls.name): cls.preemptible for cls in program.priority_classes},
    )


CONDITIONS = (
    Condition(
        SCHEDULER_FILE,
        "is passed to kube-scheduler as --config",
        "the profiles do not exist, and pods that select a profile stay pending",
        (Feature.PLACEMENT, Feature.POOL_PLACEMENT),
    ),
)
"""kube-scheduler's configuration on which the table depends."""

KINDS = (
    "PriorityClass",
    "Namespace",
    "LimitRange",
    "ResourceQuota",
    "ClusterRole",
    "ClusterRoleBinding",
    "RoleBinding",
    *ADMISSION_KINDS,
)
"""The kinds of its objects, in apply order."""

BACKEND = Backend(NAME, CAPABILITIES, emit, KINDS, refusals, conditions=CONDITIONS)
