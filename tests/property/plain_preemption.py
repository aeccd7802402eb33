"""Kueue's classical preemption without shortcuts: all candidates are listed and sorted, and every attempt is made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_api.kueue.names import NEVER
from apportion_runtime.engines.kueue.preemption import (
    IN_QUEUE,
    RECLAMATION,
    WHILE_BORROWING,
    PreemptionRequest,
    PreemptionSnapshot,
    candidate_order,
    has_room,
    may_go,
    put_back,
    restore,
)
from apportion_runtime.engines.kueue.quota_tree import FlavorResource
from apportion_runtime.engines.kueue.records import Holder, Target
from apportion_runtime.engines.kueue.usage_tree import UsageTree

_Found = list[tuple[Holder, str, str]]
"""Candidates, each with its reason and the lowest common cohort of its queue and the preemptor's."""
_BY_ADVANTAGE = "by advantage"


def plain_targets(situation: PreemptionSnapshot, asking: PreemptionRequest) -> list[Target]:
    """Return the preemption targets; empty if preemption does not help."""
    ledger, name, preemption = situation.ledger, asking.queue.name, asking.queue.preemption
    own, near, far = _candidates(situation, asking)
    order = candidate_order(situation.now, name)
    lists = [sorted(of, key=lambda each: order(each[0])) for of in (near, far, own)]
    ordered = [each for evicted in (True, False) for of in lists for each in of if each[0].evicted is evicted]
    if not ordered:
        return []
    forbidden = preemption.borrowing == NEVER
    nominal_left = all(ledger.quota_of(name, fr).nominal > ledger.usage[name].get(fr, 0) for fr in asking.contested)
    attempts: tuple[bool, ...] = (True, False)
    if not (near or far) or (forbidden and not nominal_left):
        attempts = (True,)
    elif forbidden and not near:
        attempts = (False, True)
    for borrowing in attempts:
        if targets := _taken(ledger, asking, ordered, borrowing=borrowing):
            return targets
    return []


def _candidates(situation: PreemptionSnapshot, asking: PreemptionRequest) -> tuple[_Found, _Found, _Found]:
    ledger, queue = situation.ledger, asking.queue
    own: _Found = []
    near: _Found = []
    far: _Found = []
    if queue.preemption.within_queue != NEVER:
        held = situation.holders.get(queue.name, ())
        own += ((each, IN_QUEUE, "") for each in held if may_go(each, asking, queue.preemption.within_queue))
    if queue.cohort is None or queue.preemption.reclaim == NEVER:
        return own, near, far
    has_advantage, remaining = _fit_in_quota(ledger, queue.name, asking.usage)
    before = ""
    for cohort in ledger.ancestors(queue.name):
        for name in _borrowers(ledger, cohort, before, asking):
            for holder in situation.holders.get(name, ()):
                if may_go(holder, asking, queue.preemption.reclaim):
                    reason = _BY_ADVANTAGE if has_advantage else _reason(holder, asking)
                    (near if has_advantage else far).append((holder, reason, cohort))
        fits, remaining = _fit_in_quota(ledger, cohort, remaining)
        has_advantage = has_advantage or fits
        before = cohort
    return own, near, far


def _borrowers(ledger: UsageTree, cohort: str, before: str, asking: PreemptionRequest) -> Iterator[str]:
    for child in ledger.cohorts_in(cohort):
        if child != before and not ledger.within(child, asking.contested):
            yield from _borrowers(ledger, child, before, asking)
    for name in ledger.queues_in(cohort):
        if name != asking.queue.name and not ledger.within(name, asking.contested):
            yield name


def _reason(holder: Holder, asking: PreemptionRequest) -> str:
    preemption = asking.queue.preemption
    if preemption.borrowing == NEVER or holder.priority >= asking.priority:
        return RECLAMATION
    is_above = preemption.threshold is not None and holder.priority > preemption.threshold
    return RECLAMATION if is_above else WHILE_BORROWING


def _fit_in_quota(
    ledger: UsageTree, name: str, amounts: Mapping[FlavorResource, int]
) -> tuple[bool, Mapping[FlavorResource, int]]:
    fits = not any(ledger.borrows(name, fr, amount) for fr, amount in amounts.items())
    return fits, {fr: max(0, amount - ledger.local(name, fr)) for fr, amount in amounts.items()}


def _taken(
    ledger: UsageTree, asking: PreemptionRequest, ordered: Sequence[tuple[Holder, str, str]], *, borrowing: bool
) -> list[Target]:
    targets: list[Target] = []
    for holder, reason, meeting in ordered:
        if not _is_open(ledger, asking, holder.queue, meeting) or (borrowing and reason == RECLAMATION):
            continue
        ledger.remove_usage(holder.queue, holder.usage)
        targets.append(Target(holder, RECLAMATION if reason == _BY_ADVANTAGE else reason))
        if has_room(ledger, asking, borrowing=borrowing):
            return put_back(ledger, asking, targets, borrowing=borrowing)
    restore(ledger, targets)
    return []


def _is_open(ledger: UsageTree, asking: PreemptionRequest, name: str, meeting: str) -> bool:
    if name == asking.queue.name:
        return True
    path = [name]
    for cohort in ledger.ancestors(name):
        if cohort == meeting:
            break
        path.append(cohort)
    return not any(ledger.within(node, asking.contested) for node in path)
