"""Knative services: one pod group for a revision with its minimum scale, or one for each pod of an earlier revision.

Source: pkg/podgrouper/podgrouper/plugins/knative/knative.go at d5bc503a, with `--knative-gang-schedule`, its default.
"""

from __future__ import annotations

from dataclasses import replace

from apportion_api.kai.names import DEPLOYMENT_CLASS, POD_GROUP_ANNOTATION
from apportion_api.kubernetes.operators import KNATIVE_API, KNATIVE_MIN_SCALE_ANNOTATION, KNATIVE_REVISION_LABEL
from apportion_runtime.admission.grouping.default import Owners, group_by_default, group_name, priority_class
from apportion_runtime.admission.grouping.grouping import Grouping
from apportion_runtime.admission.objects import (
    GroupingError,
    Manifest,
    Objects,
    annotations_of,
    integer,
    labels_of,
    name_of,
    namespace_of,
    nested,
)

_REVISION = "Revision"


def group_knative(owner: Manifest, pod: Manifest, owners: Owners, objects: Objects) -> Grouping:
    """Return the pod group of the pod's revision; its settings are the revision's, of class inference by default."""
    name = labels_of(pod).get(KNATIVE_REVISION_LABEL)
    if name is None:
        raise GroupingError(f"revisionName not found for knative service pod {namespace_of(pod)}/{name_of(pod)}")
    revision = objects.read(KNATIVE_API, _REVISION, namespace_of(pod), name)
    if revision is None:
        raise GroupingError(f'revisions.serving.knative.dev "{name}" not found')
    made = replace(
        group_by_default(revision, pod, (), objects),
        preemptibility="",
        preemption_delay="",
        staleness_grace="",
        constraint=None,
    )
    if _is_by_pod(revision, objects):
        return replace(made, owner=pod, name=group_name(pod), priority_class=DEPLOYMENT_CLASS)
    scale = integer(annotations_of(revision).get(KNATIVE_MIN_SCALE_ANNOTATION, "1"))
    return replace(
        made,
        priority_class=priority_class((revision,), pod, objects, DEPLOYMENT_CLASS),
        min_members=1 if scale is None else scale,
    )


def _is_by_pod(revision: Manifest, objects: Objects) -> bool:
    """Return whether an earlier version of the engine gave each pod of a revision a separate pod group."""
    pods = objects.pods(namespace_of(revision), {KNATIVE_REVISION_LABEL: name_of(revision)})
    groups = [annotations_of(pod)[POD_GROUP_ANNOTATION] for pod in pods if POD_GROUP_ANNOTATION in annotations_of(pod)]
    if len(groups) != len(set(groups)):
        return False
    if len(groups) != 1:
        return bool(groups)
    group = objects.get("PodGroup", namespace_of(revision), groups[0])
    if group is None:
        return False
    owners = nested(group, "metadata", "ownerReferences") or ()
    kind = owners[0].get("kind") if owners else None
    if kind not in (_REVISION, "Pod"):
        what = f"has unexpected owner reference: {kind}" if owners else "has no owner references"
        raise GroupingError(
            f"unable to determine gang behavior for revision {namespace_of(revision)}/{name_of(revision)}: "
            f"podgroup {groups[0]} {what}"
        )
    return bool(kind == "Pod")
