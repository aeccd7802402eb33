"""Usage of every ClusterQueue and Cohort during a cycle, with additions that can be undone.

Source: kubernetes-sigs/kueue v0.18.3, pkg/cache/scheduler/resource_node.go and clusterqueue_snapshot.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from apportion_runtime.engines.kueue.quota_tree import CohortTree, DominantShare, FlavorResource, Node, Quota
from apportion_runtime.engines.kueue.records import Amounts, Holder, Queue


class UsageTree(CohortTree):
    """The cohort tree with its current usage."""

    def __init__(self, queues: Iterable[Queue], cohorts: Iterable[Node], holders: Iterable[Holder] = ()) -> None:
        own = [Node(queue.name, _cohort(queue), queue.quotas, queue.weight) for queue in queues]
        super().__init__([*cohorts, *own])
        self._members = {name: sorted(child.name for child in of) for name, of in self._children.items()}
        self._cohorts = {name: [c for c in of if self._nodes[c].is_cohort] for name, of in self._members.items()}
        self._leaves = {name: [c for c in of if not self._nodes[c].is_cohort] for name, of in self._members.items()}
        self._lent: dict[str, dict[str, int]] = {}
        self._most: dict[tuple[str, FlavorResource], int] = {}
        self._shares: dict[str, DominantShare] = {}
        for holder in holders:
            self.add_usage(holder.queue, holder.usage)

    def parent(self, name: str) -> str | None:
        """Return the cohort to which a node belongs."""
        return self._nodes[name].parent

    def ancestors(self, name: str) -> Iterator[str]:
        """Yield the ancestor cohorts of a node, the nearest first."""
        at = self.parent(name)
        while at is not None:
            yield at
            at = self.parent(at)

    def root(self, name: str) -> str:
        """Return the root cohort of a node; the node itself if it has none."""
        return next(reversed(list(self.ancestors(name))), name)

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
        return max(0, self._kept(self._nodes[name], fr) - self.usage[name].get(fr, 0))

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
        self._shares.pop(name, None)
        node, usage = self._nodes[name], self.usage[name]
        used, parent = usage.get(fr, 0), node.parent
        usage[fr] = used + amount
        beyond = amount - max(0, self._kept(node, fr) - used)
        if parent is not None and beyond > 0:
            self._add(parent, fr, beyond)

    def _remove(self, name: str, fr: FlavorResource, amount: int) -> None:
        self._shares.pop(name, None)
        node, usage = self._nodes[name], self.usage[name]
        used, parent = usage.get(fr, 0), node.parent
        usage[fr] = used - amount
        in_parent = used - self._kept(node, fr)
        if parent is not None and in_parent > 0:
            self._remove(parent, fr, min(amount, in_parent))

    def left(self, queue: str, fr: FlavorResource) -> int:
        """Return the available quota of a queue, at least 0."""
        return max(0, self.available(queue, fr))

    def fits(self, queue: str, amounts: Amounts) -> bool:
        """Return whether a queue has room for amounts."""
        return all(self.left(queue, fr) >= amount for fr, amount in amounts.items())

    def borrows(self, name: str, fr: FlavorResource, amount: int = 0) -> bool:
        """Return whether a node borrows with an additional amount."""
        return self.quota[name].get(fr, 0) < self.usage[name].get(fr, 0) + amount

    def within(self, name: str, frs: Iterable[FlavorResource]) -> bool:
        """Return whether a node is within its nominal quota for some resources."""
        return not any(self.borrows(name, fr) for fr in frs)

    def height(self, cohort: str) -> int:
        """Return the height of a cohort: the distance to its furthest leaf."""
        own = 1 if self._members.get(cohort) else 0
        return max([own, *(self.height(child) + 1 for child in self.cohorts_in(cohort))])

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


def _cohort(queue: Queue) -> str | None:
    return queue.cohort and cohort_name(queue.cohort)


def cohort_name(name: str) -> str:
    """Return the name of a cohort in the tree, distinct from a ClusterQueue of the same name."""
    return f"cohort {name}"
