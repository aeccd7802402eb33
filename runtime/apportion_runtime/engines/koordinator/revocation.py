"""The controller that evicts pods of quotas that have used more than their runtime quota for some time.

Pods of the lowest priority are evicted first, and no more than necessary. Among pods of equal priority, the controller's
order is arbitrary, because it reads their start times from objects that it saw before they started; here, the pod that
started last is evicted first, which is its order after a restart.

Source: pkg/scheduler/plugins/elasticquota/quota_overuse_revoke.go, controller.go (syncElasticQuotaRuntimeWorker) at
a7a1b76b.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from apportion_runtime.engines.koordinator.quota_accounts import QuotaAccounts, exceeded
from apportion_runtime.snapshots.pod_requests import Amounts

REFRESH_S = 10.0
"""The interval at which the controller refreshes the runtime quota of every leaf."""


class Revocation:
    """Watches the quotas.

    Args:
        accounts: The quotas.
        delay_s: The time for which a quota must be overused.
        start: The time at which the controller starts, in seconds.
    """

    def __init__(self, accounts: QuotaAccounts, *, delay_s: float, start: float) -> None:
        self._accounts = accounts
        self._delay_s, self._start = delay_s, start
        self._since: dict[str, float] = {}
        self._refreshed = -math.inf
        self._n_scalings = 0
        """The changes of scaled guarantees before the last refresh of all quotas."""
        self._known: dict[tuple[str, bool], tuple[int, Amounts, bool]] = {}
        """Whether each quota exceeds its limit, or would after a refresh, its limit, and the changes of its amounts then."""
        self._leaves = [name for name, spec in accounts.quotas.specs.items() if not spec.is_parent]

    def refresh(self, now: float) -> None:
        """Refresh the runtime quotas if an interval has passed."""
        if now >= self.next_refresh:
            self._refreshed = now
            self._n_scalings = self._accounts.n_scalings
            for name in self._leaves:
                self._accounts.refresh(name)

    @property
    def is_settled(self) -> bool:
        """Whether the next refresh changes nothing by itself.

        A refresh that scales a guarantee leaves the runtime quotas of the siblings before it as they are.
        """
        return self._n_scalings == self._accounts.n_scalings

    @property
    def next_refresh(self) -> float:
        """The time of the next refresh of all quotas."""
        if self._refreshed == -math.inf:
            return self._start
        return self._start + (math.floor((self._refreshed - self._start) / REFRESH_S) + 1) * REFRESH_S

    def watch(self, now: float) -> None:
        """Note which quotas are overused, and since when."""
        for name in self._leaves:
            if self._is_overused(name):
                self._since.setdefault(name, now)
            else:
                self._since.pop(name, None)

    def overdue(self, now: float) -> list[str]:
        """Return the quotas that have been overused for the delay; they are watched anew from now on."""
        self.watch(now)
        found = [name for name, since in self._since.items() if now - since >= self._delay_s]
        self._since.update(dict.fromkeys(found, now))
        return found

    def next_time(self, now: float) -> float:
        """Return the time of the next refresh or eviction that may matter; infinite if there is none."""
        times = [since + self._delay_s for name, since in self._since.items() if self._has_victims(name)]
        if any(self._may_shrink(name) for name in self._leaves):
            times.append(self.next_refresh)
        return min((at for at in times if at > now), default=math.inf)

    def _has_victims(self, quota: str) -> bool:
        return any(not self._accounts[uid].is_fixed for uid in self._accounts.assigned(quota))

    def _may_shrink(self, quota: str) -> bool:
        """Return whether a refresh would find a quota overused."""
        accounts = self._accounts
        if quota in self._since or not accounts.state(quota).used:
            return False
        return self._exceeds(quota, accounts.tree_of(quota).current_runtime(quota), is_refreshed=True)

    def _is_overused(self, quota: str) -> bool:
        return self._exceeds(quota, self._accounts.limit(quota), is_refreshed=False)

    def _exceeds(self, quota: str, limit: Amounts, *, is_refreshed: bool) -> bool:
        state, known = self._accounts.state(quota), self._known.get((quota, is_refreshed))
        # A limit is replaced, never changed.
        if known is None or known[0] != state.n_amounts or known[1] is not limit:
            known = state.n_amounts, limit, bool(exceeded(state.used, limit))
            self._known[quota, is_refreshed] = known
        return known[2]


def victims(accounts: QuotaAccounts, quota: str, importance: Callable[[str], tuple[int, float]]) -> Sequence[str]:
    """Return the pods of an overused quota that are evicted, the most important first if not all must go.

    Args:
        accounts: The quotas.
        quota: The quota.
        importance: The sort key of a pod by uid, the most important first.
    """
    limit, used = accounts.limit(quota), dict(accounts.state(quota).used)
    evicted: list[str] = []
    for uid in sorted(accounts.assigned(quota), key=importance)[::-1]:
        if not exceeded(used, limit):
            break
        if not accounts[uid].is_fixed:
            used = _masked_difference(used, accounts[uid].request)
            evicted.append(uid)
    if exceeded(used, limit):
        return evicted
    kept_out: list[str] = []
    for uid in reversed(evicted):
        request = accounts[uid].request
        with_pod = {name: used.get(name, 0) + amount for name, amount in request.items()}
        if exceeded(with_pod, limit):
            kept_out.append(uid)
            used = {name: with_pod[name] - request[name] for name in with_pod}
        else:
            used = with_pod
    return kept_out


def _masked_difference(used: Amounts, request: Amounts) -> dict[str, int]:
    """Return the usage without a pod, of the resources that the pod requests: the controller forgets all others."""
    return {name: used.get(name, 0) - amount for name, amount in request.items()}
