"""Pods that consume a ProvisioningRequest: the annotations that name it, and what the provider adds to them."""

from __future__ import annotations

from collections.abc import Mapping

from apportion_runtime.admission.objects import annotations_of, kind_of, namespace_of, nested
from apportion_runtime.sim.api.object_store import ClusterApi
from apportion_runtime.sim.provisioning.request_checks import QUEUED_TAINT, REQUEST_LABEL, request_name
from apportion_runtime.sim.scenario.format import Manifest

REQUEST = "ProvisioningRequest"
CONSUMES = (
    "autoscaling.x-k8s.io/consume-provisioning-request",
    "cluster-autoscaler.kubernetes.io/consume-provisioning-request",
)
"""Annotations that refer to a request: the current one, and its predecessor."""
CLASS_OF = "autoscaling.x-k8s.io/provisioning-class-name"
_SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"


def condition(made: Manifest, kind: str) -> Mapping[str, str] | None:
    """Return a condition of an object if it is true; otherwise None."""
    found = nested(made, "status", "conditions") or ()
    return next((each for each in found if each["type"] == kind and each["status"] == "True"), None)


def consuming(made: Manifest, store: ClusterApi) -> Manifest:
    """Return a pod with the provider's changes: a consumer of a request runs only on its nodes, and is not moved."""
    annotations = annotations_of(made)
    if not annotations:
        return made
    name = next((annotations[key] for key in CONSUMES if annotations.get(key)), None)
    if name is None or kind_of(made) != ("", "Pod"):
        return made
    request = store.get(REQUEST, namespace_of(made), name)
    spec = made["spec"]
    selector = {**(spec.get("nodeSelector") or {}), REQUEST_LABEL: name if request is None else request_name(request)}
    passing = {**QUEUED_TAINT, "operator": "Equal"}
    metadata = {**made["metadata"], "annotations": {_SAFE_TO_EVICT: "false", **annotations}}
    return {
        **made,
        "metadata": metadata,
        "spec": {**spec, "nodeSelector": selector, "tolerations": [*(spec.get("tolerations") or ()), passing]},
    }
