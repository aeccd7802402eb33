"""The PodGroup object of a grouping, and the update of an existing one.

Source: pkg/podgrouper/podgroup (handler.go, updater.go) at d5bc503a.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apportion_api.kai.names import NODE_POOL_LABEL, POD_GROUP_API, QUEUE_LABEL
from apportion_runtime.admission.grouping.grouping import Grouping
from apportion_runtime.admission.objects import Manifest, annotations_of, labels_of, name_of, nested, spec_of, uid_of

_OF_OTHERS = ("queue", "markUnschedulable", "schedulingBackoff")
"""Fields of an existing object that other services write."""


def pod_group(made: Grouping, before: Manifest | None) -> dict[str, Any]:
    """Return the PodGroup; an existing one keeps its queue, its node pool and what others added."""
    fresh = pod_group_of(
        made.owner,
        pod_group_spec(made),
        namespace=made.namespace,
        name=made.name,
        labels=made.labels,
        annotations=made.annotations,
    )
    return fresh if before is None else _merged(fresh, before)


def pod_group_spec(made: Grouping) -> dict[str, Any]:
    """Return the spec of a new PodGroup."""
    spec: dict[str, Any] = {}
    declared = {
        "queue": made.queue,
        "priorityClassName": made.priority_class,
        "preemptibility": made.preemptibility,
        "preemptionDelay": made.preemption_delay,
        "stalenessGracePeriod": made.staleness_grace,
    }
    spec.update((key, value) for key, value in declared.items() if value)
    if made.min_parts is not None:
        spec["minSubGroup"] = made.min_parts
    else:
        spec["minMember"] = made.min_members
    if made.parts:
        spec["subGroups"] = [part.manifest() for part in made.parts]
    spec["topologyConstraint"] = {} if made.constraint is None else made.constraint.manifest()
    return spec


def pod_group_of(
    owner: Manifest,
    spec: Mapping[str, Any],
    *,
    namespace: str,
    name: str,
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
) -> dict[str, Any]:
    """Return a new PodGroup with a spec."""
    reference = {
        "apiVersion": owner.get("apiVersion"),
        "kind": owner.get("kind"),
        "name": name_of(owner),
        "uid": uid_of(owner),
    }
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": namespace,
        "labels": dict(labels),
        "annotations": dict(annotations),
        "ownerReferences": [reference],
    }
    return {"apiVersion": POD_GROUP_API, "kind": "PodGroup", "metadata": metadata, "spec": spec}


def _merged(fresh: dict[str, Any], before: Manifest) -> dict[str, Any]:
    old, spec = spec_of(before), fresh["spec"]
    for key in _OF_OTHERS:
        spec.pop(key, None)
        if key in old:
            spec[key] = old[key]
    if not nested(spec, "topologyConstraint", "topology"):
        spec["topologyConstraint"] = old.get("topologyConstraint", {})
    labels = fresh["metadata"]["labels"]
    labels.pop(NODE_POOL_LABEL, None)
    if QUEUE_LABEL in labels_of(before):
        labels.pop(QUEUE_LABEL, None)
    fresh["metadata"] = {
        **before["metadata"],
        "labels": {**labels_of(before), **labels},
        "annotations": {**annotations_of(before), **fresh["metadata"]["annotations"]},
        "ownerReferences": fresh["metadata"]["ownerReferences"],
    }
    if "status" in before:
        fresh["status"] = before["status"]
    return fresh
