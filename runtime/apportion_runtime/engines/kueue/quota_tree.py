"""Kueue's quota arithmetic: what a ClusterQueue can still use in its cohorts, and its weighted dominant share.

A node of the tree is a ClusterQueue or a Cohort. Quotas, limits and use are by flavor and resource; amounts are whole
numbers that stick at `UNLIMITED` as 64-bit integers do.

Source: kubernetes-sigs/kueue pkg/cache/scheduler (resource_node.go, fair_sharing.go) and pkg/resources/amount.go
at ff69552e79.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from apportion_runtime.engines.base.proportions import largest_ratio

FlavorResource = tuple[str, str]
"""Flavor, resource."""
UNLIMITED = 2**63 - 1
_LOWEST = -(2**63)
_PER_MILLE = 1000.0


@dataclass(frozen=True, slots=True)
class Quota:
    """What a node has of a resource of a flavor; a limit of None is no limit."""

    nominal: int = 0
    borrowing_limit: int | None = None
    lending_limit: int | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """A ClusterQueue or a Cohort. A parent that is not among the nodes is a cohort without quota and limits.

    Attributes:
        weight: Of fair sharing; 0 lets others always come first.
        usage: What is in use; of a ClusterQueue only, a cohort's follows from those below it.
    """

    name: str
    parent: str | None = None
    quotas: Mapping[FlavorResource, Quota] = field(default_factory=dict)
    weight: float = 1.0
    usage: Mapping[FlavorResource, int] = field(default_factory=dict)
    is_cohort: bool = False


@dataclass(frozen=True, slots=True)
class DominantShare:
    """How far a node goes beyond its own, in thousandths of what it could be lent, before its weight.

    `resource` is the one of which it borrows the largest part, empty where it borrows nothing that can be lent.
    """

    ratio: float
    resource: str
    weight: float
    borrowing: bool

    @property
    def weighted(self) -> float:
        """The share by which nodes are compared; infinite where one without weight borrows."""
        if self.ratio == 0:
            return 0.0
        return math.inf if self.weight == 0 else self.ratio / self.weight

    @property
    def rounded(self) -> int:
        """The same as the engine's status has it: rounded up, `UNLIMITED` where it is infinite."""
        return UNLIMITED if math.isinf(self.weighted) else math.ceil(self.weighted)


class CohortTree:
    """Nodes with what they have and use, each with what those below it pass up.

    Raises:
        ValueError: If two nodes have one name, or a node is its own ancestor.
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._nodes: dict[str, Node] = {}
        for node in nodes:
            if node.name in self._nodes:
                raise ValueError(f"{node.name} is listed twice")
            self._nodes[node.name] = node
        for node in tuple(self._nodes.values()):
            if node.parent is not None and node.parent not in self._nodes:
                self._nodes[node.parent] = Node(node.parent, is_cohort=True)
        self._children: dict[str, list[Node]] = {}
        for node in self._nodes.values():
            if node.parent is not None:
                self._children.setdefault(node.parent, []).append(node)
        self.quota: dict[str, dict[FlavorResource, int]] = {}
        """What each node and those below it have together, as far as it is lent upwards."""
        self.usage: dict[str, dict[FlavorResource, int]] = {}
        """What each node uses; of a cohort, what those below it use of what is not theirs alone."""
        for root in [node for node in self._nodes.values() if node.parent is None]:
            self._sum(root)
        looped = self._nodes.keys() - self.quota.keys()
        if looped:
            raise ValueError(f"{min(looped)} is its own ancestor")

    def _sum(self, node: Node) -> None:
        quota = {fr: of.nominal for fr, of in node.quotas.items()}
        usage = {} if node.is_cohort else dict(node.usage)
        self.quota[node.name], self.usage[node.name] = quota, usage
        for child in self._children.get(node.name, ()):
            self._sum(child)
            for fr, amount in self.quota[child.name].items():
                quota[fr] = _add(quota.get(fr, 0), _subtract(amount, self._kept(child, fr)))
            for fr, amount in self.usage[child.name].items():
                usage[fr] = _add(usage.get(fr, 0), max(0, _subtract(amount, self._kept(child, fr))))

    def _kept(self, node: Node, fr: FlavorResource) -> int:
        """Return what a node does not lend."""
        limit = node.quotas.get(fr, Quota()).lending_limit
        return 0 if limit is None else max(0, _subtract(self.quota[node.name].get(fr, 0), limit))

    def names(self) -> tuple[str, ...]:
        """Return every node's name, implied cohorts last."""
        return tuple(self._nodes)

    def available(self, name: str, fr: FlavorResource) -> int:
        """Return what a node can still use, borrowed or its own; negative where too much is in use already."""
        node = self._nodes[name]
        quota, usage = self.quota[name].get(fr, 0), self.usage[name].get(fr, 0)
        if node.parent is None:
            return _subtract(quota, usage)
        from_parent = self.available(node.parent, fr)
        kept, limit = self._kept(node, fr), node.quotas.get(fr, Quota()).borrowing_limit
        if limit is not None:
            used = max(0, _subtract(usage, kept))
            from_parent = min(from_parent, _add(_subtract(_subtract(quota, kept), used), limit))
        return _add(max(0, _subtract(kept, usage)), from_parent)

    def potential(self, name: str, fr: FlavorResource) -> int:
        """Return what a node could use if nothing was in use."""
        node = self._nodes[name]
        quota = self.quota[name].get(fr, 0)
        if node.parent is None:
            return quota
        found = _add(self._kept(node, fr), self.potential(node.parent, fr))
        limit = node.quotas.get(fr, Quota()).borrowing_limit
        return found if limit is None else min(found, _add(quota, limit))

    def dominant_share(self, name: str, request: Mapping[FlavorResource, int] | None = None) -> DominantShare:
        """Return a node's dominant share.

        Args:
            name: The node. A root borrows from nobody, so its share is 0.
            request: Counted as if it was in use by the node, too.
        """
        node, borrowed = self._nodes[name], dict[str, int]()
        if node.parent is not None:
            for (flavor, resource), quota in self.quota[name].items():
                used = self.usage[name].get((flavor, resource), 0)
                over = _subtract(_add((request or {}).get((flavor, resource), 0), used), quota)
                if over > 0:
                    borrowed[resource] = _add(borrowed.get(resource, 0), over)
        if node.parent is None or not borrowed:
            return DominantShare(0.0, "", node.weight, borrowing=False)
        lendable = self._lendable(node.parent)
        of = ((r, amount * _PER_MILLE / lendable[r]) for r, amount in borrowed.items() if lendable.get(r, 0) > 0)
        resource, ratio = largest_ratio(of)
        return DominantShare(ratio, resource, node.weight, borrowing=True)

    def _lendable(self, name: str) -> dict[str, int]:
        """Return what those below a node could be lent of each resource, all flavors together."""
        root = self._nodes[name]
        while root.parent is not None:
            root = self._nodes[root.parent]
        found: dict[str, int] = {}
        for flavor, resource in self.quota[root.name]:
            found[resource] = _add(found.get(resource, 0), self.potential(name, (flavor, resource)))
        return found


def _add(left: int, right: int) -> int:
    if UNLIMITED in (left, right):
        return UNLIMITED
    return max(_LOWEST, min(left + right, UNLIMITED))


def _subtract(left: int, right: int) -> int:
    if left == UNLIMITED:
        return 0 if right == UNLIMITED else UNLIMITED
    if right == UNLIMITED:
        return _LOWEST
    return max(_LOWEST, min(left - right, UNLIMITED))
