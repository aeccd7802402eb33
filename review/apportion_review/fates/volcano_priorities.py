"""The priorities of Volcano's jobs.

A job has the priority of its PodGroup's class; without a class, or if the class does not exist, that of the default
class (pkg/scheduler/cache/cache.go, Snapshot). The priorities of its pods are ignored, as is the preemptionPolicy of
the class: a pod's own applies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apportion_api.kubernetes.names import SCHEDULING_GROUP
from apportion_api.volcano.objects import PodGroup
from apportion_compiler.plain_objects import Manifest, integer, name_of, text
from apportion_review.fates.workloads import of_group

_SYSTEM_CLASSES = "system-"
_ANY = "The objects include no PriorityClass: any priority is assumed to be possible."
_ASSUMED = (
    "Future jobs are assumed to use one of the priority classes in the objects; system-cluster-critical and "
    "system-node-critical are ignored."
)


class Priorities:
    """The classes of a cluster, and the priorities of its pods."""

    def __init__(self, objects: Sequence[Manifest]) -> None:
        classes = list(of_group(objects, SCHEDULING_GROUP, "PriorityClass"))
        self._values = {name_of(made): integer(made, "value") or 0 for made in classes}
        self._default = next((integer(made, "value") or 0 for made in classes if made.get("globalDefault")), 0)
        own = [value for name, value in self._values.items() if not name.startswith(_SYSTEM_CLASSES)]
        pods = [
            integer(pod, "spec", "priority") or 0
            for pod in of_group(objects, "", "Pod")
            if not (text(pod, "spec", "priorityClassName") or "").startswith(_SYSTEM_CLASSES)
        ]
        self._highest = max([0, *own, *pods]) if own else None

    def of_job(self, group: PodGroup | None, pod: Manifest) -> int:
        """Return the priority of a pod's job; without a group, that of the group that Volcano's controller creates."""
        name = text(pod, "spec", "priorityClassName") if group is None else group.priority_class
        return self._values.get(name or "", self._default)

    def outranks(self, priority: int) -> bool:
        """Return whether a job or a pod may exist with a higher priority."""
        return self._highest is None or self._highest > priority

    def notes(self) -> Iterator[str]:
        """Yield the assumptions."""
        yield _ANY if self._highest is None else _ASSUMED
