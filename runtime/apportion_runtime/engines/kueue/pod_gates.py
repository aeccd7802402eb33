"""The scheduling gate of managed pods, where it is set, and pod groups.

Source: kubernetes-sigs/kueue v0.18.3, pkg/controller/jobs/pod/pod_webhook.go, jobs/deployment/deployment_webhook.go.
"""

from __future__ import annotations

from typing import Any

from apportion_api.kueue.names import (
    GATE,
    MANAGED_LABEL,
    POD_GROUP_COUNT_ANNOTATION,
    POD_GROUP_LABEL,
    PRIORITY_CLASS_LABEL,
    QUEUE_LABEL,
    SUSPENDING_PARENT_ANNOTATION,
)
from apportion_runtime.admission.objects import annotations_of, labels_of, name_of
from apportion_runtime.sim.engine import Denied
from apportion_runtime.sim.scenario.format import Manifest


def gated(pod: Manifest, queue: str) -> Manifest:
    """Return a gated pod that waits for quota of a LocalQueue, or of none if that is empty."""
    metadata, spec = pod["metadata"], pod["spec"]
    labels = {**labels_of(pod), **MANAGED_LABEL, **({QUEUE_LABEL: queue} if queue else {})}
    gates = [*(spec.get("schedulingGates") or ()), {"name": GATE}]
    return {**pod, "metadata": {**metadata, "labels": labels}, "spec": {**spec, "schedulingGates": gates}}


def ungated(pod: Manifest, template: Manifest) -> Manifest:
    """Return an ungated pod, with the additions to the template of its pod set."""
    spec, changed = pod["spec"], template["spec"]
    gates = [gate for gate in spec.get("schedulingGates") or () if gate.get("name") != GATE]
    added = {key: changed[key] for key in ("nodeSelector", "tolerations") if key in changed}
    metadata = {**pod["metadata"], "annotations": {**annotations_of(pod), **annotations_of(template)}}
    return {**pod, "metadata": metadata, "spec": {**spec, **added, "schedulingGates": gates}}


def propagated(deployment: Manifest, queue: str) -> Manifest:
    """Return a Deployment whose pod template is gated."""
    template = deployment["spec"].get("template") or {}
    metadata, label = template.get("metadata") or {}, labels_of(deployment).get(PRIORITY_CLASS_LABEL)
    labels = {
        **(metadata.get("labels") or {}),
        **MANAGED_LABEL,
        **({QUEUE_LABEL: queue} if queue else {}),
        **({PRIORITY_CLASS_LABEL: label} if label else {}),
    }
    annotations = {**(metadata.get("annotations") or {}), SUSPENDING_PARENT_ANNOTATION: "deployment"}
    made = {**template, "metadata": {**metadata, "labels": labels, "annotations": annotations}}
    return {**deployment, "spec": {**deployment["spec"], "template": made}}


def is_gated(pod: Manifest) -> bool:
    """Return whether Kueue gates a pod."""
    return any(gate.get("name") == GATE for gate in pod["spec"].get("schedulingGates") or ())


def is_alive(pod: Manifest) -> bool:
    """Return whether a pod exists and has not finished."""
    phase = (pod.get("status") or {}).get("phase")
    return phase not in ("Succeeded", "Failed") and "deletionTimestamp" not in pod["metadata"]


def group_size(pod: Manifest) -> int:
    """Return the size of a pod's group; 1 without a group. Raises `Denied` with the message of Kueue's webhook."""
    group, label = labels_of(pod).get(POD_GROUP_LABEL), annotations_of(pod).get(POD_GROUP_COUNT_ANNOTATION)
    both = f"both the '{POD_GROUP_COUNT_ANNOTATION}' annotation and the '{POD_GROUP_LABEL}' label should be set"
    if group is None and label is None:
        return 1
    if group is None:
        raise Denied(f"Pod {name_of(pod)}: metadata.labels[{POD_GROUP_LABEL}]: Required value: {both}")
    path = f"metadata.annotations[{POD_GROUP_COUNT_ANNOTATION}]"
    if label is None:
        raise Denied(f"Pod {name_of(pod)}: {path}: Required value: {both}")
    if not label.isdecimal() or not int(label):
        raise Denied(
            f'Pod {name_of(pod)}: {path}: Invalid value: "{label}": group total count should be greater than zero'
        )
    return int(label)


def template_of(pod: Manifest) -> dict[str, Any]:
    """Return the pod set template of a pod."""
    kept = {key: value for key, value in pod["spec"].items() if key != "schedulingGates"}
    return {"metadata": {"labels": labels_of(pod), "annotations": annotations_of(pod)}, "spec": kept}
