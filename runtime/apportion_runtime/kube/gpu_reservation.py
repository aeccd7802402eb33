"""Reservation pods: each holds one device of a node for the pods that share it, and reports the device's id.

The process in the pod belongs to KAI (cmd/resourcereservation): it finds the device that the device plugin gave it, and
writes its UUID to the pod. Groups of sharing pods and their reservation pods are matched by a label.

Source: pkg/binder/binding/resourcereservation/resource_reservation.go. Not supported: resources and security contexts of
the pod (KAI leaves them unset by default), and nodes with simulated GPUs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple

from apportion_api.kai.names import APP_LABEL, GPU_GROUP_LABEL, RESERVATION_APP, RESERVED_DEVICE_ANNOTATION
from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_runtime.kube.cluster import Manifest

_PREFIX = "gpu-reservation"
_DIGITS = 16
_DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"


REJECTED, UNAVAILABLE, DELETED, ENDED, TIMEOUT, MISSING = (
    "rejected",
    "unavailable",
    "deleted",
    "ended",
    "timeout",
    "missing",
)
CAUSES = (REJECTED, UNAVAILABLE, DELETED, ENDED, TIMEOUT, MISSING)
"""Why a GPU is not reserved; docs/live-scheduler.md describes each."""


class ReservationFailure(NamedTuple):
    """A GPU that is not reserved: the cause, and a clause with the reservation pod."""

    cause: str
    why: str


@dataclass(frozen=True, slots=True)
class ReservationSettings:
    """The settings of reservation pods.

    Attributes:
        image: KAI's image `resourcereservation`.
        namespace: Their namespace.
        service_account: Their service account, which may patch pods of the namespace.
        runtime_class: Their runtime class, if they need one.
        timeout_s: The time within which a pod must report its device.
        uses_cdi: Whether the device plugin takes CDI names of devices.
        app: The value of their label `app`, by which a cycle recognizes them; a shard may set another.
    """

    image: str
    namespace: str = RESERVATION_APP
    service_account: str = RESERVATION_APP
    runtime_class: str | None = None
    timeout_s: float = 40.0
    uses_cdi: bool = False
    app: str = RESERVATION_APP


def reservation_name(node: str, group: str) -> str:
    """Return the name of the reservation pod of a group: the same for each attempt, so that there is only one."""
    return f"{_PREFIX}-{sha256(f'{node}/{group}'.encode()).hexdigest()[:_DIGITS]}"


def reservation_pod(
    settings: ReservationSettings, node: str, group: str, tolerations: Sequence[Mapping[str, Any]] = ()
) -> Manifest:
    """Return the reservation pod of a group.

    Args:
        settings: The settings.
        node: Its node.
        group: The group.
        tolerations: Those of the first pod that shares the device.
    """
    amounts = {GPU_RESOURCE: "1"}
    container = {
        "name": "resource-reservation",
        "image": settings.image,
        "imagePullPolicy": "IfNotPresent",
        "resources": {"limits": amounts, "requests": amounts},
        "env": [
            _own_field("POD_NAME", "metadata.name"),
            _own_field("POD_NAMESPACE", "metadata.namespace"),
        ],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": reservation_name(node, group),
            "namespace": settings.namespace,
            "labels": {APP_LABEL: settings.app, GPU_GROUP_LABEL: group},
            "annotations": {_DO_NOT_DISRUPT: "true"},
        },
        "spec": {
            "nodeName": node,
            "serviceAccountName": settings.service_account,
            **({"runtimeClassName": settings.runtime_class} if settings.runtime_class else {}),
            **({"tolerations": list(tolerations)} if tolerations else {}),
            "containers": [container],
        },
    }


def device_of(reservation: Manifest) -> str | None:
    """Return the device of a reservation pod; None if the pod has not reported it."""
    annotations = reservation["metadata"].get("annotations") or {}
    return annotations.get(RESERVED_DEVICE_ANNOTATION) or None


def failure_of(reservation: Manifest, name: str) -> ReservationFailure | None:
    """Return why a reservation pod, under a name for readers, will not report a device; None if it may."""
    status = reservation.get("status") or {}
    if "deletionTimestamp" in reservation["metadata"]:
        return ReservationFailure(DELETED, f"{name} was deleted")
    if status.get("phase") not in ("Failed", "Succeeded"):
        return None
    details = status.get("message") or status.get("reason")
    return ReservationFailure(ENDED, f"{name} ended in phase {status['phase']}" + (f" ({details})" if details else ""))


def waiting_reason(reservation: Manifest) -> str:
    """Return what a reservation pod waits for, in parentheses after a space; empty if its status has no reason."""
    for container in (reservation.get("status") or {}).get("containerStatuses") or ():
        for state in (container.get("state") or {}).values():
            if state.get("reason"):
                return f" ({state['reason']})"
    return ""


def _own_field(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
