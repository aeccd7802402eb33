"""Kueue's quota arithmetic: the available quota of a ClusterQueue in its cohorts, and its weighted dominant share.

A node of the tree is a ClusterQueue or a Cohort. Quotas, limits and usage are by flavor and resource; amounts are
integers that saturate at `UNLIMITED`, like 64-bit integers in the engine.

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
    """The quota of a node for a (flavor, resource); a limit of None is no limit."""

    nominal: int = 0
    borrowing_limit: int | None = None
    lending_limit: int | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """A ClusterQueue or a Cohort. A parent that is not among the nodes is an implicit cohort without quota and limits.

    Attributes:
        weight: The fair sharing weight; with 0, all others take precedence.
        usage: The usage of a ClusterQueue; that of a cohort is derived from its children.
    """

    name: str
    parent: str | None = None
    quotas: Mapping[FlavorResource, Quota] = field(default_factory=dict)
    weight: float = 1.0
    usage: Mapping[FlavorResource, int] = field(default_factory=dict)
    is_cohort: bool = False


@dataclass(frozen=True, slots=True)
class DominantShare:
    """The dominant share of a node: borrowed amount in thousandths of the lendable amount, unweighted.

    `resource` is the dominant resource, empty if nothing lendable is borrowed.
    """

    ratio: float
    resource: str
    weight: float
    borrowing: bool

    @property
    def weighted(self) -> float:
        """The weighted share; infinite for a borrowing node with weight 0."""
        if self.ratio == 0:
            return 0.0
        return math.inf if self.weight == 0 else self.ratio / self.weight

    @property
    def rounded(self) -> int:
        """The weighted share as in the engine's status: rounded up, `UNLIMITED` if infinite."""
        return UNLIMITED if math.isinf(self.weighted) else math.ceil(self.weighted)


_NO_QUOTA = Quota()


class CohortTree:
    """The quota tree, with the subtree quota and usage of each node.

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
        """The subtree quota of each node, limited by lending limits."""
        self.usage: dict[str, dict[FlavorResource, int]] = {}
        """The usage of each node; for a cohort, the usage of its children beyond their guaranteed quota."""
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
                quota[fr] = plus(quota.get(fr, 0), minus(amount, self._kept(child, fr)))
            for fr, amount in self.usage[child.name].items():
                usage[fr] = plus(usage.get(fr, 0), max(0, minus(amount, self._kept(child, fr))))

    def _kept(self, node: Node, fr: FlavorResource) -> int:
        """Return what a node does not lend."""
        limit = node.quotas.get(fr, _NO_QUOTA).lending_limit
        return 0 if limit is None else max(0, minus(self.quota[node.name].get(fr, 0), limit))

    def names(self) -> tuple[str, ...]:
        """Return every node's name, implicit cohorts last."""
        return tuple(self._nodes)

    def available(self, name: str, fr: FlavorResource) -> int:
        """Return the available quota of a node, including borrowing; negative if it is overused."""
        node = self._nodes[name]
        quota, usage = self.quota[name].get(fr, 0), self.usage[name].get(fr, 0)
        if node.parent is None:
            return minus(quota, usage)
        from_parent = self.available(node.parent, fr)
        kept, limit = self._kept(node, fr), node.quotas.get(fr, _NO_QUOTA).borrowing_limit
        if limit is not None:
            used = max(0, minus(usage, kept))
            from_parent = min(from_parent, plus(minus(minus(quota, kept), used), limit))
        return plus(max(0, minus(kept, usage)), from_parent)

    def potential(self, name: str, fr: FlavorResource) -> int:
        """Return the potential available quota of a node."""
        node = self._nodes[name]
        quota = self.quota[name].get(fr, 0)
        if node.parent is None:
            return quota
        found = plus(self._kept(node, fr), self.potential(node.parent, fr))
        limit = node.quotas.get(fr, _NO_QUOTA).borrowing_limit
        return found if limit is None else min(found, plus(quota, limit))

    def dominant_share(self, name: str, request: Mapping[FlavorResource, int] | None = None) -> DominantShare:
        """Return a node's dominant share.

        Args:
            name: The node. A root cannot borrow, so its share is 0.
            request: An additional usage of the node.
        """
        node, borrowed = self._nodes[name], dict[str, int]()
        if node.parent is not None:
            for (flavor, resource), quota in self.quota[name].items():
                used = self.usage[name].get((flavor, resource), 0)
                over = minus(plus((request or {}).get((flavor, resource), 0), used), quota)
                if over > 0:
                    borrowed[resource] = plus(borrowed.get(resource, 0), over)
        if node.parent is None or not borrowed:
            return DominantShare(0.0, "", node.weight, borrowing=False)
        lendable = self._lendable(node.parent)
        of = ((r, amount * _PER_MILLE / lendable[r]) for r, amount in borrowed.items() if lendable.get(r, 0) > 0)
        resource, ratio = largest_ratio(of)
        return DominantShare(ratio, resource, node.weight, borrowing=True)

    def _lendable(self, name: str) -> dict[str, int]:
        """Return the lendable amount of each resource below a node, over all flavors."""
        root = self._nodes[name]
        while root.parent is not None:
            root = self._nodes[root.parent]
        found: dict[str, int] = {}
        for flavor, resource in self.quota[root.name]:
            found[resource] = plus(found.get(resource, 0), self.potential(name, (flavor, resource)))
        return found


def plus(left: int, right: int) -> int:
    """Return a sum that saturates, as in the engine."""
    if UNLIMITED in (left, right):
        return UNLIMITED
    return max(_LOWEST, min(left + right, UNLIMITED))


def minus(left: int, right: int) -> int:
    """Return a difference that saturates, as in the engine."""
    if left == UNLIMITED:
        return 0 if right == UNLIMITED else UNLIMITED
    if right == UNLIMITED:
        return _LOWEST
    return max(_LOWEST, min(left - right, UNLIMITED))
