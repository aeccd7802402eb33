"""Workloads of queues in an export of a cluster, to prevent the deletion of queues in use.

An export is the output of `kubectl get pods,… -A -o json`. A workload belongs to a queue if it names it by any engine's
label, annotation or field, or runs in a namespace that is deleted with the queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from apportion_api.counted_nouns import counted
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.plain_objects import Manifest, annotations_of, described, integer, labels_of, name_of, text
from apportion_compiler.rollout.differences import ObjectChange

_FIELDS = (("spec", "queue"), ("spec", "queueName"))
_NAMESPACED = frozenset({"LocalQueue", "QueueUnit"})
"""Namespaced queue kinds."""
_OVER = ("Succeeded", "Failed")
_COUNTS = (
    ("status", "reservingWorkloads"),
    ("status", "pendingWorkloads"),
    ("status", "running"),
    ("status", "inqueue"),
)
"""Fields of queues that count their workloads."""


def in_use(changes: Iterable[ObjectChange], export: Sequence[Manifest]) -> Iterator[str]:
    """Yield a clause for each deletion of a queue with unfinished workloads in the export."""
    deleted = [change.identity for change in changes if change.action == "delete"]
    work = [one for one in export if _is_work(one)]
    for identity in deleted:
        if identity.kind == "Namespace":
            users = [one for one in work if text(one, "metadata", "namespace") == identity.name]
        else:
            users = [one for one in work if _names(one, identity.name, identity.namespace, identity.kind)]
        n_counted = sum(
            _count(one)
            for one in export
            if (str(one.get("kind")), name_of(one), text(one, "metadata", "namespace") or "")
            == (identity.kind, identity.name, identity.namespace)
        )
        if users:
            more = f" and {len(users) - 1} more" if len(users) > 1 else ""
            yield f"{identity.kind} {identity.name} is in use by {described(users[0])}{more}"
        elif n_counted:
            yield f"{identity.kind} {identity.name} is in use: its status reports {counted(n_counted, 'workload')}"


def _is_work(one: Manifest) -> bool:
    if one.get("kind") == "Pod":
        return text(one, "status", "phase") not in _OVER
    return one.get("kind") in ("PodGroup", "Workload", "QueueUnit") and not _is_finished(one)


def _is_finished(one: Manifest) -> bool:
    status = one.get("status")
    conditions = status.get("conditions", ()) if isinstance(status, dict) else ()
    return any(
        text(condition, "type") == "Finished" and text(condition, "status") == "True" for condition in conditions
    )


def _names(work: Manifest, name: str, namespace: str, kind: str) -> bool:
    if kind in _NAMESPACED and text(work, "metadata", "namespace") != namespace:
        return False
    if kind == "ResourceQuota":
        return text(work, "metadata", "namespace") == namespace
    labels, annotations = labels_of(work), annotations_of(work)
    return (
        any(labels.get(key) == name for traits in TRAITS.values() for key in traits.queue_labels)
        or any(
            annotations.get(key) == name
            for traits in TRAITS.values()
            for key in (*traits.queue_annotations, *traits.unit_annotations)
        )
        or any(text(work, *path) == name for path in _FIELDS)
    )


def _count(queue: Manifest) -> int:
    return sum(integer(queue, *path) or 0 for path in _COUNTS)
