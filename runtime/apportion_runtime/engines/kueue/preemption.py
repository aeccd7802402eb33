"""Preemption targets without fair sharing.

Source: kubernetes-sigs/kueue v0.18.3, pkg/scheduler/preemption/preemption.go and preemption/classical.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from apportion_api.kueue.names import ANY, LOWER_OR_NEWER, LOWER_PRIORITY, NEVER
from apportion_runtime.engines.kueue.candidate_order import CandidateOrder, Ranked, RankedHolders, candidate_rank
from apportion_runtime.engines.kueue.kept_attempts import KeptAttempts
from apportion_runtime.engines.kueue.quota_tree import FlavorResource
from apportion_runtime.engines.kueue.records import Amounts, Holder, Queue, Target
from apportion_runtime.engines.kueue.search_cache import SearchCache
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
        kept_order: The holders in the order of candidates, if that is kept from cycle to cycle.
        cache: The answers since the last change of the holders.
        attempts: The attempts that hold within bounds of the usage, if they are kept.
    """

    queues: Mapping[str, Queue]
    ledger: UsageTree
    holders: Mapping[str, Iterable[Holder]]
    now: float = 0.0
    generations: Mapping[str, int] = field(default_factory=dict)
    kept_order: CandidateOrder | None = None
    cache: SearchCache = field(default_factory=SearchCache)
    attempts: KeptAttempts | None = None

    @property
    def order(self) -> CandidateOrder:
        """The holders in the order of candidates."""
        if self.kept_order is None:
            everyone = (holder for of in self.holders.values() for holder in of)
            self.kept_order = CandidateOrder(self.ledger, everyone, now=self.now)
        return self.kept_order


class _Group(Enum):
    """The candidates of the same queue, those over which the preemptor has a hierarchical advantage, and the others."""

    NEAR = "near"
    FAR = "far"
    OWN = "own"


class _Variant(Enum):
    SAME_QUEUE = IN_QUEUE
    ADVANTAGE = RECLAMATION + " by nearness"
    NOT_BORROWING = RECLAMATION
    BORROWING = WHILE_BORROWING


_REASONS = {_Variant.ADVANTAGE: RECLAMATION}


def candidate_order(now: float, queue: str) -> Callable[[Holder], tuple[object, ...]]:
    """Return the order of preemption candidates: lower priority first, then later admission."""

    def key(holder: Holder) -> tuple[object, ...]:
        return not holder.evicted, holder.queue == queue, *candidate_rank(holder, now)

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


def classical_targets(situation: PreemptionSnapshot, asking: PreemptionRequest) -> Sequence[Target]:
    """Return the preemption targets; empty if preemption does not help.

    They are looked up for requests for which a search since the last change of the holders had the same answer.
    """
    asking = _decisive(situation.ledger, asking)
    queue = asking.queue
    usage, since = frozenset(asking.usage.items()), asking.ordered_at if queue.preempts_newer else None
    question = "targets", queue.name, usage, asking.contested, asking.priority, since
    root = situation.ledger.root(queue.name)
    return situation.cache.answer(root, question, lambda: _search(situation, asking))


def _decisive(ledger: UsageTree, asking: PreemptionRequest) -> PreemptionRequest:
    """Return a request without amounts that fit, without borrowing, into its queue and each of its cohorts.

    They fit regardless of the targets, which only lower usage, and give no node an advantage over another.
    """
    if len(asking.usage) == 1:
        return asking
    name = asking.queue.name
    above = ledger.ancestors(name)

    def matters(fr: FlavorResource, amount: int) -> bool:
        if ledger.left(name, fr) < amount or ledger.borrows(name, fr, amount):
            return True
        return any(ledger.borrows(cohort, fr, amount) for cohort in above)

    contested = asking.contested
    usage = {fr: amount for fr, amount in asking.usage.items() if fr in contested or matters(fr, amount)}
    return PreemptionRequest(asking.queue, usage, contested, asking.priority, asking.ordered_at)


def _search(situation: PreemptionSnapshot, asking: PreemptionRequest) -> Sequence[Target]:
    candidates = _Candidates(situation, asking)
    near, far = candidates.has(_Group.NEAR), candidates.has(_Group.FAR)
    if not (near or far or candidates.has(_Group.OWN)):
        return ()
    for borrowing in _attempts(situation.ledger, asking, near=near, others=near or far):
        if _is_hopeless(situation.ledger, asking, candidates, borrowing=borrowing, near=near, far=far):
            continue
        targets = _taken(situation.ledger, asking, candidates, borrowing=borrowing)
        if targets:
            return targets
    return ()


