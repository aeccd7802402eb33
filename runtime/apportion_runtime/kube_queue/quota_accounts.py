"""kube-queue's quota accounting: the usage of dequeued jobs, and whether another one may be dequeued.

A job holds its request from the time it is dequeued until it finishes, whatever its pods do. A preemptible job may
use its quota and its ancestors up to `max`; a non-preemptible job is limited to `min` and not checked against `max`:
it must be dequeued for the scheduler to reclaim lent quota.

Within the `min` of its quota a job is dequeued in either case, even if the ancestors are full: by seed document 002,
the scheduler then reclaims what others borrowed, which it cannot do for pods that do not exist. koord-queue dequeues
only non-preemptible jobs in this case.

Source: koordinator-sh/koord-queue at 298e9a8c, pkg/framework/plugins/elasticquota/elastic_quota_tree.go (Filter) and
elasticquotatree/elasticquota.go.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from apportion_api.ack import names
from apportion_runtime.kube_queue.amounts import Amounts, at_least, minus, text
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
    used: dict[str, dict[str, int]] = field(default_factory=dict)
    fixed: dict[str, dict[str, int]] = field(default_factory=dict)
    """The part of `used` that is not preemptible."""
    n_jobs: dict[str, int] = field(default_factory=dict)
    n_given: dict[str, int] = field(default_factory=dict)
    """The number of releases of each quota; until it grows, the quota refuses again what it has refused."""

    def reserve(self, quota: str, demand: Amounts, *, preemptible: bool) -> None:
        """Charge the quota of a dequeued job."""
        self._change(quota, demand, 1, preemptible=preemptible)

    def unreserve(self, quota: str, demand: Amounts, *, preemptible: bool) -> None:
        """Release the quota of a finished or requeued job."""
        self._change(quota, {name: -amount for name, amount in demand.items()}, -1, preemptible=preemptible)
        for each in self.tree.upward(quota):
            self.n_given[each.path] = self.n_given.get(each.path, 0) + 1

    def would_fail_again(self, refused_by: str, n_given: int) -> bool:
        """Return whether a quota would refuse again what it refused at a given number of releases."""
        return self.n_given.get(refused_by, 0) == n_given

    def _change(self, quota: str, demand: Amounts, n_jobs: int, *, preemptible: bool) -> None:
        for each in self.tree.upward(quota):
            self.used[each.path] = total((self.used.get(each.path, {}), demand))
            self.n_jobs[each.path] = self.n_jobs.get(each.path, 0) + n_jobs
            if not preemptible:
                self.fixed[each.path] = total((self.fixed.get(each.path, {}), demand))

    def held(self, quota: str) -> Amounts:
        """Return the usage of a quota."""
        return self.used.get(quota, {})

    def refusal(self, quota: str, demand: Amounts, *, preemptible: bool) -> Refusal | None:
        """Return why a job may not be dequeued, in kube-queue's wording; None if it may."""
        bound = self._over_max if preemptible else self._over_min
        path = self.tree.upward(quota)
        if preemptible and self.tree.quotas[quota].holds_to_min(demand, self.held(quota)):
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
        if not self.tree.has_unlent:
            return self.held(parent.path)
        everything = total(self._reserved(child) for child in self.tree.children[parent.path])
        return total((minus(everything, self._reserved(but_for)), self.held(but_for)))

    def _reserved(self, path: str) -> Amounts:
        """Return the used or reserved amount of a node, whichever is larger."""
        below = self.tree.children[path]
        used = total(self._reserved(child) for child in below) if below else self.held(path)
        return at_least(used, self.tree.quotas[path].kept)


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
