"""The default grouper: one pod group for the top owner, a minimum of one pod, and settings from labels.

Source: pkg/podgrouper/podgrouper/plugins/defaultgrouper/default_grouper.go at d5bc503a.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from apportion_api.durations import parse_duration
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
    TOPOLOGY_ANNOTATION,
    USER_LABEL,
)
from apportion_runtime.admission.grouping.grouping import Constraint, Grouping
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
"""Takes the top owner (the pod itself where it has none), the pod, all owners, and the other objects."""


def group_by_default(owner: Manifest, pod: Manifest, owners: Owners, objects: Objects) -> Grouping:
    """Return one pod group for the owner."""
    above = owners or (owner,)
    said = labels_of(owner)
    queue = queue_of(owner, pod)
    return Grouping(
        owner=owner,
        namespace=namespace_of(pod),
        name=group_name(owner),
        queue=queue or SHARED_QUEUE,
        has_queue=bool(queue),
        priority_class=priority_class(above, pod, objects, DEFAULT_CLASS),
        labels=said
        if USER_LABEL in said or USER_LABEL not in labels_of(pod)
        else {**said, USER_LABEL: labels_of(pod)["user"]},
        annotations=annotations_of(owner),
        preemptibility=_first(above, pod, PREEMPTIBILITY_LABEL, lambda value: value in PREEMPTIBILITIES),
        preemption_delay=_first_annotation(above, pod, PREEMPTION_DELAY_ANNOTATION, _is_delay),
        staleness_grace=_first_annotation(above, pod, STALENESS_GRACE_ANNOTATION, _is_duration),
        constraint=constraint_of(annotations_of(owner).get),
    )


def group_name(owner: Manifest) -> str:
    """Return the name of the pod group of an owner."""
    return f"{POD_GROUP_PREFIX}-{name_of(owner)}-{uid_of(owner)}"


def queue_of(owner: Manifest, pod: Manifest) -> str:
    """Return the queue from the labels of the owner, or else of the pod; empty if there is none."""
    for made in (owner, pod):
        if QUEUE_LABEL in labels_of(made):
            return labels_of(made)[QUEUE_LABEL]
    project = labels_of(owner).get(PROJECT_LABEL, labels_of(pod).get(PROJECT_LABEL, ""))
    pool = labels_of(pod).get(NODE_POOL_LABEL)
    return f"{project}-{pool}" if project and pool is not None else project


def priority_class(owners: Owners, pod: Manifest, objects: Objects, default: str) -> str:
    """Return the priority class of the pod, or of the first owner with an existing one."""
    for owner in owners:
        name = (
            labels_of(owner).get(PRIORITY_CLASS_LABEL)
            or labels_of(pod).get(PRIORITY_CLASS_LABEL)
            or text(pod, "spec", "priorityClassName")
        )
        if name and objects.get("PriorityClass", "", name) is not None:
            return name
    return default


def constraint_of(said: Callable[[str], str | None]) -> Constraint | None:
    """Return the topology constraint from annotations."""
    found = [said(key) or "" for key in (TOPOLOGY_ANNOTATION, REQUIRED_LEVEL_ANNOTATION, PREFERRED_LEVEL_ANNOTATION)]
    return Constraint(*found) if any(found) else None


def _first(owners: Owners, pod: Manifest, key: str, holds: Callable[[str], bool]) -> str:
    found = (labels_of(made).get(key, "") for made in (*owners, pod))
    return next((value for value in found if holds(value)), "")


def _first_annotation(owners: Owners, pod: Manifest, key: str, holds: Callable[[str], bool]) -> str:
    found = (annotations_of(made).get(key, "") for made in (*owners, pod))
    return next((value for value in found if holds(value)), "")


def _is_duration(value: str) -> bool:
    try:
        parse_duration(value)
    except ValueError:
        return False
    return True


def _is_delay(value: str) -> bool:
    return _is_duration(value) and not value.startswith("-")
