"""The nodes that the work of a queue may use, by the nodegroup plugin.

Limits of a queue within a node group, which an annotation sets, are not simulated.

Source: pkg/scheduler/plugins/nodegroup/nodegroup.go at ed72c7c8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apportion_api.volcano import objects as api
from apportion_api.volcano.configuration import Plugin
from apportion_api.volcano.names import NODE_GROUP_LABEL

_SCORE = 100.0


@dataclass(frozen=True, slots=True)
class GroupAffinity:
    """The node groups of `spec.affinity` of a queue."""

    required: tuple[str, ...] = ()
    preferred: tuple[str, ...] = ()
    anti_required: tuple[str, ...] = ()
    anti_preferred: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the affinity names no group."""
        return not (self.required or self.preferred or self.anti_required or self.anti_preferred)

    def allows(self, group: str) -> bool:
        """Return whether work may run on the nodes of a group."""
        if group in self.anti_preferred:
            return True
        return group in (*self.required, *self.preferred) and group not in self.anti_required

    def score(self, group: str, *, is_ordered: bool) -> float:
        """Return the score of the nodes of a group."""
        if group in self.anti_preferred:
            return -1.0
        found = _SCORE if group in self.required else 0.0
        if group in self.preferred:
            n = len(self.preferred)
            found += 0.5 * _SCORE * ((n - self.preferred.index(group)) / n if is_ordered else 1)
        return found


def group_affinity(queue: api.Queue) -> GroupAffinity | None:
    """Return the affinity that a queue declares; None without one."""
    if not queue.affinity:
        return None
    return GroupAffinity(queue.node_groups or (), queue.preferred_groups, queue.shunned_groups, queue.disliked_groups)


class NodeGroups:
    """The plugin in one cycle.

    Args:
        plugin: Its configuration.
        affinities: The affinity of each queue.
        ancestors: The ancestors of each queue, the root first.
    """

    def __init__(
        self, plugin: Plugin, affinities: Mapping[str, GroupAffinity | None], ancestors: Mapping[str, tuple[str, ...]]
    ) -> None:
        self._is_strict = _flag(plugin.arguments.get("strict"), default=True)
        self._is_ordered = _flag(plugin.arguments.get("enablePreferredOrder"), default=False)
        self._affinities = dict(affinities)
        if plugin.does("Hierarchy"):
            for name, above in ancestors.items():
                declared = (affinities[each] for each in (name, *reversed(above)) if affinities[each] is not None)
                self._affinities[name] = next(declared, None)

    def refused(self, queue: str, labels: Mapping[str, str]) -> str:
        """Return why work of a queue may not run on a node with some labels; empty if it may."""
        affinity = self._affinities.get(queue)
        is_free = affinity is None or affinity.is_empty
        group = labels.get(NODE_GROUP_LABEL)
        if group is None:
            return "" if is_free and not self._is_strict else "node group label not found"
        if affinity is None or is_free:
            return "node group affinity not found"
        return "" if affinity.allows(group) else "node unsatisfied"

    def score(self, queue: str, labels: Mapping[str, str]) -> float:
        """Return the score of a node with some labels for work of a queue."""
        affinity, group = self._affinities.get(queue), labels.get(NODE_GROUP_LABEL)
        return 0.0 if affinity is None or group is None else affinity.score(group, is_ordered=self._is_ordered)


def node_groups(
    plugin: Plugin | None, affinities: Mapping[str, GroupAffinity | None], ancestors: Mapping[str, tuple[str, ...]]
) -> NodeGroups | None:
    """Return the plugin in a cycle; None if it is not enabled. The arguments are those of `NodeGroups`."""
    return None if plugin is None else NodeGroups(plugin, affinities, ancestors)


def _flag(written: object, *, default: bool) -> bool:
    if isinstance(written, bool):
        return written
    known = {"1": True, "t": True, "true": True, "0": False, "f": False, "false": False}
    return known.get(str(written).lower(), default)
