"""The default grouper: one pod group for the top owner, a minimum of one pod, and settings from labels.

Source: pkg/podgrouper/podgrouper/plugins/defaultgrouper/default_grouper.go at d5bc503a, without the ConfigMap of
default classes by kind, which KAI's chart does not set up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from apportion_api.durations import duration_text, parse_duration
from apportion_api.kai.names import (
    DEFAULT_CLASS,
    NODE_POOL_LABEL,
    POD_GROUP_PREFIX,
    PREEMPTIBILITIES,
    PREEMPTIBILITY_LABEL,
    PREEMPTION_DELAY_ANNOTATION,
    PREFERRED_LEVEL_ANNOTATION,
    PRIORITY_CLASS_LABEL,
    PROJECT_LABEL,
    QUEUE_LABEL,
    REQUIRED_LEVEL_ANNOTATION,
    SHARED_QUEUE,
    STALENESS_GRACE_ANNOTATION,
    TOP_OWNER_ANNOTATION,
    TOPOLOGY_ANNOTATION,
    USER_LABEL,
)
from apportion_runtime.admission.grouping.grouping import Constraint, Grouping
from apportion_runtime.admission.grouping.top_owner import top_owner_text
from apportion_runtime.admission.objects import (
    Manifest,
    Objects,
    annotations_of,
    labels_of,
    name_of,
    namespace_of,
    text,
    uid_of,
)

Owners = Sequence[Manifest]
"""From the pod's own owner up to the top one; empty for a pod without an owner."""
Grouper = Callable[[Manifest, Manifest, Owners, Objects], Grouping]
"""Takes the top owner (the pod itself if it has none), the pod, all owners, and the other objects."""


def group_by_default(owner: Manifest, pod: Manifest, owners: Owners, objects: Objects) -> Grouping:
    """Return one pod group for the owner, with the settings of the first of the owners that has any."""
    above = owners or (owner,)
    queue = queue_of(owner, pod)
    return Grouping(
        owner=owner,
        namespace=namespace_of(pod),
        name=group_name(owner),
        queue=SHARED_QUEUE if queue is None else queue,
        has_queue=bool(queue),
        priority_class=priority_class(above, pod, objects, DEFAULT_CLASS),
        labels=group_labels(owner, pod),
        annotations=group_annotations(owner, pod),
        preemptibility=_preemptibility((*above, pod)),
        preemption_delay=_first_duration((*above, pod), PREEMPTION_DELAY_ANNOTATION, preemption_delay),
        staleness_grace=_first_duration((*above, pod), STALENESS_GRACE_ANNOTATION, _normalized),
        constraint=constraint_of(annotations_of(owner).get),
    )


def group_name(owner: Manifest) -> str:
    """Return the name of the pod group of an owner."""
    return f"{POD_GROUP_PREFIX}-{name_of(owner)}-{uid_of(owner)}"


def group_labels(owner: Manifest, pod: Manifest) -> Mapping[str, str]:
    """Return the labels of a pod group: those of the owner, and the pod's user."""
    user = {USER_LABEL: labels_of(pod)[USER_LABEL]} if USER_LABEL in labels_of(pod) else {}
    return {**user, **labels_of(owner)}


def group_annotations(owner: Manifest, pod: Manifest) -> Mapping[str, str]:
    """Return the annotations of a pod group: those of the owner, its identity, and the pod's user."""
    user = {USER_LABEL: annotations_of(pod)[USER_LABEL]} if USER_LABEL in annotations_of(pod) else {}
    return {**user, TOP_OWNER_ANNOTATION: top_owner_text(owner), **annotations_of(owner)}


def queue_of(owner: Manifest, pod: Manifest) -> str | None:
    """Return the queue from the labels of the owner, or else of the pod; None if there is none."""
    for made in (owner, pod):
        if QUEUE_LABEL in labels_of(made):
            return labels_of(made)[QUEUE_LABEL]
    project = labels_of(owner).get(PROJECT_LABEL, labels_of(pod).get(PROJECT_LABEL))
    pool = labels_of(pod).get(NODE_POOL_LABEL)
    return f"{project}-{pool}" if project and pool is not None else project or None


def priority_class(owners: Owners, pod: Manifest, objects: Objects, default: str) -> str:
    """Return the priority class of the first owner, or else of the pod, with an existing one."""
    for owner in owners:
        named = (
            labels_of(owner).get(PRIORITY_CLASS_LABEL),
            labels_of(pod).get(PRIORITY_CLASS_LABEL),
            text(pod, "spec", "priorityClassName"),
        )
        name = next((each for each in named if each is not None), "")
        if name and objects.get("PriorityClass", "", name) is not None:
            return name
    return default


def constraint_of(said: Callable[[str], str | None]) -> Constraint | None:
    """Return the topology constraint from annotations."""
    found = [said(key) or "" for key in (TOPOLOGY_ANNOTATION, REQUIRED_LEVEL_ANNOTATION, PREFERRED_LEVEL_ANNOTATION)]
    return Constraint(*found) if any(found) else None


def preemption_delay(said: str) -> str | None:
    """Return a preemption delay as the API writes it; None if it is not a duration, or negative."""
    found = _normalized(said)
    return None if found is None or found.startswith("-") else found


def _normalized(said: str) -> str | None:
    try:
        return duration_text(parse_duration(said))
    except ValueError:
        return None


def _preemptibility(all_of: Sequence[Manifest]) -> str:
    # An empty label is valid: the priority class then decides, regardless of the owners' labels.
    found = (labels_of(made).get(PREEMPTIBILITY_LABEL) for made in all_of)
    return next((value for value in found if value in PREEMPTIBILITIES or value == ""), "")


def _first_duration(all_of: Sequence[Manifest], key: str, normalized: Callable[[str], str | None]) -> str:
    found = (normalized(said) for made in all_of if (said := annotations_of(made).get(key)) is not None)
    return next((value for value in found if value is not None), "")
