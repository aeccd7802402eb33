"""The QueueUnit of a queued job, which shows its phase, and whose priority can be changed while it is queued.

Source: kube-queue/api, pkg/apis/scheduling/v1alpha1/types.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apportion_api.ack import names
from apportion_runtime.admission.objects import Manifest, labels_of, name_of, uid_of
from apportion_runtime.kube_queue.amounts import Amounts, amounts
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
            "resource": _resource(unit.demand),
        },
        "status": {"phase": "Enqueued", "message": "Enqueued"},
    }


def unit_patch(made: Manifest, unit: Unit, queue: str) -> dict[str, Any] | None:
    """Return the merge patch of a QueueUnit whose job has changed; None if it has not. The priority is the user's."""
    spec = made.get("spec") or {}
    written = spec.get("resource")
    resource = written if isinstance(written, Mapping) else {}
    patch: dict[str, Any] = {} if spec.get("queue") == queue else {"queue": queue}
    if not _is_demand(resource, unit.demand):
        patch["resource"] = {**dict.fromkeys(resource), **_resource(unit.demand)}
    return {"metadata": {"uid": uid_of(made)}, "spec": patch} if patch else None


def _resource(demand: Amounts) -> dict[str, str]:
    return {name: f"{value}m" if name == "cpu" else str(value) for name, value in demand.items()}


def _is_demand(resource: Mapping[str, Any], demand: Amounts) -> bool:
    try:
        return amounts(resource) == demand
    except ValueError:
        return False
