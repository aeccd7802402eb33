"""Preemption targets under fair sharing.

Source: kubernetes-sigs/kueue v0.18.3, pkg/scheduler/preemption/preemption.go and preemption/fairsharing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from apportion_api.kueue.names import NEVER
from apportion_runtime.engines.kueue.preemption import (
    FAIR,
    IN_QUEUE,
    RECLAMATION,
    PreemptionRequest,
    PreemptionSnapshot,
    candidate_order,
    has_room,
    may_go,
    put_back,
    restore,
)
from apportion_runtime.engines.kueue.quota_tree import DominantShare
from apportion_runtime.engines.kueue.records import FINAL_SHARE, STRATEGIES, Holder, Target
from apportion_runtime.engines.kueue.usage_tree import UsageTree, rank

_NO_SHARE = (False, -1.0)


def fair_targets(
    situation: PreemptionSnapshot, asking: PreemptionRequest, strategies: Sequence[str] = STRATEGIES
) -> list[Target]:
    """Return the preemption targets; empty if preemption does not help."""
    candidates = _candidates(situation, asking)
    if not candidates:
        return []
    candidates.sort(key=candidate_order(situation.now, asking.queue.name))
    ledger, name = situation.ledger, asking.queue.name
    # The compared shares include the preemptor.
    ledger.add_usage(name, asking.usage)
    fits, targets, rejected = _first_round(situation, asking, candidates, strategies[0])
    if not fits and len(strategies) > 1:
        fits = _second_round(situation, asking, rejected, targets)
    ledger.remove_usage(name, asking.usage)
    if fits:
        return put_back(ledger, asking, targets, borrowing=True)
    restore(ledger, targets)
    return []


def _candidates(situation: PreemptionSnapshot, asking: PreemptionRequest) -> list[Holder]:
    ledger, queue = situation.ledger, asking.queue
    found: list[Holder] = []
    if queue.preemption.within_queue != NEVER:
        of_own = situation.holders.get(queue.name, ())
        found += (holder for holder in of_own if may_go(holder, asking, queue.preemption.within_queue))
    if queue.cohort is None or queue.preemption.reclaim == NEVER:
        return found
    for name in ledger.queues_below(ledger.root(queue.name)):
        if name != queue.name and ledger.borrows_any(name, asking.contested):
            others = situation.holders.get(name, ())
            found += (holder for holder in others if may_go(holder, asking, queue.preemption.reclaim))
    return found


def _first_round(
    situation: PreemptionSnapshot, asking: PreemptionRequest, candidates: Iterable[Holder], strategy: str
) -> tuple[bool, list[Target], list[Holder]]:
    ledger, own = situation.ledger, asking.queue.name
    ordering = _TargetSearch(situation, asking, candidates)
    targets: list[Target] = []
    rejected: list[Holder] = []
    is_within_nominal = not any(ledger.borrows(own, fr) for fr in asking.contested)
    for name in ordering:
        if name == own or is_within_nominal:
            holder = ordering.take(name)
            targets.append(ordering.remove(holder, IN_QUEUE if name == own else RECLAMATION))
            if _fits(ledger, asking):
                return True, targets, []
            continue
        mine, theirs = ordering.shares(name)
        while ordering.waiting[name]:
            holder = ordering.take(name)
            after = ordering.share_after(holder)
            passed = rank(mine) <= rank(after) if strategy == FINAL_SHARE else rank(mine) < rank(theirs)
            if not passed:
                rejected.append(holder)
                continue
            targets.append(ordering.remove(holder, FAIR))
            if _fits(ledger, asking):
                return True, targets, []
            break
    return False, targets, rejected


def _second_round(
    situation: PreemptionSnapshot, asking: PreemptionRequest, rejected: Iterable[Holder], targets: list[Target]
) -> bool:
    ordering = _TargetSearch(situation, asking, rejected)
    for name in ordering:
        mine, theirs = ordering.shares(name)
        holder = ordering.take(name)
        if rank(mine) < rank(theirs):
            targets.append(ordering.remove(holder, FAIR))
            if _fits(situation.ledger, asking):
                return True
        ordering.pruned.add(name)
    return False


def _fits(ledger: UsageTree, asking: PreemptionRequest) -> bool:
    ledger.remove_usage(asking.queue.name, asking.usage)
    fits = has_room(ledger, asking, borrowing=True)
    ledger.add_usage(asking.queue.name, asking.usage)
    return fits


class _TargetSearch:
    """Repeatedly descends from the root to the child with the largest share, until no candidates are left.

    Attributes:
        waiting: The remaining candidates by queue.
        pruned: Nodes without further candidates.
    """

    def __init__(self, situation: PreemptionSnapshot, asking: PreemptionRequest, candidates: Iterable[Holder]) -> None:
        self._ledger = situation.ledger
        self._own = asking.queue.name
        self._order = candidate_order(situation.now, self._own)
        self._path = frozenset(self._ledger.ancestors(self._own))
        self.waiting: dict[str, list[Holder]] = {}
        for holder in candidates:
            self.waiting.setdefault(holder.queue, []).append(holder)
        self.pruned: set[str] = set()

    def __iter__(self) -> Iterator[str]:
        if not self._path:
            while self.waiting.get(self._own):
                yield self._own
            return
        root = self._ledger.root(self._own)
        while root not in self.pruned:
            name = self._next(root)
            if name is not None:
                yield name

    def remove(self, holder: Holder, reason: str) -> Target:
        """Subtract the usage of a workload."""
        self._ledger.remove_usage(holder.queue, holder.usage)
        return Target(holder, reason)

    def take(self, queue: str) -> Holder:
        """Remove and return the first candidate of a queue."""
        return self.waiting[queue].pop(0)

    def _next(self, cohort: str) -> str | None:
        queue, queue_rank = self._largest_queue(cohort)
        child, child_rank = self._largest_cohort(cohort)
        if queue is None and child is None:
            self.pruned.add(cohort)
            return None
        if child is not None and child_rank >= queue_rank:
            return self._next(child)
        return queue

    def _largest_queue(self, cohort: str) -> tuple[str | None, tuple[bool, float]]:
        found, highest = None, _NO_SHARE
        for name in self._ledger.queues_in(cohort):
            if name in self.pruned:
                continue
            share = self._ledger.share(name)
            if (not share.borrowing and name != self._own) or not self.waiting.get(name):
                self.pruned.add(name)
            elif found is not None and rank(share) == highest:
                if self._order(self.waiting[name][0]) < self._order(self.waiting[found][0]):
                    found = name
            elif rank(share) > highest:
                found, highest = name, rank(share)
        return found, highest

    def _largest_cohort(self, cohort: str) -> tuple[str | None, tuple[bool, float]]:
        found, highest = None, _NO_SHARE
        for name in self._ledger.cohorts_in(cohort):
            if name in self.pruned:
                continue
            share = self._ledger.share(name)
            if not share.borrowing and name not in self._path:
                self.pruned.add(name)
            # Kueue takes a random one of equal cohorts. Any other than its own could be preempted again in every cycle.
            elif rank(share) > highest or (rank(share) == highest and found not in self._path):
                found, highest = name, rank(share)
        return found, highest

    def shares(self, queue: str) -> tuple[DominantShare, DominantShare]:
        """Return the shares of the preemptor's and another queue's ancestors below their lowest common cohort."""
        meeting = self._meeting(queue)
        return self._ledger.share(self._below(self._own, meeting)), self._ledger.share(self._below(queue, meeting))

    def share_after(self, holder: Holder) -> DominantShare:
        """Return the share of the other side's ancestor without a workload."""
        below = self._below(holder.queue, self._meeting(holder.queue))
        with self._ledger.without((holder,)):
            return self._ledger.share(below)

    def _meeting(self, queue: str) -> str:
        return next(cohort for cohort in self._ledger.ancestors(queue) if cohort in self._path)

    def _below(self, queue: str, meeting: str) -> str:
        """Return the child of a cohort on the path to a queue."""
        below = queue
        for cohort in self._ledger.ancestors(queue):
            if cohort == meeting:
                break
            below = cohort
        return below
