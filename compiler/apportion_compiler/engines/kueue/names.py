"""Names of what is emitted for Kueue; `apportion_api.kueue.names` has those that Kueue itself reads."""

from __future__ import annotations

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_compiler.backends.metadata import GROUP as APPORTION
from apportion_compiler.ir.program import Program, Queue
from apportion_compiler.kubernetes_names import object_name

PREEMPTIBLE_ANNOTATION = f"{APPORTION}/preemptible"
"""On a WorkloadPriorityClass: a value of the policy for which Kueue has no field."""

SYSTEM_NAMESPACE = "kueue-system"
SCHEDULER = "default-scheduler"
"""Kueue admits and suspends; Kubernetes' own scheduler places."""

TOTAL_GPUS = "apportion.dev/gpus"
"""Devices of every model, counted once more beside their flavors; the manager's configuration derives it."""

NO_BOUND = {"cpu": "1G", "memory": "512Ti", GPU_RESOURCE: "1G"}
"""What is written where the policy says UNLIMITED; a resource that is not listed counts as devices do.

Small enough that ten thousand of them fit the 64-bit sums of Kueue before 0.18, which did not saturate
(pkg/resources/amount.go).
"""


def queue_name(queue: Queue) -> str:
    """Return the name of a queue's ClusterQueue or Cohort."""
    return queue.kueue.name or object_name(queue.id)


def workload_queue(program: Program, queue: Queue) -> str | None:
    """Return the LocalQueue that a workload of a leaf names, the first where it has several; None if inner."""
    return local_queue(queue, None) if queue.is_leaf else None


def local_queue(queue: Queue, namespace: str | None) -> str | None:
    """Return the LocalQueue of a leaf that a namespace has, the first one without a namespace; None where there is none."""
    declared = queue.kueue.local_queues
    if declared is None:
        return object_name(queue.id)
    return next((local.name for local in declared if namespace in (None, local.namespace)), None)


def root_cohort(program: Program) -> str:
    """Return the name of the cohort above every top-level queue: the cluster's, unless an inner queue has it."""
    taken = {queue_name(queue) for queue in program.queues if not queue.is_leaf}
    plain = object_name(program.cluster)
    # No identity that fits holds a slash, so this form always carries a digest.
    return object_name(f"{program.cluster}/root") if plain in taken else plain
