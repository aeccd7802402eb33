"""Kueue: admission of whole workloads against quotas that are borrowed and lent in a tree of cohorts.

Written for v0.18, based on commit ff69552e79 (after v0.19.2, 2026-08-22). Objects: `kueue.x-k8s.io/v1beta2`
Topology, ResourceFlavor, ProvisioningRequestConfig, AdmissionCheck, Cohort, ClusterQueue, LocalQueue and
WorkloadPriorityClass, `scheduling.k8s.io/v1` PriorityClass, and the admission policies.

https://github.com/kubernetes-sigs/kueue/tree/ff69552e79/apis/kueue/v1beta2; limitations: docs/backends/kueue.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apportion_api.kueue.names import API
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
    Unsupported,
)
from apportion_compiler.backends.metadata import metadata
from apportion_compiler.backends.object_families import ADMISSION_KINDS
from apportion_compiler.backends.priority_classes import classes_to_make, priority_class
from apportion_compiler.engines.kueue.emit.admission import engine_table
from apportion_compiler.engines.kueue.emit.declared_objects import replaced_by_declared
from apportion_compiler.engines.kueue.emit.flavor_quotas import divide
from apportion_compiler.engines.kueue.emit.flavors import layout_of, resource_flavors, topologies
from apportion_compiler.engines.kueue.emit.manager import (
    CONFIGURATION_FILE,
    SCHEDULER_FILE,
    manager_configuration,
    scheduler_configuration,
)
from apportion_compiler.engines.kueue.emit.provisioning import admission_checks, provisioning_configs
from apportion_compiler.engines.kueue.emit.queues import cluster_queues, cohorts, local_queues
from apportion_compiler.engines.kueue.emit.refusals import refusals
from apportion_compiler.engines.kueue.names import PREEMPTIBLE_ANNOTATION
from apportion_compiler.ir.program import Program
from apportion_compiler.kubernetes_names import object_name

CAPABILITIES: Mapping[Feature, Capability] = {
    Feature.QUEUE_TREE: Native("Cohort spec.parentName, ClusterQueue spec.cohortName"),
    Feature.GUARANTEED: Native("ClusterQueue spec.resourceGroups[].flavors[].resources[].nominalQuota"),
    Feature.LIMIT: Native("ClusterQueue and Cohort spec.resourceGroups[].flavors[].resources[].borrowingLimit"),
    Feature.LIMIT_OVER_NAMESPACES: Native("LocalQueue spec.clusterQueue: all LocalQueues share one ClusterQueue"),
    Feature.LENDING_LIMIT: Native("ClusterQueue and Cohort spec.resourceGroups[].flavors[].resources[].lendingLimit"),
    Feature.OVER_QUOTA_WEIGHT: Native("ClusterQueue and Cohort spec.fairSharing.weight"),
    Feature.WEIGHT_PER_RESOURCE: Lowered(
        "spec.fairSharing.weight, one weight for all resources: the weight for GPUs, or for CPU if the policy does not "
        "count GPUs",
        "this weight determines the share of every surplus resource",
    ),
    Feature.QUEUE_PRIORITY: Unsupported(
        "AP508",
        "ClusterQueues and Cohorts have no priority; surplus is divided by weight, and workloads are ordered by "
        "priority class",
        "remove `priority`, and set a larger `over_quota_weight` on the queue or a higher priority class on its workloads",
    ),
    Feature.PREEMPT_MIN_RUNTIME: Unsupported(
        "AP509",
        "spec.preemption considers priority, not runtime",
        "remove the minimum runtime, or run workloads that need it on a cluster with KAI",
    ),
    Feature.RECLAIM_MIN_RUNTIME: Unsupported(
        "AP509",
        "spec.preemption considers priority, not runtime",
        "remove the minimum runtime, or run workloads that need it on a cluster with KAI",
    ),
    Feature.GPU_MODEL_QUOTA: Lowered(
        "a ResourceFlavor for each model",
        "if pools with the same model differ in plan, topology or permitted queues, they become separate flavors "
        "that share the quota, and all pods in a pod set use the same flavor",
    ),
    Feature.MIXED_GPU_COUNTING: Lowered(
        "a guarantee without a model is assigned to a model with enough capacity; a limit without a model applies to "
        "apportion.dev/gpus, which the manager's configuration derives from nvidia.com/gpu",
        "workloads that use a different model must borrow; without that manager configuration, the limit applies to each "
        "model separately",
    ),
    Feature.EXTENDED_RESOURCES: Lowered(
        "ClusterQueue spec.resourceGroups[].coveredResources",
        "node pools do not declare these resources, so all queues together can use only the sum of their guarantees, and "
        "the rest stays idle",
    ),
    Feature.GPU_SHARING: Unsupported(
        "AP510",
        "quotas count whole devices, and workloads cannot request a fraction of a device",
        "remove `gpu_sharing`, and share GPUs with time slicing or MIG on the node pool",
    ),
    Feature.USER_LIMITS: Unsupported(
        "AP503", "queues do not support per-user limits", "remove `users`, or declare a queue for each user"
    ),
    Feature.PRIORITY_CLASSES: Native("WorkloadPriorityClass value, and PriorityClass"),
    Feature.PREEMPTIBILITY: Lowered(
        "spec.preemption.withinClusterQueue, which is Never for queues without preemptible classes",
        "non-preemptible workloads are evicted when their borrowed quota is reclaimed; in a queue that also has preemptible "
        "classes, higher-priority workloads preempt them as well",
    ),
    Feature.ALLOWED_CLASSES: Lowered("admission policies on workloads and on Kueue's Workload objects", ""),
    Feature.ALLOWED_POOLS: Lowered(
        "each ClusterQueue lists only the flavors of its permitted GPU pools",
        "all pools without GPUs share one flavor, any-node, which every queue may use",
    ),
    Feature.NAMESPACES: Native("LocalQueue, ClusterQueue spec.namespaceSelector"),
    Feature.DEFAULT_QUEUE: Lowered(
        "LocalQueue named default, which Kueue's webhooks assign to workloads without a queue label",
        "workload kinds not enabled in Kueue's configuration require an explicit queue label",
    ),
    Feature.PLACEMENT: Lowered(
        "KubeSchedulerConfiguration in kube-scheduler.yaml",
        "GPU and CPU workloads share one strategy, and managed control planes do not accept this file",
    ),
    Feature.POOL_PLACEMENT: Lowered(
        "KubeSchedulerConfiguration in kube-scheduler.yaml", "the cluster's placement applies to every pool"
    ),
    Feature.TOPOLOGY: Lowered(
        "Topology spec.levels, ResourceFlavor spec.topologyName",
        "cpu and memory are divided among the flavors in proportion to their capacity, because one flavor must "
        "provide all of a pod's resources; on a cluster with an autoscaled pool, only the Topology object is emitted",
    ),
    Feature.QUEUED_PROVISIONING: Lowered(
        "AdmissionCheck and ProvisioningRequestConfig for the flavors of pools with a plan",
        "max_nodes_per_request has no corresponding parameter: the provider's maximum applies to each request",
    ),
}


def emit(program: Program) -> Output:
    """Return the objects of one cluster in apply order, and the configurations that they require."""
    layout = layout_of(program)
    division = divide(program, layout)
    return Output(
        (
            *_classes(program),
            *replaced_by_declared("Topology", topologies(program, layout), program),
            *replaced_by_declared("ResourceFlavor", resource_flavors(program, layout), program),
            *replaced_by_declared("ProvisioningRequestConfig", provisioning_configs(program), program),
            *replaced_by_declared("AdmissionCheck", admission_checks(program), program),
            *cohorts(program, layout, division),
            *cluster_queues(program, layout, division),
            *local_queues(program),
            *workload_policies(program, engine_table(program)),
        ),
        (manager_configuration(program, layout), scheduler_configuration(program)),
    )


def _classes(program: Program) -> Iterator[Manifest]:
    """Yield each class twice: Kueue orders workloads by one, kube-scheduler their pods by the other.

    The pods' classes do not preempt: kube-scheduler would evict single pods of workloads regardless of guarantees.
    """
    for cls in classes_to_make(program):
        yield priority_class(program, cls, "Never")
    yield from replaced_by_declared("WorkloadPriorityClass", _workload_classes(program), program)


def _workload_classes(program: Program) -> Iterator[Manifest]:
    for cls in program.priority_classes:
        yield {
            "apiVersion": API,
            "kind": "WorkloadPriorityClass",
            "metadata": metadata(
                program,
                object_name(cls.name),
                cls.source,
                annotations={PREEMPTIBLE_ANNOTATION: "true" if cls.preemptible else "false"},
            ),
            "value": cls.value,
            **({"description": cls.description} if cls.description else {}),
        }


CONDITIONS = (
    Condition(
        CONFIGURATION_FILE,
        "is merged into Kueue's manager configuration",
        "without `fairSharing`, weights are ignored and borrowing workloads cannot reclaim quota; workloads without a "
        "queue label bypass all quotas, and GPUs are not counted across models",
        (
            Feature.GUARANTEED,
            Feature.OVER_QUOTA_WEIGHT,
            Feature.WEIGHT_PER_RESOURCE,
            Feature.MIXED_GPU_COUNTING,
            Feature.NAMESPACES,
        ),
    ),
    Condition(
        SCHEDULER_FILE,
        "is passed to kube-scheduler as --config",
        "kube-scheduler spreads pods across nodes",
        (Feature.PLACEMENT, Feature.POOL_PLACEMENT),
    ),
)
"""Configuration of Kueue and kube-scheduler on which the table depends."""

KINDS = (
    "PriorityClass",
    "WorkloadPriorityClass",
    "Topology",
    "ResourceFlavor",
    "ProvisioningRequestConfig",
    "AdmissionCheck",
    "Cohort",
    "ClusterQueue",
    "LocalQueue",
    *ADMISSION_KINDS,
)
"""The kinds of its objects, in apply order."""

BACKEND = Backend("kueue", CAPABILITIES, emit, KINDS, refusals, conditions=CONDITIONS)
