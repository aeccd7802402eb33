"""One cycle of Kueue's scheduler: the head of every queue is nominated, and the heads are processed in order.

An assignment is charged immediately, so that later heads see it; a head that requires preemption waits until its
targets are gone. Source: kubernetes-sigs/kueue v0.18.3, pkg/scheduler/scheduler.go and fair_sharing_iterator.go.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from apportion_api.kueue.names import ANY, BEST_EFFORT
from apportion_api.kueue.objects import ResourceFlavor
from apportion_runtime.engines.kueue.fair_preemption import fair_targets
from apportion_runtime.engines.kueue.flavor_assigner import Assignment, FlavorAssigner, Mode
from apportion_runtime.engines.kueue.pending_queue import RequeueReason
from apportion_runtime.engines.kueue.preemption import PreemptionRequest, PreemptionSnapshot, classical_targets
from apportion_runtime.engines.kueue.quota_tree import DominantShare, FlavorResource, Node
from apportion_runtime.engines.kueue.records import STRATEGIES, Amounts, Holder, Pending, Queue, Target
from apportion_runtime.engines.kueue.usage_tree import UsageTree, rank

Refuses = Callable[[Pending, Queue], str]
"""Returns why a workload cannot be considered in its queue; empty if it can."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The static configuration from the objects and the manager's configuration.

    Attributes:
        cohorts: As nodes of the tree, named by `cohort_name`.
        strategies: The fair sharing strategies; None if fair sharing is disabled.
    """

    queues: Mapping[str, Queue]
    cohorts: Sequence[Node]
    flavors: Mapping[str, ResourceFlavor]
    strategies: Sequence[str] | None = STRATEGIES


class Outcome(Enum):
    """The result of a head."""

    RESERVED = "reserved"
    PREEMPTING = "preempting"
    WAITING = "waiting"
    SKIPPED = "skipped"
    REFUSED = "refused"


_NOT_ASSIGNED = Assignment()


@dataclass(slots=True)
class Entry:
    """A head of a queue in a cycle."""

    workload: Pending
    assignment: Assignment = field(default_factory=lambda: _NOT_ASSIGNED)
    targets: Sequence[Target] = ()
    outcome: Outcome = Outcome.WAITING
    why: RequeueReason = RequeueReason.GENERIC
    message: str = ""
    generation: int = 0

    def again(self) -> Pending:
        """Return the workload for requeuing."""
        following = self.assignment.next_flavor if self.outcome is Outcome.WAITING else {}
        return self.workload.tried(self.generation, following)


def run_cycle(
    rules: Rules, heads: Iterable[Pending], situation: PreemptionSnapshot, *, refuses: Refuses
) -> list[Entry]:
    """Return the decisions about the heads, in order of processing; the input is not changed."""
    situation.cache.open(rules)
    if situation.attempts is not None:
        situation.attempts.open(rules)
    entries: list[Entry] = []
    refused: list[Entry] = []
    for workload in heads:
        entry = Entry(workload)
        why = refuses(workload, rules.queues[workload.queue])
        if why:
            entry.outcome, entry.why, entry.message = Outcome.REFUSED, RequeueReason.NAMESPACE, why
            refused.append(entry)
            continue
        _nominate(rules, situation, entry)
        entries.append(entry)
    preempted: dict[str, Holder] = {}
    done: list[Entry] = []
    taken: list[tuple[str, Amounts]] = []
    for entry in _ordered(rules, situation, entries):
        amounts = _process(situation, entry, preempted)
        situation.ledger.add_usage(entry.workload.queue, amounts)
        taken.append((entry.workload.queue, amounts))
        done.append(entry)
    for name, amounts in reversed(taken):
        situation.ledger.remove_usage(name, amounts)
    return [*done, *refused]


def futile_assignment(rules: Rules, situation: PreemptionSnapshot, workload: Pending) -> Assignment | None:
    """Return the assignment of a head that becomes inadmissible, if a kept attempt shows it and other heads do not depend on it.

    Under fair sharing, they do: a head decides when the others of its cohort are processed.
    """
    queue, attempts = rules.queues[workload.queue], situation.attempts
    if rules.strategies is not None or queue.strategy != BEST_EFFORT or attempts is None:
        return None
    attempts.open(rules)
    found = _known(situation, queue, _restarted(workload, situation.generations.get(queue.name, 0)))
    if found is None or found.mode is Mode.FIT or any(found.next_flavor.values()):
        return None
    return found if found.mode is Mode.NO_FIT or queue.preemption.reclaim == ANY else None


def _restarted(workload: Pending, generation: int) -> Pending:
    """Return a workload that begins with the first flavor if its queue has changed since its last attempt."""
    if workload.next_flavor and workload.generation < generation and any(workload.next_flavor.values()):
        return replace(workload, next_flavor={})
    return workload


def _known(situation: PreemptionSnapshot, queue: Queue, workload: Pending) -> Assignment | None:
    """Return the assignment of a workload, if a kept attempt shows it and no partial admission is possible."""
    if situation.attempts is None or not workload.shape:
        return None
    if workload.next_flavor and any(workload.next_flavor.values()):
        return None
    found = situation.attempts.find(queue, workload)
    if found is not None and found.mode is not Mode.FIT:
        for each in workload.pod_sets:
            if each.least is not None:
                return None
    return found


def _nominate(rules: Rules, situation: PreemptionSnapshot, entry: Entry) -> None:
    queue = rules.queues[entry.workload.queue]
    entry.generation = situation.generations.get(queue.name, 0)
    workload = _restarted(entry.workload, entry.generation)
    known = _known(situation, queue, workload)
    if known is None:
        entry.assignment, entry.targets = _tried(rules, situation, queue, workload)
    else:
        entry.assignment = known
    entry.message = entry.assignment.message


def _tried(rules: Rules, situation: PreemptionSnapshot, queue: Queue, workload: Pending) -> _Attempt:
    """Return the attempt of a workload, or that of its partial admission."""

    def targets_for(usage: Mapping[FlavorResource, int], contested: Iterable[FlavorResource]) -> Sequence[Target]:
        asking = PreemptionRequest(queue, usage, frozenset(contested), workload.priority, workload.ordered_at)
        if rules.strategies is None:
            return classical_targets(situation, asking)
        return fair_targets(situation, asking, rules.strategies)

    def simulate(fr: FlavorResource, amount: int) -> tuple[Mode, int]:
        ledger = situation.ledger
        found = targets_for({fr: amount}, (fr,))
        if not found:
            return Mode.NO_CANDIDATES, ledger.borrowing_height(queue.name, fr, amount)[0]
        with ledger.without(target.holder for target in found):
            borrowing, _ = ledger.borrowing_height(queue.name, fr, amount)
        is_own = any(target.holder.queue == queue.name for target in found)
        return Mode.PREEMPT if is_own else Mode.RECLAIM, borrowing

    shares_fairly = rules.strategies is not None
    assigner = FlavorAssigner(queue, situation.ledger, rules.flavors, shares_fairly=shares_fairly, simulate=simulate)

    def attempt(asking: Pending) -> _Attempt:
        if not asking.shape:
            return attempted(asking)
        counts, following = tuple(each.count for each in asking.pod_sets), tuple(asking.next_flavor.items())
        since = asking.ordered_at if queue.preempts_newer else None
        question = "attempt", queue.name, asking.shape, asking.priority, since, counts, following
        return situation.cache.answer(situation.ledger.root(queue.name), question, lambda: attempted(asking))

    def attempted(asking: Pending) -> _Attempt:
        assignment = assigner.assign(asking)
        if not Mode.NO_FIT < assignment.mode < Mode.FIT:
            return assignment, ()
        return assignment, targets_for(assignment.requested, assignment.contested)

    found = attempt(workload)
    is_first = workload.shape and not any(workload.next_flavor.values())
    if situation.attempts is not None and is_first and assigner.quoted and not found[1]:
        situation.attempts.keep(queue, workload, found[0], assigner.quoted, shares_fairly=shares_fairly)
    if not _helps(found):
        found = _in_part(workload, attempt) or found
    return found


_Attempt = tuple[Assignment, Sequence[Target]]


def _helps(attempt: _Attempt) -> bool:
    assignment, targets = attempt
    return assignment.fits or bool(targets)


def _in_part(workload: Pending, attempt: Callable[[Pending], _Attempt]) -> _Attempt | None:
    """Return the largest partial admission of a workload; None if even its minimum does not fit.

    Source: pkg/scheduler/flavorassigner/podset_reducer.go.
    """
    spare = [0 if each.least is None else each.count - each.least for each in workload.pod_sets]
    total = sum(spare)
    if not total:
        return None
    found: dict[int, _Attempt] = {}

    def is_enough(step: int) -> bool:
        sets = (each.of(each.count - less * step // total) for each, less in zip(workload.pod_sets, spare, strict=True))
        tried = attempt(replace(workload, pod_sets=tuple(sets)))
        if _helps(tried):
            found[step] = tried
        return step in found

    return found.get(bisect_left(range(total + 1), 1, key=lambda step: int(is_enough(step))))


def _process(situation: PreemptionSnapshot, entry: Entry, preempted: dict[str, Holder]) -> Amounts:
    """Decide about a head, and return the usage to charge for later ones."""
    ledger, assignment = situation.ledger, entry.assignment
    queue = situation.queues[entry.workload.queue]
    if assignment.mode is Mode.NO_FIT:
        entry.why = RequeueReason.NO_FIT
        return {}
    if not assignment.fits and not entry.targets:
        entry.why = RequeueReason.NO_CANDIDATES
        # Quota that it may be unable to reclaim is reserved for it, so that no later head uses it.
        return {} if queue.preemption.reclaim == ANY else _kept_for(ledger, queue, assignment)
    if any(target.holder.key in preempted for target in entry.targets):
        return _skip(entry, "Workload has overlapping preemption targets with another workload")
    removed = [*preempted.values(), *(target.holder for target in entry.targets)]
    if not ledger.fits_without(removed, queue.name, assignment.usage):
        return _skip(entry, "Workload no longer fits after processing another workload")
    preempted.update({target.holder.key: target.holder for target in entry.targets})
    if assignment.fits:
        entry.outcome, entry.message = Outcome.RESERVED, ""
    else:
        entry.outcome, entry.why = Outcome.PREEMPTING, RequeueReason.PENDING_PREEMPTION
        entry.message += f". Pending the preemption of {len(entry.targets)} workload(s)"
    return assignment.usage


def _skip(entry: Entry, message: str) -> Amounts:
    entry.outcome, entry.why, entry.message = Outcome.SKIPPED, RequeueReason.AFTER_NOMINATION, message
    return {}


def _kept_for(ledger: UsageTree, queue: Queue, assignment: Assignment) -> dict[FlavorResource, int]:
    kept: dict[FlavorResource, int] = {}
    for fr, amount in assignment.usage.items():
        quota, used = ledger.quota_of(queue.name, fr), ledger.usage[queue.name].get(fr, 0)
        if assignment.borrowing == 0:
            kept[fr] = max(0, min(amount, quota.nominal - used))
        elif quota.borrowing_limit is None:
            kept[fr] = amount
        else:
            kept[fr] = min(amount, quota.nominal + quota.borrowing_limit - used)
    return kept


def _ordered(rules: Rules, situation: PreemptionSnapshot, entries: list[Entry]) -> Iterator[Entry]:
    if rules.strategies is None:
        # Kueue leaves equal heads in the random order of a map; here, that is the order of their queues' names.
        by_queue = sorted(entries, key=lambda entry: entry.workload.queue)
        yield from sorted(by_queue, key=lambda entry: (entry.assignment.borrowing, *_importance(entry)))
        return
    left = {entry.workload.queue: entry for entry in entries}
    usage, ledger = situation.ledger.usage, situation.ledger
    shares: dict[str, dict[str, Mapping[str, _SharePosition]]] = {}
    while left:
        root = ledger.root(min(left))
        if root not in shares:
            below = [entry for name, entry in left.items() if ledger.root(name) == root]
            shares[root] = {entry.workload.key: dict(_shares(ledger, entry)) for entry in below}
        winner = _winner(ledger, min(left), left, shares[root])
        del left[winner.workload.queue]
        held = dict(usage[winner.workload.queue])
        yield winner
        if usage[winner.workload.queue] != held:
            # The winner's assignment counts in the shares of its ancestor cohorts; the root has no share.
            above = set(ledger.ancestors(winner.workload.queue)) - {root}
            for name, entry in left.items():
                if not above.isdisjoint(ledger.ancestors(name)):
                    shares[root][entry.workload.key] = dict(_shares(ledger, entry))


def _importance(entry: Entry) -> tuple[int, float]:
    return -entry.workload.priority, entry.workload.ordered_at


def _winner(ledger: UsageTree, first: str, left: Mapping[str, Entry], shares: _SharesOfRoot) -> Entry:
    """Return the next head of a queue's cohort tree: at each cohort, the child with the smallest share."""
    root = ledger.root(first)
    if root == first:
        return left[first]
    found = _best_below(ledger, root, left, shares)
    assert found is not None
    return found


