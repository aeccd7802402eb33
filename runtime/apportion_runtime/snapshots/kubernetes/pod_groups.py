"""Pod groups: queue, priority, preemptibility, and the tree of their parts.

Source: pkg/scheduler/cache/cluster_info/cluster_info.go (snapshotPodGroups), api/podgroup_info/job_info.go
(SetPodGroup), subgroup_info/factory.go, pkg/common/podgroup/preemptible.go.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from apportion_api.kai.names import (
    DEFAULT_PRIORITY,
    LAST_EVICTION_ANNOTATION,
    LAST_START_ANNOTATION,
    NON_PREEMPTIBLE_FROM,
    STALE_SINCE_ANNOTATION,
)
from apportion_runtime.core.snapshot import PodGroup, SubGroup, Topology, TopologyConstraint
from apportion_runtime.snapshots.faults import IGNORED_VALUE, QUANTITY, UNKNOWN_CLASS, UNKNOWN_SUB_GROUP, Fault
from apportion_runtime.snapshots.kubernetes.configuration import Engine
from apportion_runtime.snapshots.kubernetes.objects import Object
from apportion_runtime.snapshots.kubernetes.times import created, duration, stamp

_DEFAULT = "default"
_NO_BACKOFF = -1
_PREEMPTIBLE, _NON_PREEMPTIBLE = "preemptible", "non-preemptible"


def read_topologies(topologies: Sequence[Object]) -> tuple[tuple[Topology, ...], Mapping[str, Mapping[str, str]]]:
    """Return topologies, and by topology the node labels that aliases of its levels stand for."""
    levels = {made.name: made.spec.get("levels") or () for made in topologies}
    read = tuple(Topology(name, tuple(level.get("nodeLabel") or "" for level in of)) for name, of in levels.items())
    aliases = {
        name: {level["alias"]: level.get("nodeLabel") or "" for level in of if level.get("alias")}
        for name, of in levels.items()
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
        self._priorities = {made.name: made.data.get("value") or 0 for made in classes}
        defaults = [made.data.get("value") or 0 for made in classes if made.data.get("globalDefault")]
        self._default = defaults[0] if defaults else DEFAULT_PRIORITY
        self._queues = queues
        self._aliases = aliases
        self._engine = engine
        self._faults = faults

    def read(self, groups: Sequence[Object]) -> tuple[PodGroup, ...]:
        """Return the pod groups that are up for a decision. The engine knows them by name, without the namespace."""
        made: dict[str, PodGroup] = {}
        for group in groups:
            if not self._engine.is_of_pool(group.labels) or self._backs_off(group):
                continue
            if group.name in made:
                message = (
                    f"{made[group.name].namespace}/{group.name} has the same name, and the engine keeps one of them"
                )
                place = group.place.at("metadata", "name")
                self._faults.append(
                    Fault(IGNORED_VALUE, group.address, message, "give one of them another name", place)
                )
                continue
            made[group.name] = self._group(group)
        return tuple(made.values())

    def _backs_off(self, group: Object) -> bool:
        """Tell whether a group waits for its object to change, having been refused before."""
        backoff = group.spec.get("schedulingBackoff")
        if backoff is None or backoff == _NO_BACKOFF:
            return False
        conditions = group.status.get("schedulingConditions") or ()
        if not conditions:
            return False
        last = max(conditions, key=lambda condition: _number(condition.get("transitionID")))
        pool = group.labels.get(self._engine.node_pool_key) or "default"
        return bool((last.get("nodePool") or "") == pool)

    def _group(self, group: Object) -> PodGroup:
        spec, faults = group.spec, self._faults
        # Of a group without a queue the engine reads neither.
        priority, preemptible = 0, False
        if (spec.get("queue") or "") in self._queues:
            priority = self._priority(group)
            said = spec.get("preemptibility")
            preemptible = (
                said == _PREEMPTIBLE if said in (_PREEMPTIBLE, _NON_PREEMPTIBLE) else priority < NON_PREEMPTIBLE_FROM
            )
        return PodGroup(
            uid=group.name,
            name=group.name,
            namespace=group.namespace,
            queue=spec.get("queue") or "",
            priority=priority,
            preemptible=preemptible,
            created=created(group, faults),
            root=self._root(group),
            last_start=stamp(group, LAST_START_ANNOTATION, faults),
            last_eviction=stamp(group, LAST_EVICTION_ANNOTATION, faults),
            preemption_delay=duration(group, "preemptionDelay", QUANTITY, faults),
            staleness_grace=duration(group, "stalenessGracePeriod", QUANTITY, faults),
            stale_since=stamp(group, STALE_SINCE_ANNOTATION, faults),
        )

    def _priority(self, group: Object) -> int:
        name = group.spec.get("priorityClassName") or ""
        if name in self._priorities:
            return int(self._priorities[name])
        if name:
            message = f"its priority class `{name}` does not exist; it counts as {self._default}"
            hint = "include the priority classes: kubectl get priorityclasses -o json"
            place = group.place.at("spec", "priorityClassName")
            self._faults.append(Fault(UNKNOWN_CLASS, group.address, message, hint, place))
        return int(self._default)

    def _root(self, group: Object) -> SubGroup:
        spec = group.spec
        constraint = None
        if (spec.get("topologyConstraint") or {}).get("topology"):
            constraint = self._constraint(spec["topologyConstraint"])
        parts: dict[str, Mapping[str, Any]] = {}
        below: dict[str, list[str]] = {}
        for number, part in enumerate(spec.get("subGroups") or ()):
            name = part.get("name") or ""
            if name in parts:
                return self._without_parts(group, number, f"there are two sub-groups `{name}`")
            parts[name] = part
            below.setdefault((part.get("parent") or "").lower(), []).append(name)
        for number, part in enumerate(parts.values()):
            parent = (part.get("parent") or "").lower()
            if parent and parent not in parts:
                return self._without_parts(
                    group, number, f"the sub-group `{part.get('name')}` is below `{parent}`, which does not exist"
                )
        children = self._children("", parts, below, frozenset())
        if not any(_holds_pods(child) for child in children):
            least = spec.get("minMember")
            children = (*children, SubGroup(_DEFAULT, 1 if least is None else least))
        return SubGroup("", spec.get("minSubGroup"), children, constraint)

    def _without_parts(self, group: Object, number: int, why: str) -> SubGroup:
        message = f"{why}; the engine treats the group as a single pod without sub-groups"
        place = group.place.at("spec", "subGroups", number)
        hint = "give each sub-group its own name, and name an existing parent"
        self._faults.append(Fault(UNKNOWN_SUB_GROUP, group.address, message, hint, place))
        return SubGroup("", None, (SubGroup(_DEFAULT, 1),))

    def _children(
        self,
        parent: str,
        parts: Mapping[str, Mapping[str, Any]],
        below: Mapping[str, Sequence[str]],
        above: frozenset[str],
    ) -> tuple[SubGroup, ...]:
        made: list[SubGroup] = []
        for name in sorted(below.get(parent, ())):
            if name in above:
                continue
            part = parts[name]
            said = part.get("topologyConstraint")
            constraint = None if said is None else self._constraint(said)
            if name in below:
                children = self._children(name, parts, below, above | {name})
                made.append(SubGroup(name, part.get("minSubGroup"), children, constraint))
            else:
                made.append(SubGroup(name, max(part.get("minMember") or 0, 0), (), constraint))
        return tuple(made)

    def _constraint(self, said: Mapping[str, Any]) -> TopologyConstraint:
        topology = said.get("topology") or ""
        labels = self._aliases.get(topology, {})
        required, preferred = said.get("requiredTopologyLevel") or "", said.get("preferredTopologyLevel") or ""
        return TopologyConstraint(topology, labels.get(required, required), labels.get(preferred, preferred))


def _holds_pods(part: SubGroup) -> bool:
    return not part.children or any(_holds_pods(child) for child in part.children)


def _number(text: str | None) -> int:
    try:
        return int(text or "")
    except ValueError:
        return -1
