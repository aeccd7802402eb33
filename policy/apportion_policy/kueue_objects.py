"""Kueue-specific objects: their names, and fields without an equivalent in other engines.

They preserve the names and settings of clusters that were not set up by Apportion. Fields are spelt as in `kueue.x-k8s.io/v1beta2`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from apportion_policy.declaration import Declaration
from apportion_policy.identifiers import Identifier

QueueingStrategy = Literal["StrictFIFO", "BestEffortFIFO"]
ClusterObjectKind = Literal[
    "ResourceFlavor", "Topology", "AdmissionCheck", "ProvisioningRequestConfig", "WorkloadPriorityClass"
]


class KueuePreemption(Declaration):
    """Which workloads a queue's workloads may evict (`spec.preemption` of its ClusterQueue)."""

    reclaim_within_cohort: Literal["Never", "LowerPriority", "Any"] = Field(
        default="Never",
        description="Which workloads of queues that borrow from this queue's guarantee may be evicted.",
    )
    within_cluster_queue: Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"] = Field(
        default="Never", description="Which workloads in the same queue may be evicted."
    )
    borrow_within_cohort: Literal["Never", "LowerPriority"] | None = Field(
        default=None,
        description="Which workloads a borrowing workload may evict in other queues; not supported with fair sharing.",
    )
    borrow_max_priority: int | None = Field(
        default=None, description="Highest priority of a borrowing workload's victims (maxPriorityThreshold)."
    )


class KueueLocalQueue(Declaration):
    """A LocalQueue, which workloads of its namespace reference in `kueue.x-k8s.io/queue-name`."""

    name: Identifier = Field(description="Name of the LocalQueue.")
    namespace: Identifier = Field(description="Namespace of the LocalQueue.")
    labels: Mapping[str, str] = Field(default={}, description="Additional labels for the LocalQueue.")
    annotations: Mapping[str, str] = Field(default={}, description="Additional annotations for the LocalQueue.")
    spec: Mapping[str, Any] = Field(
        default={}, description="Fields in addition to clusterQueue: stopPolicy, fairSharing."
    )


class KueueQueue(Declaration):
    """A queue's ClusterQueue (of a leaf) or Cohort (of an inner queue). Unset fields are derived from the policy."""

    name: Identifier | None = Field(default=None, description="Name of the object (default: the queue's id).")
    without_object: bool = Field(
        default=False,
        description="Emit no Cohort object: Kueue creates the cohort implicitly because other objects reference it.",
    )
    queueing_strategy: QueueingStrategy | None = Field(
        default=None,
        description="Whether a workload that does not fit blocks the workloads behind it (default: the cluster's setting).",
    )
    preemption: KueuePreemption | None = Field(
        default=None,
        description="Workloads that this queue's workloads may evict. If unset, borrowed quota is reclaimed, and lower-priority workloads are preempted.",
    )
    local_queues: tuple[KueueLocalQueue, ...] | None = Field(
        default=None,
        description="Its LocalQueues. If unset, one in each of its namespaces, named after the queue's id.",
    )
    labels: Mapping[str, str] = Field(default={}, description="Additional labels for this object only.")
    annotations: Mapping[str, str] = Field(default={}, description="Additional annotations for this object only.")
    spec: Mapping[str, Any] = Field(
        default={},
        description="Fields of the object's spec that replace the generated values; null removes a field.",
    )


class KueueObject(Declaration):
    """An existing cluster-scoped object. Apportion emits no other objects of the same kind."""

    kind: ClusterObjectKind = Field(description="Kind of the object in kueue.x-k8s.io.")
    name: Identifier = Field(description="Its name.")
    labels: Mapping[str, str] = Field(default={}, description="Its labels.")
    annotations: Mapping[str, str] = Field(default={}, description="Its annotations.")
    fields: Mapping[str, Any] = Field(
        default={}, description="Fields in addition to metadata: spec, value, description."
    )
