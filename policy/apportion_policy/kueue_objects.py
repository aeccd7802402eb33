"""What a policy says of Kueue's own objects: their names, and fields for which other engines have no counterpart.

Clusters that others set up keep their names and settings this way. Fields are spelt as in `kueue.x-k8s.io/v1beta2`.
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
    """Whom the work of a queue may evict (`spec.preemption` of its ClusterQueue)."""

    reclaim_within_cohort: Literal["Never", "LowerPriority", "Any"] = Field(
        default="Never", description="Work of other queues that borrowed this queue's guarantee."
    )
    within_cluster_queue: Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"] = Field(
        default="Never", description="Work of the same queue."
    )
    borrow_within_cohort: Literal["Never", "LowerPriority"] | None = Field(
        default=None, description="Work of other queues, for work that borrows; not with fair sharing."
    )
    borrow_max_priority: int | None = Field(
        default=None, description="Highest priority that work which borrows may evict (maxPriorityThreshold)."
    )


class KueueLocalQueue(Declaration):
    """The object that workloads of one namespace name in `kueue.x-k8s.io/queue-name`."""

    name: Identifier = Field(description="Name of the LocalQueue.")
    namespace: Identifier = Field(description="Namespace of the LocalQueue.")
    labels: Mapping[str, str] = Field(default={}, description="Further labels of the LocalQueue.")
    annotations: Mapping[str, str] = Field(default={}, description="Further annotations of the LocalQueue.")
    spec: Mapping[str, Any] = Field(default={}, description="Fields beside clusterQueue: stopPolicy, fairSharing.")


class KueueQueue(Declaration):
    """A queue's ClusterQueue (of a leaf) or Cohort (of an inner queue). What is left out, the policy decides."""

    name: Identifier | None = Field(default=None, description="Name of the object (default: the queue's id).")
    without_object: bool = Field(
        default=False, description="Emit no Cohort object: Kueue creates the cohort implicitly because others name it."
    )
    queueing_strategy: QueueingStrategy | None = Field(
        default=None,
        description="Whether a workload that does not fit blocks those behind it (default: the cluster's setting).",
    )
    preemption: KueuePreemption | None = Field(
        default=None,
        description="Which work its work may evict. Unset: borrowed quota is reclaimed, and lower priorities are preempted.",
    )
    local_queues: tuple[KueueLocalQueue, ...] | None = Field(
        default=None, description="Its LocalQueues. Unset: one in each of its namespaces, named as the queue's id."
    )
    labels: Mapping[str, str] = Field(default={}, description="Further labels of this object alone.")
    annotations: Mapping[str, str] = Field(default={}, description="Further annotations of this object alone.")
    spec: Mapping[str, Any] = Field(
        default={},
        description="Fields of the object's spec that replace what the policy makes of them; null leaves one out.",
    )


class KueueObject(Declaration):
    """An object of the whole cluster, as it stands there. Of its kind, Apportion emits none beside those declared."""

    kind: ClusterObjectKind = Field(description="Its kind in kueue.x-k8s.io.")
    name: Identifier = Field(description="Its name.")
    labels: Mapping[str, str] = Field(default={}, description="Its labels.")
    annotations: Mapping[str, str] = Field(default={}, description="Its annotations.")
    fields: Mapping[str, Any] = Field(default={}, description="Fields next to metadata: spec, value, description.")
