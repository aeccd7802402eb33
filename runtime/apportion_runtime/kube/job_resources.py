"""The kinds of objects that job admission reads, and their API paths."""

from __future__ import annotations

from collections.abc import Mapping

from apportion_api.ack.names import QUEUE_API, TREE_API
from apportion_api.kubernetes.names import PRIORITY_CLASS_API
from apportion_runtime.kube.resources import Resource

TREE, QUEUE, UNIT = "ElasticQuotaTree", "Queue", "QueueUnit"
JOB, RAY_JOB = "Job", "RayJob"
JOB_KINDS = (JOB, RAY_JOB)

ADMISSION_KINDS: Mapping[str, Resource] = {
    resource.kind: resource
    for resource in (
        Resource(TREE, TREE_API, "elasticquotatrees"),
        Resource(QUEUE, QUEUE_API, "queues"),
        Resource(UNIT, QUEUE_API, "queueunits"),
        Resource("PriorityClass", PRIORITY_CLASS_API, "priorityclasses"),
        Resource(JOB, "batch/v1", "jobs"),
        Resource(RAY_JOB, "ray.io/v1", "rayjobs", is_needed=False),
    )
}
"""The watched kinds, by name."""
