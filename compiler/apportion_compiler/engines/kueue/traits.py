"""Traits of Kueue: ClusterQueues in a tree of cohorts, with a LocalQueue in each namespace."""

from __future__ import annotations

from apportion_api.kueue.names import (
    DEFAULT_QUEUE,
    GROUP,
    MAX_RUN_DURATION_ANNOTATION,
    PRIORITY_CLASS_LABEL,
    QUEUE_LABEL,
    TITLE,
)
from apportion_compiler.engine_versions import VersionRange
from apportion_compiler.engines.traits import EngineTraits, Reference

_COHORT, _CLUSTER_QUEUE = (GROUP, "Cohort"), (GROUP, "ClusterQueue")
_CONFIGURATION = (
    "AdmissionCheck",
    "ClusterQueue",
    "Cohort",
    "LocalQueue",
    "MultiKueueCluster",
    "MultiKueueConfig",
    "ProvisioningRequestConfig",
    "ResourceFlavor",
    "Topology",
    "WorkloadPriorityClass",
)
_READ_BY_TEAMS = (
    "admissionchecks",
    "clusterqueues",
    "cohorts",
    "resourceflavors",
    "topologies",
    "workloadpriorityclasses",
)

TRAITS = EngineTraits(
    title=TITLE,
    # kueue.x-k8s.io/v1beta2, which is emitted, is served since 0.14.
    versions=VersionRange("Kueue", (0, 14), (0, 20), "https://github.com/kubernetes-sigs/kueue/releases"),
    # Cohort.borrowingLimit caps what the whole subtree borrows.
    limit_over_parent="Kueue limits it to {}",
    groups=(GROUP, f"config.{GROUP}"),
    key_prefixes=(f"{GROUP}/",),
    image=r"kueue/kueue:(?P<version>[\w.-]+)",
    configuration_kinds=frozenset((GROUP, kind) for kind in _CONFIGURATION),
    workload_keys=(QUEUE_LABEL,),
    queue_labels=(QUEUE_LABEL,),
    requires_queue=True,
    class_labels=(PRIORITY_CLASS_LABEL,),
    resume_labels=(QUEUE_LABEL,),
    references=(
        # The second name of each pair is that of v1beta1, which an export may use.
        Reference(_CLUSTER_QUEUE, "spec.cohortName", _COHORT, is_implied=True),
        Reference(_CLUSTER_QUEUE, "spec.cohort", _COHORT, is_implied=True),
        Reference(_COHORT, "spec.parentName", _COHORT, is_implied=True),
        Reference(_COHORT, "spec.parent", _COHORT, is_implied=True),
        Reference((GROUP, "LocalQueue"), "spec.clusterQueue", _CLUSTER_QUEUE, is_parent=False),
    ),
    default_queue_name=DEFAULT_QUEUE,
    local_queues=True,
    # The webhook compares lendingLimit with nominalQuota of a ClusterQueue; a Cohort may lend more.
    refuses_lending_over_guarantee=True,
    evicts_non_preemptible="Kueue reclaims borrowed quota regardless of priority class",
    request_configurations={(GROUP, "ProvisioningRequestConfig"): MAX_RUN_DURATION_ANNOTATION},
    # The reason why a workload is pending is in its Workload and, for queued nodes, in the ProvisioningRequest; Kueue
    # writes both.
    team_reads=(("autoscaling.x-k8s.io", ("provisioningrequests",)), (GROUP, ("localqueues", "workloads"))),
    cluster_reads=((GROUP, _READ_BY_TEAMS),),
)