_SharePosition = tuple[bool, DominantShare]
"""Whether a node would borrow for a workload, and its share with it."""
_SharesOfRoot = Mapping[str, Mapping[str, _SharePosition]]
"""By workload and cohort."""


def _shares(ledger: UsageTree, entry: Entry) -> Iterator[tuple[str, _SharePosition]]:
    """Yield each ancestor cohort of a workload, with the share of its child on the path to the workload."""
    name, usage = entry.workload.queue, entry.assignment.usage
    with ledger.with_usage(name, usage):
        below = name
        for cohort in ledger.ancestors(name):
            borrows = any(amount > 0 and ledger.borrows(below, fr) for fr, amount in usage.items())
            yield cohort, (borrows, ledger.share(below))
            below = cohort


def _best_below(ledger: UsageTree, cohort: str, left: Mapping[str, Entry], shares: _SharesOfRoot) -> Entry | None:
    found = [_best_below(ledger, child, left, shares) for child in ledger.cohorts_in(cohort)]
    candidates = [entry for entry in found if entry is not None]
    candidates += [left[name] for name in ledger.queues_in(cohort) if name in left]

    def key(entry: Entry) -> tuple[object, ...]:
        borrows, share = shares[entry.workload.key][cohort]
        return borrows, rank(share), _importance(entry)

    # Of equal candidates, that of a child cohort precedes those of the cohort's own queues (runTournament).
    return min(candidates, key=key, default=None)
