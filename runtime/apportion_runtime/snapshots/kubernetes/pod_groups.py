"""Pod groups: queue, priority, preemptibility, and the tree of sub-groups.

Source: pkg/scheduler/cache/cluster_info/cluster_info.go (snapshotPodGroups), api/podgroup_info/job_info.go
(SetPodGroup), subgroup_info/factory.go, pkg/common/podgroup/preemptible.go.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from apportion_api.kai import objects
from apportion_api.kai.names import (
    DEFAULT_PRIORITY,
    LAST_EVICTION_ANNOTATION,
    LAST_START_ANNOTATION,
    NON_PREEMPTIBLE_FROM,
    PREEMPTIBILITIES,
    PREEMPTIBLE,
    STALE_SINCE_ANNOTATION,
)
from apportion_api.kubernetes.objects import PriorityClass
from apportion_runtime.core.snapshot import PodGroup, SubGroup, Topology, TopologyConstraint
from apportion_runtime.snapshots.faults import IGNORED_VALUE, UNKNOWN_CLASS, UNKNOWN_SUB_GROUP, Fault
from apportion_runtime.snapshots.kubernetes.configuration import Engine
from apportion_runtime.snapshots.kubernetes.objects import Object
from apportion_runtime.snapshots.kubernetes.times import created, duration, stamp

_DEFAULT = "default"
_NO_BACKOFF = -1


def read_topologies(topologies: Sequence[Object]) -> tuple[tuple[Topology, ...], Mapping[str, Mapping[str, str]]]:
    """Return topologies, and for each the node labels of its levels' aliases."""
    levels = {made.name: made.read_as(objects.Topology).levels or () for made in topologies}
    read = tuple(Topology(name, tuple(level.label or "" for level in of)) for name, of in levels.items())
    aliases = {
        name: {level.alias: level.label or "" for level in of if level.alias is not None} for name, of in levels.items()
    }
    return read, aliases


