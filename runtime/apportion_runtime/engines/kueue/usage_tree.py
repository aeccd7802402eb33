"""Usage of every ClusterQueue and Cohort during a cycle, with additions that can be undone.

Source: kubernetes-sigs/kueue v0.18.3, pkg/cache/scheduler/resource_node.go and clusterqueue_snapshot.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from apportion_runtime.engines.kueue.quota_tree import (
    CohortTree,
    DominantShare,
    FlavorResource,
    Node,
    Quota,
    minus,
    plus,
)
from apportion_runtime.engines.kueue.records import Amounts, Holder, Queue


class UsageTree(CohortTree):
    """The cohort tree with its current usage."""

    def __init__(self, queues: Iterable[Queue], cohorts: Iterable[Node], holders: Iterable[Holder] = ()) -> None:
        own = [Node(queue.name, _cohort(queue), queue.quotas, queue.weight) for queue in queues]
        super().__init__([*cohorts, *own])
        self._members = {name: sorted(child.name for child in of) for name, of in self._children.items()}
        self._cohorts = {name: [c for c in of if self._nodes[c].is_cohort] for name, of in self._members.items()}
        self._leaves = {name: [c for c in of if not self._nodes[c].is_cohort] for name, of in self._members.items()}
        self._parents = {name: node.parent for name, node in self._nodes.items()}
        self._paths = {name: tuple(self._above(name)) for name in self._nodes}
        self._heights: dict[str, int] = {}
        self._guaranteed = {name: kept for name, node in self._nodes.items() if (kept := self._unlent(node))}
        """What each node with lending limits does not lend; quotas are constant."""
        self._limits = {name: limits for name, node in self._nodes.items() if (limits := _borrowing_limits(node))}
        has_limit = self._guaranteed.keys() | self._limits.keys()
        self._limited = {name for name in self._nodes if not has_limit.isdisjoint((name, *self._paths[name][:-1]))}
        """Nodes of which lending or borrowing is limited; all quota of the root is available to others."""
        self._lent: dict[str, dict[str, int]] = {}
        self._most: dict[tuple[str, FlavorResource], int] = {}
        self._shares: dict[str, DominantShare] = {}
        for holder in holders:
            self.add_usage(holder.queue, holder.usage)

    def _above(self, name: str) -> Iterator[str]:
        at = self._parents[name]
        while at is not None:
            yield at
            at = self._parents[at]

    def _unlent(self, node: Node) -> dict[FlavorResource, int]:
        limited = (fr for fr, quota in node.quotas.items() if quota.lending_limit is not None)
        return {fr: self._kept(node, fr) for fr in limited}

    def parent(self, name: str) -> str | None:
        """Return the cohort to which a node belongs."""
        return self._parents[name]

    def ancestors(self, name: str) -> tuple[str, ...]:
        """Return the ancestor cohorts of a node, the nearest first."""
        return self._paths[name]

    def root(self, name: str) -> str:
        """Return the root cohort of a node; the node itself if it has none."""
        above = self._paths[name]
        return above[-1] if above else name

    def is_limited(self, name: str) -> bool:
        """Return whether lending or borrowing of a node, or of a cohort below its root, is limited."""
        return name in self._limited

    def cohorts_in(self, cohort: str) -> list[str]:
        """Return the child cohorts of a cohort, by name."""
        return self._cohorts.get(cohort, [])

    def queues_in(self, cohort: str) -> list[str]:
        """Return the child queues of a cohort, by name."""
        return self._leaves.get(cohort, [])

    def queues_below(self, cohort: str) -> Iterator[str]:
        """Yield every queue of a cohort's subtree."""
        yield from self.queues_in(cohort)
        for child in self.cohorts_in(cohort):
            yield from self.queues_below(child)

    def quota_of(self, name: str, fr: FlavorResource) -> Quota:
        """Return the quota of a node for a (flavor, resource)."""
        return self._nodes[name].quotas.get(fr, Quota())

    def potential(self, name: str, fr: FlavorResource) -> int:
        """Return the potential available quota of a node; quotas are constant."""
        found = self._most.get((name, fr))
        if found is None:
            found = self._most[name, fr] = super().potential(name, fr)
        return found

    def _lendable(self, name: str) -> dict[str, int]:
        found = self._lent.get(name)
        if found is None:
            found = self._lent[name] = super()._lendable(name)
        return found

    def local(self, name: str, fr: FlavorResource) -> int:
        """Return the unused part of a node's guaranteed quota."""
        if name not in self._guaranteed:
            return 0
        return max(0, self.guaranteed(name, fr) - self.usage[name].get(fr, 0))

    def guaranteed(self, name: str, fr: FlavorResource) -> int:
        """Return the quota that a node does not lend."""
        own = self._guaranteed.get(name)
        return 0 if own is None else own.get(fr, 0)

    def add_usage(self, queue: str, amounts: Amounts) -> None:
        """Add usage."""
        for fr, amount in amounts.items():
            self._add(queue, fr, amount)

    def remove_usage(self, queue: str, amounts: Amounts) -> None:
        """Remove usage."""
        for fr, amount in amounts.items():
            self._remove(queue, fr, amount)

    @contextmanager
    def with_usage(self, queue: str, amounts: Amounts) -> Iterator[None]:
        """Add usage within a context."""
        self.add_usage(queue, amounts)
        yield
        self.remove_usage(queue, amounts)

    @contextmanager
    def without(self, holders: Iterable[Holder]) -> Iterator[None]:
        """Remove the usage of some workloads within a context."""
        gone = tuple(holders)
        for holder in gone:
            self.remove_usage(holder.queue, holder.usage)
        yield
        for holder in gone:
            self.add_usage(holder.queue, holder.usage)

    def _add(self, name: str, fr: FlavorResource, amount: int) -> None:
        at: str | None = name
        while at is not None and (amount > 0 or at == name):
            self._shares.pop(at, None)
            usage = self.usage[at]
            used = usage.get(fr, 0)
            usage[fr] = used + amount
            # Only usage beyond the guaranteed quota reaches the cohort.
            if at in self._guaranteed:
                amount -= max(0, self.guaranteed(at, fr) - used)
            at = self._parents[at]

    def _remove(self, name: str, fr: FlavorResource, amount: int) -> None:
        at: str | None = name
        while at is not None and (amount > 0 or at == name):
            self._shares.pop(at, None)
            usage = self.usage[at]
            used = usage.get(fr, 0)
            usage[fr] = used - amount
            if at in self._guaranteed:
                amount = min(amount, used - self.guaranteed(at, fr))
            at = self._parents[at]

    def available(self, name: str, fr: FlavorResource) -> int:
        """Return the available quota of a node, including borrowing; negative if it is overused."""
        above = self._paths[name]
        root = above[-1] if above else name
        if name not in self._limited:
            return minus(self.quota[root].get(fr, 0), self.usage[root].get(fr, 0))
        found = minus(self.quota[root].get(fr, 0), self.usage[root].get(fr, 0))
        for at in (*reversed(above[:-1]), name) if above else ():
            kept, usage = self.guaranteed(at, fr), self.usage[at].get(fr, 0)
            limits = self._limits.get(at)
            if limits is not None and fr in limits:
                used = max(0, minus(usage, kept))
                own = minus(minus(self.quota[at].get(fr, 0), kept), used)
                found = min(found, plus(own, limits[fr]))
            found = plus(max(0, minus(kept, usage)), found)
        return found

    def left(self, queue: str, fr: FlavorResource) -> int:
        """Return the available quota of a queue, at least 0."""
        return max(0, self.available(queue, fr))

    def fits(self, queue: str, amounts: Amounts) -> bool:
        """Return whether a queue has room for amounts."""
        return all(self.left(queue, fr) >= amount for fr, amount in amounts.items())

    def fits_without(self, holders: Sequence[Holder], queue: str, amounts: Amounts) -> bool:
        """Return whether a queue has room for amounts without the usage of some workloads."""
        if not holders:
            return self.fits(queue, amounts)
        if self._guaranteed or queue in self._limited:
            with self.without(holders):
                return self.fits(queue, amounts)
        # Without limits, all usage reaches the root, whose quota is available to the queue.
        root = self.root(queue)
        freed: dict[FlavorResource, int] = {}
        for holder in holders:
            if self.root(holder.queue) == root:
                for fr, amount in holder.usage.items():
                    freed[fr] = freed.get(fr, 0) + amount
        return all(amount <= max(0, self.available(queue, fr) + freed.get(fr, 0)) for fr, amount in amounts.items())

    def borrows(self, name: str, fr: FlavorResource, amount: int = 0) -> bool:
        """Return whether a node borrows with an additional amount."""
        return self.quota[name].get(fr, 0) < self.usage[name].get(fr, 0) + amount

    def within(self, name: str, frs: Iterable[FlavorResource]) -> bool:
        """Return whether a node is within its nominal quota for some resources."""
        quota, usage = self.quota[name], self.usage[name]
        return all(quota.get(fr, 0) >= usage.get(fr, 0) for fr in frs)

    def height(self, cohort: str) -> int:
        """Return the height of a cohort: the distance to its furthest leaf."""
        found = self._heights.get(cohort)
        if found is None:
            own = 1 if self._members.get(cohort) else 0
            found = max([own, *(self.height(child) + 1 for child in self.cohorts_in(cohort))])
            self._heights[cohort] = found
        return found

    def borrowing_height(self, queue: str, fr: FlavorResource, amount: int) -> tuple[int, bool]:
        """Return the height of the lowest subtree in which an amount fits, and whether it is smaller than the whole
        tree.

        The height of a queue is 0; if the amount fits nowhere, it is the height of the whole tree.
        """
        has_parent = self.parent(queue) is not None
        if not has_parent or not self.borrows(queue, fr, amount):
            return 0, has_parent
        remaining = amount - self.local(queue, fr)
        for cohort in self.ancestors(queue):
            if not self.borrows(cohort, fr, remaining):
                return self.height(cohort), self.parent(cohort) is not None
            remaining -= self.local(cohort, fr)
        return self.height(self.root(queue)), False

    def borrows_any(self, name: str, frs: Iterable[FlavorResource]) -> bool:
        """Return whether a node that has a parent borrows any of some resources."""
        return self.parent(name) is not None and any(self.borrows(name, fr) for fr in frs)

    def share(self, name: str) -> DominantShare:
        """Return the dominant share of a node, cached until its usage changes."""
        found = self._shares.get(name)
        if found is None:
            found = self._shares[name] = self.dominant_share(name)
        return found


def rank(share: DominantShare) -> tuple[bool, float]:
    """Return the sort key of a share: a borrowing node with weight 0 is last."""
    without_weight = share.weight == 0 and share.ratio != 0
    return without_weight, share.ratio if without_weight else share.weighted


def _borrowing_limits(node: Node) -> dict[FlavorResource, int]:
    return {fr: quota.borrowing_limit for fr, quota in node.quotas.items() if quota.borrowing_limit is not None}


def _cohort(queue: Queue) -> str | None:
    return queue.cohort and cohort_name(queue.cohort)


def cohort_name(name: str) -> str:
    """Return the name of a cohort in the tree, distinct from a ClusterQueue of the same name."""
    return f"cohort {name}"
