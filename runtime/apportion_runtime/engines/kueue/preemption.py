"""Preemption targets without fair sharing.

Source: kubernetes-sigs/kueue v0.18.3, pkg/scheduler/preemption/preemption.go and preemption/classical.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from apportion_api.kueue.names import ANY, LOWER_OR_NEWER, LOWER_PRIORITY, NEVER
from apportion_runtime.engines.kueue.quota_tree import FlavorResource
from apportion_runtime.engines.kueue.records import Amounts, Holder, Queue, Target
from apportion_runtime.engines.kueue.usage_tree import UsageTree

IN_QUEUE, RECLAMATION = "InClusterQueue", "InCohortReclamation"
WHILE_BORROWING, FAIR = "InCohortReclaimWhileBorrowing", "InCohortFairSharing"


@dataclass(frozen=True, slots=True)
class PreemptionRequest:
    """The request of a workload, and the part that requires preemption."""

    queue: Queue
    usage: Amounts
    contested: frozenset[FlavorResource]
    priority: int = 0
    ordered_at: float = float("-inf")


@dataclass(slots=True)
class PreemptionSnapshot:
    """The queues, their usage, and the workloads that hold it. `holders` is by queue, and constant during a cycle.

    Attributes:
        generations: By queue, how often a workload that holds its quota was changed or removed.
    """

    queues: Mapping[str, Queue]
    ledger: UsageTree
    holders: Mapping[str, Iterable[Holder]]
    now: float = 0.0
    generations: Mapping[str, int] = field(default_factory=dict)
    _found: dict[tuple[object, ...], list[Holder]] = field(default_factory=dict)

    def may_go(self, name: str, asking: PreemptionRequest, policy: str) -> list[Holder]:
        """Return the candidates of a queue under a policy; the result is cached for equivalent preemptors."""
        kind: tuple[object, ...] = (name, policy, asking.contested)
        if policy != ANY:
            kind = (*kind, asking.priority, asking.ordered_at if policy == LOWER_OR_NEWER else None)
        found = self._found.get(kind)
        if found is None:
            held = self.holders.get(name, ())
            found = self._found[kind] = [holder for holder in held if may_go(holder, asking, policy)]
        return found


class _Variant(Enum):
    SAME_QUEUE = IN_QUEUE
    ADVANTAGE = RECLAMATION + " by nearness"
    NOT_BORROWING = RECLAMATION
    BORROWING = WHILE_BORROWING


_REASONS = {_Variant.ADVANTAGE: RECLAMATION}


@dataclass(frozen=True, slots=True)
class _Candidate:
    holder: Holder
    variant: _Variant
    meeting: str = ""
    """The lowest common cohort of its queue and the preemptor's."""


def candidate_order(now: float, queue: str) -> Callable[[Holder], tuple[object, ...]]:
    """Return the order of preemption candidates: lower priority first, then later admission."""

    def key(holder: Holder) -> tuple[object, ...]:
        since = now if holder.reserved_at is None else holder.reserved_at
        return not holder.evicted, holder.queue == queue, holder.priority, -since, holder.uid

    return key


def may_go(holder: Holder, asking: PreemptionRequest, policy: str) -> bool:
    """Return whether a policy allows preempting a workload, and the workload uses a contested resource."""
    if asking.contested.isdisjoint(holder.usage):
        return False
    if policy == ANY:
        return True
    lower = holder.priority < asking.priority
    if policy == LOWER_OR_NEWER:
        return lower or (holder.priority == asking.priority and asking.ordered_at < holder.ordered_at)
    return policy == LOWER_PRIORITY and lower


def classical_targets(situation: PreemptionSnapshot, asking: PreemptionRequest) -> list[Target]:
    """Return the preemption targets; empty if preemption does not help."""
    own, near, far = _candidates(situation, asking)
    order = candidate_order(situation.now, asking.queue.name)
    if not (own or near or far):
        return []
    lists = [sorted(of, key=lambda candidate: order(candidate.holder)) for of in (near, far, own)]
    ordered = [each for evicted in (True, False) for of in lists for each in of if each.holder.evicted is evicted]
    for borrowing in _attempts(situation, asking, near=bool(near), others=bool(near or far)):
        targets = _taken(situation, asking, ordered, borrowing=borrowing)
        if targets:
            return targets
    return []


def _attempts(
    situation: PreemptionSnapshot, asking: PreemptionRequest, *, near: bool, others: bool
) -> tuple[bool, ...]:
    forbidden = asking.queue.preemption.borrowing == NEVER
    if not others or (forbidden and not _is_under_nominal(situation.ledger, asking)):
        return (True,)
    return (False, True) if forbidden and not near else (True, False)


def _is_under_nominal(ledger: UsageTree, asking: PreemptionRequest) -> bool:
    name = asking.queue.name
    return all(ledger.quota_of(name, fr).nominal > ledger.usage[name].get(fr, 0) for fr in asking.contested)


