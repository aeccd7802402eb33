"""Attempts to assign flavors that hold while the usage of the queue's path stays between bounds.

An attempt compares usage with quota: whether a request fits, which cohort it borrows from, and, if it fits nowhere,
whether all candidates of its queue would be enough. Each comparison bounds the usage of one node of the tree. Within
these bounds, the attempt has the same outcome, and its message differs only in the amounts that are left.

Attempts with preemption targets are not kept, nor those of queues with lending or borrowing limits, where the quota that
is left depends on several nodes. Read `flavor_assigner` and `preemption` for the attempt itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from apportion_api.kueue.names import ANY, LOWER_OR_NEWER, NEVER
from apportion_runtime.engines.kueue.flavor_assigner import Assignment, Mode, Quoted
from apportion_runtime.engines.kueue.quota_tree import FlavorResource
from apportion_runtime.engines.kueue.records import Pending, Queue
from apportion_runtime.engines.kueue.usage_tree import UsageTree

_MOST_KEPT, _MOST_MESSAGES = 8, 64
_LOWEST, _HIGHEST = -(2**80), 2**80


UsageByPriority = Mapping[str, Mapping[int, Mapping[FlavorResource, int]]]
"""The usage of the workloads that hold quota, by queue, priority, flavor and resource."""


@dataclass(slots=True)
class _Bounds:
    """The comparisons of an attempt.

    Attributes:
        usage: By node and resource, the lowest and the highest usage for which they have the same result.
        own: By resource, the most that candidates of the queue may free.
    """

    ledger: UsageTree
    usage: dict[tuple[str, FlavorResource], tuple[int, int]] = field(default_factory=dict)
    own: dict[FlavorResource, int] = field(default_factory=dict)

    def at_least(self, node: str, fr: FlavorResource, least: int) -> bool:
        """Bound the usage of a node from below; return whether it holds at present."""
        low, high = self.usage.get((node, fr), (_LOWEST, _HIGHEST))
        self.usage[node, fr] = max(low, least), high
        return self.ledger.usage[node].get(fr, 0) >= least

    def compare(self, node: str, fr: FlavorResource, most: int) -> bool:
        """Return whether the usage of a node is above an amount, and bound it to that side."""
        if self.ledger.usage[node].get(fr, 0) > most:
            return self.at_least(node, fr, most + 1)
        low, high = self.usage.get((node, fr), (_LOWEST, _HIGHEST))
        self.usage[node, fr] = low, min(high, most)
        return False


_Bound = tuple[Mapping[FlavorResource, int], FlavorResource, int, int]


@dataclass(slots=True)
class _Kept:
    """An outcome, with its bounds.

    Attributes:
        of_root: The usage of the root, a resource, and the bounds of the usage.
        below: The same of the queue and of the cohorts below the root.
        own: Resources, and the most that candidates of the queue may free.
        shown: The usage and the quota of the root, for each resource of which the message contains what is left.
        assignments: By these amounts.
        checked_at: The number of changes of the queue and of the cohorts below the root when these were last compared.
        holds_below: Whether their usage was within the bounds.
    """

    of_root: Sequence[_Bound]
    below: Sequence[_Bound]
    own: Mapping[FlavorResource, int]
    shown: Sequence[tuple[Mapping[FlavorResource, int], FlavorResource, int]]
    assignments: dict[tuple[int, ...], Assignment] = field(default_factory=dict)
    checked_at: int = -1
    holds_below: bool = False

    def has_bounds_of(self, other: _Kept) -> bool:
        """Return whether another outcome has the same bounds."""
        return (self.of_root, self.below, self.own) == (other.of_root, other.below, other.own)

    def left(self) -> tuple[int, ...]:
        """Return the amounts that are left of the resources in the message."""
        if not self.shown:
            return ()
        if len(self.shown) > 1:
            return tuple([max(0, quota - usage.get(fr, 0)) for usage, fr, quota in self.shown])
        usage, fr, quota = self.shown[0]
        return (max(0, quota - usage.get(fr, 0)),)


class KeptAttempts:
    """The last outcomes for each shape of workloads in a queue.

    Args:
        ledger: The usage.
        held: The usage by priority.
        n_changes: By queue, how often the usage of the queue or of one of its cohorts below the root may have changed.
    """

    def __init__(self, ledger: UsageTree, held: UsageByPriority, n_changes: Mapping[str, int]) -> None:
        self._ledger = ledger
        self._held = held
        self._n_changes = n_changes
        self._kept: dict[str, dict[tuple[str, int], list[_Kept]]] = {}
        self._rules: object = None

    def open(self, rules: object) -> None:
        """Begin a cycle with a configuration; attempts under another one are dropped."""
        if self._rules is not rules:
            self._rules = rules
            self._kept.clear()

    def find(self, queue: Queue, workload: Pending) -> Assignment | None:
        """Return the assignment of a workload that begins with the first flavors, if a kept attempt holds."""
        of_queue = self._kept.get(queue.name)
        if of_queue is None:
            return None
        of_shape = of_queue.get((workload.shape, workload.priority), _NOTHING)
        n_changes = self._n_changes[queue.name]
        for number, kept in enumerate(of_shape):
            if kept.checked_at != n_changes:
                kept.checked_at, kept.holds_below = n_changes, self._holds_below(kept, queue, workload.priority)
            if not kept.holds_below:
                continue
            for usage, fr, low, high in kept.of_root:
                if not low <= usage.get(fr, 0) <= high:
                    break
            else:
                if number:
                    of_shape[:] = [kept, *of_shape[:number], *of_shape[number + 1 :]]
                return kept.assignments.get(kept.left())
        return None

    def _holds_below(self, kept: _Kept, queue: Queue, priority: int) -> bool:
        if not _is_within(kept.below):
            return False
        return not kept.own or all(self._most_own(queue, priority, fr) <= most for fr, most in kept.own.items())

    def keep(
        self, queue: Queue, workload: Pending, made: Assignment, quoted: Sequence[Quoted], *, shares_fairly: bool
    ) -> None:
        """Keep an attempt without targets, if bounds of usage describe it.

        Args:
            queue: The queue of the workload.
            workload: The workload, which began with the first flavors.
            made: Its assignment.
            quoted: The comparisons of its requests with the quota.
            shares_fairly: Whether fair sharing is enabled.
        """
        if self._ledger.is_limited(queue.name):
            return
        bounds = _Bounds(self._ledger)
        for each in quoted:
            if not self._bound(bounds, queue, each):
                return
        hopeless = {(each.fr, each.amount) for each in quoted if each.mode is Mode.NO_CANDIDATES}
        if Mode.NO_FIT < made.mode < Mode.FIT:
            hopeless |= {(fr, amount) for fr, amount in made.requested.items() if fr in made.contested}
            if made.contested.isdisjoint(made.requested):
                return
        if hopeless and (shares_fairly or queue.preemption.borrowing != NEVER):
            return
        if not all(self._is_hopeless(bounds, queue, workload.priority, fr, amount) for fr, amount in hopeless):
            return
        self._put(queue, workload, made, quoted, bounds)

    def _put(
        self, queue: Queue, workload: Pending, made: Assignment, quoted: Sequence[Quoted], bounds: _Bounds
    ) -> None:
        usage, root = self._ledger.usage, self._ledger.root(queue.name)
        shown = dict.fromkeys(each.fr for each in quoted if each.shows_left)
        quota = self._ledger.quota[root]
        # Those that are contested are exceeded most often.
        checked = sorted(bounds.usage.items(), key=lambda bound: bound[0][1] not in shown)
        of_root, below = (
            [(usage[node], fr, low, high) for (node, fr), (low, high) in checked if (node == root) is is_root]
            for is_root in (True, False)
        )
        kept = _Kept(of_root, below, bounds.own, [(usage[root], fr, quota.get(fr, 0)) for fr in shown])
        of_shape = self._kept.setdefault(queue.name, {}).setdefault((workload.shape, workload.priority), [])
        same = next((each for each in of_shape if each.has_bounds_of(kept)), None)
        if same is None:
            of_shape.insert(0, kept)
            del of_shape[_MOST_KEPT:]
        else:
            kept = same
        if len(kept.assignments) >= _MOST_MESSAGES:
            kept.assignments.clear()
        kept.assignments[kept.left()] = made

    def _bound(self, bounds: _Bounds, queue: Queue, quoted: Quoted) -> bool:
        """Bound the usage for which a request compares in the same way with the quota; return whether that is possible."""
        ledger, fr, amount = self._ledger, quoted.fr, quoted.amount
        if quoted.mode in (Mode.PREEMPT, Mode.RECLAIM):
            return False
        if quoted.is_impossible:
            return True
        if amount > 0:
            root = ledger.root(queue.name)
            bounds.compare(root, fr, ledger.quota[root].get(fr, 0) - amount)
        if ledger.parent(queue.name) is not None:
            for node in (queue.name, *ledger.ancestors(queue.name)):
                if not bounds.compare(node, fr, ledger.quota[node].get(fr, 0) - amount):
                    break
        return True

    def _is_hopeless(self, bounds: _Bounds, queue: Queue, priority: int, fr: FlavorResource, amount: int) -> bool:
        """Return whether no search for targets for an amount, alone or with others, succeeds; bound the usage for that.

        The request fits into the quota of no cohort below the root, so no candidates are near; without the own
        candidates, the queue borrows; and the root has not enough quota even without them.
        """
        ledger, name = self._ledger, queue.name
        own = self._most_own(queue, priority, fr)
        if own >= amount:
            return False
        bounds.own[fr] = own
        root = ledger.root(name)
        least = {root: ledger.quota[root].get(fr, 0) + own - amount + 1}
        if queue.cohort is not None and queue.preemption.reclaim != NEVER:
            above = ledger.ancestors(name)[:-1]
            least |= {node: ledger.quota[node].get(fr, 0) - amount + 1 for node in (name, *above)}
            least[name] = ledger.quota[name].get(fr, 0) - amount + 1 + own
        return all(bounds.at_least(node, fr, usage) for node, usage in least.items())

    def _most_own(self, queue: Queue, priority: int, fr: FlavorResource) -> int:
        """Return a bound of what the candidates of the same queue use."""
        policy = queue.preemption.within_queue
        if policy == NEVER:
            return 0
        most = priority - (policy not in (ANY, LOWER_OR_NEWER))
        held = self._held.get(queue.name, {})
        return sum([of.get(fr, 0) for each, of in held.items() if policy == ANY or each <= most])


def _is_within(bounds: Sequence[_Bound]) -> bool:
    return all(low <= usage.get(fr, 0) <= high for usage, fr, low, high in bounds)


_NOTHING: list[_Kept] = []
