"""kube-queue's quota accounting: the usage of dequeued jobs, and whether another one may be dequeued.

A job holds its request from the time it is dequeued until it finishes, whatever its pods do. A preemptible job may
use its quota and its ancestors up to `max`; a non-preemptible job is limited to `min` and not checked against `max`:
it must be dequeued for the scheduler to reclaim lent quota.

Within the `min` of its quota a job is dequeued in either case, even if the ancestors are full: by seed document 002,
the scheduler then reclaims what others borrowed, which it cannot do for pods that do not exist. koord-queue dequeues
only non-preemptible jobs in this case; `QueueRules` has this and the other differences.

Source: koordinator-sh/koord-queue at 298e9a8c, pkg/framework/plugins/elasticquota/elastic_quota_tree.go (Filter) and
elasticquotatree/elasticquota.go.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from apportion_api.ack import names
from apportion_runtime.kube_queue.amounts import Amounts, minus, text
from apportion_runtime.kube_queue.queueing import QueueRules, SumUpdate
from apportion_runtime.kube_queue.tree import Quota, Tree
from apportion_runtime.snapshots.pod_requests import total

_NO_BOUND = 2**31 - 1
"""Limits of at least this amount are unlimited to kube-queue; it counts memory in bytes (`rQuant < math.MaxInt32`)."""
_JOBS = "jobs"


class Refusal(NamedTuple):
    """The path of the quota that refuses a job, and the reason."""

    at: str
    why: str


@dataclass(slots=True)
class QuotaAccounts:
    """The usage of each quota, by full name; inner quotas include their descendants."""

    tree: Tree
    rules: QueueRules = field(default_factory=QueueRules)
    used: dict[str, dict[str, int]] = field(default_factory=dict)
    fixed: dict[str, dict[str, int]] = field(default_factory=dict)
    """The part of `used` that is not preemptible."""
    n_jobs: dict[str, int] = field(default_factory=dict)
    n_given: dict[str, int] = field(default_factory=dict)
    """The number of releases of each quota; until it grows, the quota refuses again what it has refused.

    If sums are updated late, every change of the quota counts, since any of them updates a sum.
    """
    n_changes: int = 0
    """The number of changes of `n_given`."""
    sums: dict[str, dict[str, int]] = field(default_factory=dict)
    """The usage of each quota as ancestors count it: that of its children, including what they do not lend."""

    def __post_init__(self) -> None:
        for path in reversed(tuple(self.tree.quotas)):
            self.sums[path] = self._sum_of_children(path)

    def reserve(self, quota: str, demand: Amounts, *, preemptible: bool) -> None:
        """Charge the quota of a dequeued job."""
        counts = self.rules.counts_empty_jobs or any(demand.values())
        self._change(quota, demand, int(counts), preemptible=preemptible)
        if self.rules.sum_update is SumUpdate.AFTER_DEQUEUE:
            self._change(quota, {}, 0, preemptible=preemptible)
        if self.rules.sum_update is not SumUpdate.AT_ONCE:
            self._count_change(quota)

    def unreserve(self, quota: str, demand: Amounts, *, preemptible: bool) -> None:
        """Release the quota of a finished or requeued job."""
        self._change(quota, {name: -amount for name, amount in demand.items()}, -1, preemptible=preemptible)
        self._count_change(quota)

    def would_fail_again(self, refused_by: str, n_given: int) -> bool:
        """Return whether a quota would refuse again what it refused at a given number of releases."""
        return self.n_given.get(refused_by, 0) == n_given

    def _count_change(self, quota: str) -> None:
        self.n_changes += 1
        for each in self.tree.upward(quota):
            self.n_given[each.path] = self.n_given.get(each.path, 0) + 1

    def _change(self, quota: str, demand: Amounts, n_jobs: int, *, preemptible: bool) -> None:
        at_once = self.rules.sum_update is SumUpdate.AT_ONCE
        change: Amounts | None = None
        for each in self.tree.upward(quota):
            path, before = each.path, self._reserved(each.path)
            if at_once:
                self._charge(path, demand)
            self._update_sum(path, demand if at_once else None, change)
            change = minus(self._reserved(path), before)
            if not at_once:
                self._charge(path, demand)
            self.n_jobs[path] = self.n_jobs.get(path, 0) + n_jobs
            if not preemptible:
                self.fixed[path] = total((self.fixed.get(path, {}), demand))

    def _charge(self, path: str, demand: Amounts) -> None:
        self.used[path] = total((self.used.get(path, {}), demand))

    def _update_sum(self, path: str, demand: Amounts | None, change: Amounts | None) -> None:
        """Update the sum of a quota by the change of its child's; without one, for its own jobs.

        Jobs of a quota with children are not in koord-queue's sum.
        """
        below = self.tree.children[path]
        if not below:
            self.sums[path] = {**self.sums[path], **self.held(path)}
        elif change is not None:
            self._add(path, change)
        elif demand is not None:
            self._add(path, demand)
        else:
            self.sums[path] = self._sum_of_children(path)

    def _sum_of_children(self, path: str) -> dict[str, int]:
        # A resource that no child uses or reserves has no entry: see `_reserved`.
        reserved = (self._reserved(child) for child in self.tree.children[path])
        return total(amount for amount in reserved if any(amount.values()))

    def _add(self, path: str, change: Amounts) -> None:
        if any(change.values()):
            self.sums[path] = total((self.sums[path], change))

    def _reserved(self, path: str) -> Amounts:
        """Return the sum of a quota, or what it does not lend if that is more.

        koord-queue adds the excess of a lend limit over `min`, as a negative amount, for a resource without usage
        (`getUsedWithLendLimit`).
        """
        at, amount = self.tree.quotas[path], dict(self.sums[path])
        for name, kept in at.kept.items():
            amount[name] = max(amount.get(name, 0), kept)
        if not self.rules.lends_min_at_most:
            for name, excess in at.overlent.items():
                amount[name] = max(amount.get(name, -excess), -excess)
        return amount

    def held(self, quota: str) -> Amounts:
        """Return the usage of a quota."""
        return self.used.get(quota, {})

    def refusal(self, quota: str, demand: Amounts, *, preemptible: bool) -> Refusal | None:
        """Return why a job may not be dequeued, in kube-queue's wording; None if it may."""
        bound = self._over_max if preemptible else self._over_min
        path = self.tree.upward(quota)
        if preemptible and self.rules.reclaims and self.tree.quotas[quota].holds_to_min(demand, self.held(quota)):
            return bound(next(path), quota, demand)
        return next(filter(None, (bound(each, quota, demand) for each in path)), None)

    def _over_max(self, at: Quota, quota: str, demand: Amounts) -> Refusal | None:
        below = None if at.path == quota else self._below(at.path, quota)
        used = self.held(at.path)
        counted = used if below is None else self._with_kept(at, below)
        over = _exceeded(at.maximum, demand, counted, self.n_jobs.get(at.path, 0))
        if over is None:
            return None
        what = f"request {_of(over, demand, 1)}, max {_of(over, at.maximum)}"
        what += f", used {self.n_jobs.get(at.path, 0) if over == _JOBS else text(over, used.get(over, 0))}"
        if below is not None and over != _JOBS:
            what += f", used+reserved {counted.get(over, 0)}"
        return _words(over, at, what, is_parent=below is not None)

    def _over_min(self, at: Quota, quota: str, demand: Amounts) -> Refusal | None:
        fixed = self.fixed.get(at.path, {})
        over = _exceeded(at.minimum, demand, fixed, self.n_jobs.get(at.path, 0))
        if over is None:
            return None
        used = self.n_jobs.get(at.path, 0) if over == _JOBS else text(over, fixed.get(over, 0))
        what = f"request {_of(over, demand, 1)}, min {_of(over, at.minimum)}, used {used}"
        is_parent = at.path != quota
        return _words(over, at, what if is_parent else f"{what}, preempt 0", is_parent=is_parent)

    def _below(self, path: str, quota: str) -> str:
        """Return the child of a node on the path to a quota."""
        at = quota
        for each in self.tree.upward(quota):
            if each.path == path:
                return at
            at = each.path
        raise KeyError(path)

    def _with_kept(self, parent: Quota, but_for: str) -> Amounts:
        """Return the usage below a node, including what its other children reserve."""
        return total((minus(self.sums[parent.path], self._reserved(but_for)), self.held(but_for)))


def _exceeded(bound: Amounts, demand: Amounts, used: Amounts, n_jobs: int) -> str | None:
    """Return the first resource that would be exceeded, `jobs` for the number of jobs; None if there is none."""
    most = bound.get(names.MAX_JOBS_KEY)
    if most is not None and most < _NO_BOUND and n_jobs + 1 > most:
        return _JOBS
    for resource, amount in bound.items():
        asked = demand.get(resource, 0)
        if asked and amount < _NO_BOUND and asked + used.get(resource, 0) > amount:
            return resource
    return None


def _of(resource: str, amount: Amounts, jobs: int | None = None) -> str:
    if resource == _JOBS:
        return str(amount[names.MAX_JOBS_KEY] if jobs is None else jobs)
    return text(resource, amount.get(resource, 0))


def _words(resource: str, at: Quota, what: str, *, is_parent: bool) -> Refusal:
    of = "parent quota" if is_parent else "quota"
    return Refusal(
        at.path,
        f"Insufficient quota({resource}) in {of} {at.path}: {what}, oversellreate 1. "
        "Wait for running jobs to complete"
    )  # fmt: skip