class _Candidates:
    """The candidates for a request, read in order."""

    def __init__(self, situation: PreemptionSnapshot, asking: PreemptionRequest) -> None:
        ledger, order, queue = situation.ledger, situation.order, asking.queue
        self._ledger, self._asking, self._cache = ledger, asking, situation.cache
        self._path = {cohort: number for number, cohort in enumerate(ledger.ancestors(queue.name))}
        self._first_near = self._advantage()
        self._groups: dict[str, _Group | None] = {queue.name: None}
        self._order = order
        self._may_reclaim = queue.cohort is not None and queue.preemption.reclaim != NEVER
        self._others = order.of_cohort(queue.name) if self._may_reclaim else RankedHolders()
        self._own = RankedHolders() if queue.preemption.within_queue == NEVER else order.of_queue(queue.name)

    def _advantage(self) -> int:
        """Return the number of the first cohort whose other queues are near: the request fits into the quota below."""
        ledger, name = self._ledger, self._asking.queue.name
        fits, remaining = _fit_in_quota(ledger, name, self._asking.usage)
        for number, cohort in enumerate(self._path):
            if fits:
                return number
            fits, remaining = _fit_in_quota(ledger, cohort, remaining)
        return len(self._path)

    def has(self, group: _Group) -> bool:
        """Return whether a group has any candidate."""
        if group is _Group.OWN:
            return any(True for _ in self._of_own(self._own.in_order))
        if not self._may_reclaim or self._first_near == (len(self._path) if group is _Group.NEAR else 0):
            return False
        asking, own = self._asking, self._asking.queue.name
        policy = asking.queue.preemption.reclaim
        for name in self._ledger.queues_below(self._ledger.root(own)):
            if name == own or self._group_of(name) is not group or not self.is_open(name):
                continue
            parts = self._order.of_queue(name).in_order
            if any(may_go(ranked[-1], asking, policy) for part in parts for ranked in part):
                return True
        return False

    def in_order(self, closed: Container[str], *, with_far: bool) -> Iterator[tuple[_Group, Holder]]:
        """Yield the candidates of queues that are not closed yet, those that are being evicted first."""
        groups = (_Group.NEAR, _Group.FAR) if with_far else (_Group.NEAR,)
        for others, own in zip(self._others.in_order, self._own.in_order, strict=True):
            for group in groups:
                for holder in self._of_others(others, group, closed):
                    yield group, holder
            yield from ((_Group.OWN, holder) for holder in self._of_own((own,)))

    @property
    def own_usage(self) -> Amounts:
        """The usage of all candidates of the same queue."""
        asking, policy = self._asking, self._asking.queue.preemption.within_queue
        question = asking.contested, asking.priority, asking.ordered_at if policy == LOWER_OR_NEWER else None
        return self._cache.answer(asking.queue.name, ("own usage", *question), self._sum_of_own)

    def _sum_of_own(self) -> Amounts:
        found: dict[FlavorResource, int] = {}
        for holder in self._of_own(self._own.in_order):
            for fr, amount in holder.usage.items():
                found[fr] = found.get(fr, 0) + amount
        return found

    def _of_own(self, parts: Iterable[Sequence[Ranked]]) -> Iterator[Holder]:
        asking, policy = self._asking, self._asking.queue.preemption.within_queue
        for part in parts:
            for ranked in part:
                holder = ranked[-1]
                if may_go(holder, asking, policy):
                    yield holder
                elif policy != ANY and holder.priority > asking.priority:
                    # The following ones have at least its priority.
                    break

    def _of_others(self, part: Sequence[Ranked], group: _Group, closed: Container[str]) -> Iterator[Holder]:
        asking, groups, policy = self._asking, self._groups, self._asking.queue.preemption.reclaim
        for ranked in part:
            holder = ranked[-1]
            name = holder.queue
            if name not in groups:
                self._group_of(name)
            if groups[name] is group and name not in closed and may_go(holder, asking, policy):
                yield holder

    def _group_of(self, name: str) -> _Group | None:
        if name not in self._groups:
            meeting = next(cohort for cohort in self._ledger.ancestors(name) if cohort in self._path)
            self._groups[name] = _Group.NEAR if self._path[meeting] >= self._first_near else _Group.FAR
        return self._groups[name]

    def is_open(self, name: str) -> bool:
        """Return whether another queue, and each of its cohorts below those of the preemptor, still borrows."""
        ledger, contested = self._ledger, self._asking.contested
        if ledger.within(name, contested):
            return False
        for cohort in ledger.ancestors(name):
            if cohort in self._path:
                return True
            if ledger.within(cohort, contested):
                return False
        return True


def _attempts(ledger: UsageTree, asking: PreemptionRequest, *, near: bool, others: bool) -> tuple[bool, ...]:
    forbidden = asking.queue.preemption.borrowing == NEVER
    if not others or (forbidden and not _is_under_nominal(ledger, asking)):
        return (True,)
    return (False, True) if forbidden and not near else (True, False)