def _candidates(
    situation: PreemptionSnapshot, asking: PreemptionRequest
) -> tuple[list[_Candidate], list[_Candidate], list[_Candidate]]:
    """Return the candidates of the same queue, those over which the preemptor has a hierarchical advantage, and the others."""
    ledger, queue = situation.ledger, asking.queue
    own: list[_Candidate] = []
    near: list[_Candidate] = []
    far: list[_Candidate] = []
    if queue.preemption.within_queue != NEVER:
        own += _of_queue(situation, asking, queue.name, "", has_advantage=False)
    if queue.cohort is None or queue.preemption.reclaim == NEVER:
        return own, near, far
    has_advantage, remaining = _fit_in_quota(ledger, queue.name, asking.usage)
    before = ""
    for cohort in ledger.ancestors(queue.name):
        found = near if has_advantage else far
        for name in _borrowers(ledger, cohort, before, asking):
            found += _of_queue(situation, asking, name, cohort, has_advantage=has_advantage)
        fits, remaining = _fit_in_quota(ledger, cohort, remaining)
        has_advantage = has_advantage or fits
        before = cohort
    return own, near, far


def _borrowers(ledger: UsageTree, cohort: str, before: str, asking: PreemptionRequest) -> Iterator[str]:
    """Yield the borrowing queues below a cohort, without a subtree that was visited before."""
    for child in ledger.cohorts_in(cohort):
        if child != before and not ledger.within(child, asking.contested):
            yield from _borrowers(ledger, child, before, asking)
    for name in ledger.queues_in(cohort):
        if name != asking.queue.name and not ledger.within(name, asking.contested):
            yield name


def _of_queue(
    situation: PreemptionSnapshot, asking: PreemptionRequest, name: str, meeting: str, *, has_advantage: bool
) -> Iterator[_Candidate]:
    is_own = name == asking.queue.name
    policy = asking.queue.preemption.within_queue if is_own else asking.queue.preemption.reclaim
    for holder in situation.may_go(name, asking, policy):
        variant = _Variant.SAME_QUEUE if is_own else _variant(holder, asking, has_advantage=has_advantage)
        yield _Candidate(holder, variant, meeting)


def _variant(holder: Holder, asking: PreemptionRequest, *, has_advantage: bool) -> _Variant:
    preemption = asking.queue.preemption
    if has_advantage:
        return _Variant.ADVANTAGE
    if preemption.borrowing == NEVER or holder.priority >= asking.priority:
        return _Variant.NOT_BORROWING
    is_above = preemption.threshold is not None and holder.priority > preemption.threshold
    return _Variant.NOT_BORROWING if is_above else _Variant.BORROWING


def _fit_in_quota(ledger: UsageTree, name: str, amounts: Amounts) -> tuple[bool, Amounts]:
    """Return whether amounts fit into a node's own quota, and return the remainder for its parent."""
    fits = not any(ledger.borrows(name, fr, amount) for fr, amount in amounts.items())
    return fits, {fr: max(0, amount - ledger.local(name, fr)) for fr, amount in amounts.items()}


def _taken(
    situation: PreemptionSnapshot, asking: PreemptionRequest, ordered: Iterable[_Candidate], *, borrowing: bool
) -> list[Target]:
    ledger = situation.ledger
    targets: list[Target] = []
    for candidate in ordered:
        if not _is_open(ledger, asking, candidate, borrowing=borrowing):
            continue
        ledger.remove_usage(candidate.holder.queue, candidate.holder.usage)
        targets.append(Target(candidate.holder, _REASONS.get(candidate.variant, candidate.variant.value)))
        if has_room(ledger, asking, borrowing=borrowing):
            return put_back(ledger, asking, targets, borrowing=borrowing)
    restore(ledger, targets)
    return []


def _is_open(ledger: UsageTree, asking: PreemptionRequest, candidate: _Candidate, *, borrowing: bool) -> bool:
    name = candidate.holder.queue
    if name == asking.queue.name:
        return True
    if borrowing and candidate.variant is _Variant.NOT_BORROWING:
        return False
    if ledger.within(name, asking.contested):
        return False
    for cohort in ledger.ancestors(name):
        if cohort == candidate.meeting:
            return True
        if ledger.within(cohort, asking.contested):
            return False
    return True


def has_room(ledger: UsageTree, asking: PreemptionRequest, *, borrowing: bool) -> bool:
    """Return whether a request fits, with borrowing if allowed."""
    name = asking.queue.name
    if not borrowing and any(ledger.borrows(name, fr, amount) for fr, amount in asking.usage.items()):
        return False
    return ledger.fits(name, asking.usage)


def put_back(ledger: UsageTree, asking: PreemptionRequest, targets: list[Target], *, borrowing: bool) -> list[Target]:
    """Keep unnecessary targets, the last one first, and restore the usage of all."""
    for number in range(len(targets) - 2, -1, -1):
        holder = targets[number].holder
        ledger.add_usage(holder.queue, holder.usage)
        if has_room(ledger, asking, borrowing=borrowing):
            # The last one takes its place, as in the engine, where this order decides which is considered next.
            targets[number] = targets[-1]
            targets.pop()
        else:
            ledger.remove_usage(holder.queue, holder.usage)
    restore(ledger, targets)
    return targets


def restore(ledger: UsageTree, targets: Iterable[Target]) -> None:
    """Restore the usage of targets."""
    for target in targets:
        ledger.add_usage(target.holder.queue, target.holder.usage)