class PodGroupReader:
    """Reads the pod groups of a cluster."""

    def __init__(
        self,
        classes: Sequence[Object],
        queues: Collection[str],
        aliases: Mapping[str, Mapping[str, str]],
        engine: Engine,
        faults: list[Fault],
    ) -> None:
        read = [made.read_as(PriorityClass) for made in classes]
        self._priorities = {cls.name: cls.value or 0 for cls in read}
        defaults = [cls.value or 0 for cls in read if cls.is_default]
        self._default = defaults[0] if defaults else DEFAULT_PRIORITY
        self._queues = queues
        self._aliases = aliases
        self._engine = engine
        self._faults = faults
        self._unknown: set[str] = set()
        """The priority classes that do not exist and were reported."""

    def read(self, groups: Sequence[Object]) -> tuple[PodGroup, ...]:
        """Return the pod groups to schedule. The engine identifies them by name, without the namespace."""
        made: dict[str, PodGroup] = {}
        for group in groups:
            if not self._engine.is_of_pool(group.labels) or self._backs_off(group):
                continue
            if group.name in made:
                message = f"pod group {made[group.name].namespace}/{group.name} has the same name; the engine keeps only one of them"
                place = group.place.at("metadata", "name")
                self._faults.append(
                    Fault(
                        IGNORED_VALUE, group.address, message, f"rename one of the pod groups named {group.name}", place
                    )
                )
                continue
            made[group.name] = self._group(group)
        return tuple(made.values())

    def _backs_off(self, group: Object) -> bool:
        """Return whether an unschedulable group waits for a change of its object."""
        read = group.read_as(objects.PodGroup)
        if read.backoff in (None, _NO_BACKOFF) or not read.conditions:
            return False
        last = max(read.conditions, key=lambda condition: _number(condition.transition))
        return last.node_pool == (read.labels.get(self._engine.node_pool_key) or "default")

    def _group(self, group: Object) -> PodGroup:
        read, faults = group.read_as(objects.PodGroup), self._faults
        # For a group without a queue, the engine reads neither.
        priority, preemptible = 0, False
        if (read.queue or "") in self._queues:
            priority = self._priority(group, read.priority_class)
            declared = read.preemptibility
            preemptible = declared == PREEMPTIBLE if declared in PREEMPTIBILITIES else priority < NON_PREEMPTIBLE_FROM
        return PodGroup(
            uid=group.name,
            name=group.name,
            namespace=group.namespace,
            queue=read.queue or "",
            priority=priority,
            preemptible=preemptible,
            created=created(group, faults),
            root=self._root(group, read),
            last_start=stamp(group, LAST_START_ANNOTATION, faults),
            last_eviction=stamp(group, LAST_EVICTION_ANNOTATION, faults),
            preemption_delay=self._preemption_delay(group, read),
            staleness_grace=duration(group, "stalenessGracePeriod", read.staleness_grace, faults),
            stale_since=stamp(group, STALE_SINCE_ANNOTATION, faults),
        )

    def _preemption_delay(self, group: Object, read: objects.PodGroup) -> float | None:
        delay = duration(group, "preemptionDelay", read.preemption_delay, self._faults)
        if delay is not None and delay < 0:
            message = f"`spec.preemptionDelay: {read.preemption_delay}` is negative: there is no delay, as with 0"
            hint = "use 0s, or a positive duration such as 90s or 1h30m"
            place = group.place.at("spec", "preemptionDelay")
            self._faults.append(Fault(IGNORED_VALUE, group.address, message, hint, place))
        return delay

    def _priority(self, group: Object, name: str | None) -> int:
        if name in self._priorities:
            return self._priorities[name]
        if name is not None and name not in self._unknown:
            # Once, not for each of its pod groups.
            self._unknown.add(name)
            message = (
                f"priority class `{name}` does not exist; the priority of its pod groups defaults to {self._default}"
            )
            hint = f"create the class, or add it to the export: kubectl get priorityclass {name} -o json"
            place = group.place.at("spec", "priorityClassName")
            self._faults.append(Fault(UNKNOWN_CLASS, group.address, message, hint, place))
        return self._default

    def _root(self, group: Object, read: objects.PodGroup) -> SubGroup:
        constraint = self._constraint(read.constraint) if read.constraint.topology else None
        parts: dict[str, objects.SubGroup] = {}
        below: dict[str, list[str]] = {}
        for number, part in enumerate(read.sub_groups):
            name = part.name or ""
            if name in parts:
                return self._without_parts(group, number, f"sub-group `{name}` is defined twice")
            parts[name] = part
            below.setdefault((part.parent or "").lower(), []).append(name)
        for number, part in enumerate(parts.values()):
            parent = (part.parent or "").lower()
            if parent and parent not in parts:
                return self._without_parts(
                    group, number, f"the parent `{parent}` of sub-group `{part.name}` does not exist"
                )
        self._report_cycles(group, parts)
        children = self._children("", parts, below, frozenset())
        if not any(_holds_pods(child) for child in children):
            children = (*children, SubGroup(_DEFAULT, 1 if read.min_member is None else read.min_member))
        return SubGroup("", read.min_sub_group, children, constraint)

    def _report_cycles(self, group: Object, parts: Mapping[str, objects.SubGroup]) -> None:
        """Report sub-groups that no path connects to the root; the engine does not see them."""
        lost = [name for name in parts if not _is_below_root(name, parts)]
        if lost:
            names = ", ".join(f"`{name}`" for name in lost)
            message = f"the parents of sub-groups {names} form a cycle; pods in these sub-groups stay pending"
            place = group.place.at("spec", "subGroups", list(parts).index(lost[0]))
            hint = "remove the parent of one of these sub-groups, or choose one outside the cycle"
            self._faults.append(Fault(UNKNOWN_SUB_GROUP, group.address, message, hint, place))

    def _without_parts(self, group: Object, number: int, why: str) -> SubGroup:
        message = f"{why}; the engine treats the group as a single pod without sub-groups"
        place = group.place.at("spec", "subGroups", number)
        hint = "give each sub-group a unique name and an existing parent"
        self._faults.append(Fault(UNKNOWN_SUB_GROUP, group.address, message, hint, place))
        return SubGroup("", None, (SubGroup(_DEFAULT, 1),))

    def _children(
        self,
        parent: str,
        parts: Mapping[str, objects.SubGroup],
        below: Mapping[str, Sequence[str]],
        above: frozenset[str],
    ) -> tuple[SubGroup, ...]:
        made: list[SubGroup] = []
        for name in sorted(below.get(parent, ())):
            if name in above:
                continue
            part = parts[name]
            constraint = None if part.constraint is None else self._constraint(part.constraint)
            if name in below:
                children = self._children(name, parts, below, above | {name})
                made.append(SubGroup(name, part.min_sub_group, children, constraint))
            else:
                made.append(SubGroup(name, max(part.min_member or 0, 0), (), constraint))
        return tuple(made)

    def _constraint(self, declared: objects.TopologyConstraint) -> TopologyConstraint:
        labels = self._aliases.get(declared.topology, {})
        required, preferred = (labels.get(level, level) for level in (declared.required, declared.preferred))
        return TopologyConstraint(declared.topology, required, preferred)


def _is_below_root(name: str, parts: Mapping[str, objects.SubGroup]) -> bool:
    seen = set[str]()
    while name and name not in seen:
        seen.add(name)
        name = (parts[name].parent or "").lower()
    return not name


def _holds_pods(part: SubGroup) -> bool:
    return not part.children or any(_holds_pods(child) for child in part.children)


def _number(text: str | None) -> int:
    try:
        return int(text or "")
    except ValueError:
        return -1
