"""Names of objects that are emitted for Kueue; `apportion_api.kueue.names` has those that Kueue reads."""

from __future__ import annotations

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_compiler.backends.metadata import GROUP as APPORTION
from apportion_compiler.ir.program import Program, Queue
from apportion_compiler.kubernetes_names import object_name

PREEMPTIBLE_ANNOTATION = f"{APPORTION}/preemptible"
"""On a WorkloadPriorityClass: a field of the policy that Kueue does not have."""

SYSTEM_NAMESPACE = "kueue-system"
SCHEDULER = "default-scheduler"
"""Kueue admits and suspends workloads; Kubernetes' own scheduler places their pods."""

TOTAL_GPUS = "apportion.dev/gpus"
"""Devices of every model, counted in addition to their flavors; the manager's configuration derives it."""

NO_BOUND = {"cpu": "1G", "memory": "512Ti", GPU_RESOURCE: "1G"}
"""Substitutes for UNLIMITED by resource; the default is that of devices.

Ten thousand of them fit into the 64-bit sums of Kueue before 0.18, which do not saturate
(pkg/resources/amount.go).
"""


def queue_name(queue: Queue) -> str:
    """Return the name of a queue's ClusterQueue or Cohort."""
    return queue.kueue.name or object_name(queue.id)


def workload_queue(program: Program, queue: Queue) -> str | None:
    """Return the LocalQueue that a workload of a leaf names, the first if it has several; None for an inner queue."""
    return local_queue(queue, None) if queue.is_leaf else None


def local_queue(queue: Queue, namespace: str | None) -> str | None:
    """Return the LocalQueue of a leaf in a namespace, or its first one if none is given; None if it has none."""
    declared = queue.kueue.local_queues
    if declared is None:
        return object_name(queue.id)
    return next((local.name for local in declared if namespace in (None, local.namespace)), None)


def root_cohort(program: Program) -> str:
    """Return the name of the root cohort: that of the cluster, unless an inner queue has this name."""
    taken = {queue_name(queue) for queue in program.queues if not queue.is_leaf}
    plain = object_name(program.cluster)
    # An identity with a slash never fits, so this form always has a digest.
    return object_name(f"{program.cluster}/root") if plain in taken else plain
