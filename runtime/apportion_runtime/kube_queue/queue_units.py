"""The QueueUnit of a queued job, which shows its phase, and whose priority can be changed while it is queued.

Source: kube-queue/api, pkg/apis/scheduling/v1alpha1/types.go.
"""

from __future__ import annotations

from typing import Any

from apportion_api.ack import names
from apportion_runtime.admission.objects import Manifest, labels_of, name_of, uid_of
from apportion_runtime.kube_queue.job_queue import Unit

KIND = "QueueUnit"


def unit_object(job: Manifest, unit: Unit, queue: str) -> dict[str, Any]:
    """Return the QueueUnit of a job in a queue."""
    reference = {"apiVersion": job["apiVersion"], "kind": job["kind"], "name": name_of(job)}
    return {
        "apiVersion": names.QUEUE_API,
        "kind": KIND,
        "metadata": {
            "name": unit.name,
            "namespace": unit.namespace,
            "labels": dict(labels_of(job)),
            "ownerReferences": [{**reference, "uid": uid_of(job)}],
        },
        "spec": {
            "consumerRef": {**reference, "namespace": unit.namespace},
            "queue": queue,
            "priority": unit.priority,
            "resource": {name: f"{value}m" if name == "cpu" else str(value) for name, value in unit.demand.items()},
        },
        "status": {"phase": "Enqueued", "message": "Enqueued"},
    }