def _is_under_nominal(ledger: UsageTree, asking: PreemptionRequest) -> bool:
    name = asking.queue.name
    return all(ledger.quota_of(name, fr).nominal > ledger.usage[name].get(fr, 0) for fr in asking.contested)


def _is_hopeless(
    ledger: UsageTree, asking: PreemptionRequest, candidates: _Candidates, *, borrowing: bool, near: bool, far: bool
) -> bool:
    """Return whether not even all candidates are enough, if that follows from those of the same queue."""
    name, own = asking.queue.name, candidates.own_usage
    if not borrowing and _borrows(ledger, asking, own):
        return True
    if near or (far and not (borrowing and asking.queue.preemption.borrowing == NEVER)):
        return False
    return any(ledger.left(name, fr) + own.get(fr, 0) < amount for fr, amount in asking.usage.items())


def _variant(holder: Holder, asking: PreemptionRequest, *, has_advantage: bool) -> _Variant:
    preemption = asking.queue.preemption
    if has_advantage:
        return _Variant.ADVANTAGE
    if preemption.borrowing == NEVER or holder.priority >= asking.priority:
        return _Variant.NOT_BORROWING
    is_above = preemption.threshold is not None and holder.priority > preemption.threshold
    return _Variant.NOT_BORROWING if is_above else _Variant.BORROWING


def _taken(
    ledger: UsageTree, asking: PreemptionRequest, candidates: _Candidates, *, borrowing: bool
) -> Sequence[Target]:
    counted = asking.contested.union(asking.usage)
    targets: list[Target] = []
    # A queue that has lost what it borrows is not a candidate again, as usage only decreases.
    closed: set[str] = set()
    with_far = not borrowing or asking.queue.preemption.borrowing != NEVER
    for group, holder in candidates.in_order(closed, with_far=with_far):
        variant = _Variant.SAME_QUEUE
        if group is not _Group.OWN:
            variant = _variant(holder, asking, has_advantage=group is _Group.NEAR)
            if borrowing and variant is _Variant.NOT_BORROWING:
                continue
            if not candidates.is_open(holder.queue):
                closed.add(holder.queue)
                continue
        ledger.remove_usage(holder.queue, part_of(holder, counted))
        targets.append(Target(holder, _REASONS.get(variant, variant.value)))
        if has_room(ledger, asking, borrowing=borrowing):
            return put_back(ledger, asking, targets, borrowing=borrowing, counted=counted)
    restore(ledger, targets, counted)
    return ()


def _fit_in_quota(ledger: UsageTree, name: str, amounts: Amounts) -> tuple[bool, Amounts]:
    """Return whether amounts fit into a node's own quota, and return the remainder for its parent."""
    fits = not any(ledger.borrows(name, fr, amount) for fr, amount in amounts.items())
    return fits, {fr: max(0, amount - ledger.local(name, fr)) for fr, amount in amounts.items()}


def part_of(holder: Holder, counted: Container[FlavorResource] | None) -> Amounts:
    """Return the usage of a workload that affects a search: of some resources, or of all."""
    if counted is None:
        return holder.usage
    return {fr: amount for fr, amount in holder.usage.items() if fr in counted}


def has_room(ledger: UsageTree, asking: PreemptionRequest, *, borrowing: bool) -> bool:
    """Return whether a request fits, with borrowing if allowed."""
    if not borrowing and _borrows(ledger, asking, {}):
        return False
    return ledger.fits(asking.queue.name, asking.usage)


def _borrows(ledger: UsageTree, asking: PreemptionRequest, without: Amounts) -> bool:
    """Return whether a queue borrows for a request, even without some of its usage."""
    return any(ledger.borrows(asking.queue.name, fr, n - without.get(fr, 0)) for fr, n in asking.usage.items())


def put_back(
    ledger: UsageTree,
    asking: PreemptionRequest,
    targets: list[Target],
    *,
    borrowing: bool,
    counted: Container[FlavorResource] | None = None,
) -> list[Target]:
    """Keep unnecessary targets, the last one first, and restore the usage of all."""
    for number in range(len(targets) - 2, -1, -1):
        holder = targets[number].holder
        usage = part_of(holder, counted)
        ledger.add_usage(holder.queue, usage)
        if has_room(ledger, asking, borrowing=borrowing):
            # The last one takes its place, as in the engine, where this order decides which is considered next.
            targets[number] = targets[-1]
            targets.pop()
        else:
            ledger.remove_usage(holder.queue, usage)
    restore(ledger, targets, counted)
    return targets


def restore(ledger: UsageTree, targets: Iterable[Target], counted: Container[FlavorResource] | None = None) -> None:
    """Restore the usage of targets, which a search has removed."""
    for target in targets:
        ledger.add_usage(target.holder.queue, part_of(target.holder, counted))
