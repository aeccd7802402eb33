"""The PodGroup object of a grouping, and the update of an existing one.

Source: pkg/podgrouper/podgroup/handler.go at d5bc503a.
"""

from __future__ import annotations

from typing import Any

from apportion_api.kai.names import NODE_POOL_LABEL, POD_GROUP_API, QUEUE_LABEL
from apportion_runtime.admission.grouping.grouping import Grouping
from apportion_runtime.admission.objects import Manifest, labels_of, name_of, uid_of


def pod_group(made: Grouping, before: Manifest | None) -> dict[str, Any]:
    """Return the object; the queue and the scheduler's annotations of an existing one are kept."""
    spec: dict[str, Any] = {"queue": made.queue, "priorityClassName": made.priority_class}
    said = {
        "preemptibility": made.preemptibility,
        "preemptionDelay": made.preemption_delay,
        "stalenessGracePeriod": made.staleness_grace,
    }
    spec.update((key, value) for key, value in said.items() if value)
    if made.min_parts is not None:
        spec["minSubGroup"] = made.min_parts
    else:
        spec["minMember"] = made.min_members
    if made.parts:
        spec["subGroups"] = [part.manifest() for part in made.parts]
    if made.constraint is not None:
        spec["topologyConstraint"] = made.constraint.manifest()
    metadata: dict[str, Any] = {
        "name": made.name,
        "namespace": made.namespace,
        "labels": dict(made.labels),
        "annotations": dict(made.annotations),
        "ownerReferences": [
            {
                "apiVersion": made.owner.get("apiVersion"),
                "kind": made.owner.get("kind"),
                "name": name_of(made.owner),
                "uid": uid_of(made.owner),
            }
        ],
    }
    fresh: dict[str, Any] = {"apiVersion": POD_GROUP_API, "kind": "PodGroup", "metadata": metadata, "spec": spec}
    return fresh if before is None else _merged(fresh, before)


def _merged(fresh: dict[str, Any], before: Manifest) -> dict[str, Any]:
    old = before["spec"]
    for key in ("queue", "markUnschedulable", "schedulingBackoff"):
        if key in old:
            fresh["spec"][key] = old[key]
    if "topologyConstraint" not in fresh["spec"] and "topologyConstraint" in old:
        fresh["spec"]["topologyConstraint"] = old["topologyConstraint"]
    fresh["metadata"]["labels"].pop(NODE_POOL_LABEL, None)
    for key in (NODE_POOL_LABEL, QUEUE_LABEL):
        if key in labels_of(before):
            fresh["metadata"]["labels"][key] = labels_of(before)[key]
    fresh["metadata"] = {
        **before["metadata"],
        "labels": fresh["metadata"]["labels"],
        "annotations": {**before["metadata"].get("annotations", {}), **fresh["metadata"]["annotations"]},
    }
    if "status" in before:
        fresh["status"] = before["status"]
    return fresh
