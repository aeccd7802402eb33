"""What holds for every kind: one pod group for the top owner, a minimum of one pod, and what labels say.

Source: pkg/podgrouper/podgrouper/plugins/defaultgrouper/default_grouper.go at d5bc503a.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from apportion_runtime.admission import api_names
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

_DURATION = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h))+|[+-]?0")


def group_by_default(owner: Manifest, pod: Manifest, owners: Owners, objects: Objects) -> Grouping:
    """Return one pod group for the owner."""
    above = owners or (owner,)
    said = labels_of(owner)
    queue = queue_of(owner, pod)
    return Grouping(
        owner=owner,
        namespace=namespace_of(pod),
        name=group_name(owner),
        queue=queue or api_names.DEFAULT_QUEUE,
        has_queue=bool(queue),
        priority_class=priority_class(above, pod, objects, api_names.TRAIN),
        labels=said
        if api_names.USER in said or api_names.USER not in labels_of(pod)
        else {**said, api_names.USER: labels_of(pod)["user"]},
        annotations=annotations_of(owner),
        preemptibility=_first(above, pod, api_names.PREEMPTIBILITY, lambda value: value in api_names.PREEMPTIBILITIES),
        preemption_delay=_first_annotation(above, pod, api_names.PREEMPTION_DELAY, _is_delay),
        staleness_grace=_first_annotation(above, pod, api_names.STALENESS_GRACE, _is_duration),
        constraint=constraint_of(annotations_of(owner).get),
    )


def group_name(owner: Manifest) -> str:
    """Return the name of the pod group of an owner."""
    return f"{api_names.PREFIX}-{name_of(owner)}-{uid_of(owner)}"


def queue_of(owner: Manifest, pod: Manifest) -> str:
    """Return the queue that the labels of the owner, or else of the pod, name; empty where they name none."""
    for made in (owner, pod):
        if api_names.QUEUE in labels_of(made):
            return labels_of(made)[api_names.QUEUE]
    project = labels_of(owner).get(api_names.PROJECT, labels_of(pod).get(api_names.PROJECT, ""))
    pool = labels_of(pod).get(api_names.NODE_POOL)
    return f"{project}-{pool}" if project and pool is not None else project


def priority_class(owners: Owners, pod: Manifest, objects: Objects, default: str) -> str:
    """Return the class that the first owner with one that exists, or the pod beside it, names."""
    for owner in owners:
        name = (
            labels_of(owner).get(api_names.PRIORITY)
            or labels_of(pod).get(api_names.PRIORITY)
            or text(pod, "spec", "priorityClassName")
        )
        if name and objects.get("PriorityClass", "", name) is not None:
            return name
    return default


def constraint_of(said: Callable[[str], str | None]) -> Constraint | None:
    """Return the constraint that annotations say."""
    found = [said(key) or "" for key in (api_names.TOPOLOGY, api_names.REQUIRED_LEVEL, api_names.PREFERRED_LEVEL)]
    return Constraint(*found) if any(found) else None


def _first(owners: Owners, pod: Manifest, key: str, holds: Callable[[str], bool]) -> str:
    found = (labels_of(made).get(key, "") for made in (*owners, pod))
    return next((value for value in found if holds(value)), "")


def _first_annotation(owners: Owners, pod: Manifest, key: str, holds: Callable[[str], bool]) -> str:
    found = (annotations_of(made).get(key, "") for made in (*owners, pod))
    return next((value for value in found if holds(value)), "")


def _is_duration(value: str) -> bool:
    return _DURATION.fullmatch(value) is not None


def _is_delay(value: str) -> bool:
    return _is_duration(value) and not value.startswith("-")
