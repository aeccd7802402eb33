"""Kueue: ClusterQueues in a tree of cohorts, and a LocalQueue in each namespace that leads to one."""

from __future__ import annotations

from apportion_compiler.engine_versions import VersionRange
from apportion_compiler.engines.kueue import names
from apportion_compiler.engines.traits import EngineTraits, Reference

_COHORT, _CLUSTER_QUEUE = (names.GROUP, "Cohort"), (names.GROUP, "ClusterQueue")
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
    # kueue.x-k8s.io/v1beta2, which is emitted, is served from 0.14 on.
    versions=VersionRange("Kueue", (0, 14), (0, 20), "https://github.com/kubernetes-sigs/kueue/releases"),
    # Cohort.borrowingLimit caps what the whole subtree borrows.
    limit_over_parent="kueue holds it at {}",
    groups=(names.GROUP, f"config.{names.GROUP}"),
    key_prefixes=(f"{names.GROUP}/",),
    image=r"kueue/kueue:(?P<version>[\w.-]+)",
    configuration_kinds=frozenset((names.GROUP, kind) for kind in _CONFIGURATION),
    workload_keys=(names.QUEUE_LABEL,),
    queue_labels=(names.QUEUE_LABEL,),
    requires_queue=True,
    class_labels=(names.PRIORITY_CLASS_LABEL,),
    resume_labels=(names.QUEUE_LABEL,),
    references=(
        # The second name of each pair is that of v1beta1, in which an export may be written.
        Reference(_CLUSTER_QUEUE, "spec.cohortName", _COHORT, is_implied=True),
        Reference(_CLUSTER_QUEUE, "spec.cohort", _COHORT, is_implied=True),
        Reference(_COHORT, "spec.parentName", _COHORT, is_implied=True),
        Reference(_COHORT, "spec.parent", _COHORT, is_implied=True),
        Reference((names.GROUP, "LocalQueue"), "spec.clusterQueue", _CLUSTER_QUEUE, is_parent=False),
    ),
    default_queue_name=names.DEFAULT_QUEUE,
    local_queues=True,
    # The webhook compares lendingLimit with nominalQuota of a ClusterQueue; a Cohort may lend more.
    refuses_lending_over_guarantee=True,
    evicts_non_preemptible="kueue reclaims what its queue has borrowed, whatever the class",
    request_configurations={(names.GROUP, "ProvisioningRequestConfig"): names.MAX_RUN_DURATION_ANNOTATION},
    # Why work waits stands in its Workload and, of queued nodes, in the ProvisioningRequest; Kueue writes both.
    team_reads=(("autoscaling.x-k8s.io", ("provisioningrequests",)), (names.GROUP, ("localqueues", "workloads"))),
    cluster_reads=((names.GROUP, _READ_BY_TEAMS),),
)
