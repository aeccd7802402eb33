"""Preemption within a quota: the victims on one node, of lower priority and of the same quota as the pod.

Evictions for room in the quota are searched on the pod's candidate node only, and the limits of parents are not
considered, so they need not suffice.

Source: pkg/scheduler/plugins/elasticquota/preempt.go (SelectVictimsOnNode, canPreempt) at a7a1b76b.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from apportion_api.koordinator.names import DEFAULT_QUOTA
from apportion_runtime.engines.koordinator.quota_accounts import QuotaAccounts, exceeded
from apportion_runtime.engines.kube_scheduler.disruption_budgets import DisruptionBudget, violating
from apportion_runtime.engines.kube_scheduler.filters import Filters
from apportion_runtime.engines.kube_scheduler.nodes import Nodes, NodeState
from apportion_runtime.engines.kube_scheduler.pods import PodFacts
from apportion_runtime.engines.kube_scheduler.preemption import Candidate, Started, by_importance, cheapest
from apportion_runtime.engines.kube_scheduler.profiles import Profile
from apportion_runtime.snapshots.pod_requests import Amounts


@dataclass(frozen=True, slots=True)
class Preemptor:
    """A preempting pod, and the state that determines its victims.

    Attributes:
        pod: The pod.
        profile: Its profile.
        nodes: All nodes.
        accounts: The quotas.
        started: The start time of a pod by uid: of pods with equal priority, the later one is evicted.
        budgets: Disruption budgets, which victims should not exceed.
        spares_default_quota: Whether pods of the default quota are never victims.
    """

    pod: PodFacts
    profile: Profile
    nodes: Nodes
    accounts: QuotaAccounts
    started: Started
    budgets: Sequence[DisruptionBudget] = ()
    spares_default_quota: bool = True

    def may_evict(self, other: PodFacts) -> bool:
        """Return whether a pod may be evicted for the preemptor."""
        accounts = self.accounts
        held = accounts[other.uid]
        if held.is_fixed or (self.spares_default_quota and held.quota == DEFAULT_QUOTA):
            return False
        return other.priority < self.pod.priority and held.quota == accounts[self.pod.uid].quota

    def best_candidate(self, possible: Sequence[NodeState]) -> tuple[Candidate | None, bool]:
        """Return the node with the least important victims, and whether the search failed on a node.

        The candidate is None if preemption does not help on any node.
        """
        found: list[Candidate] = []
        has_failed = False
        for node in possible:
            try:
                candidate = self._candidate(node)
            except _UnusableNodeError:
                has_failed = True
            else:
                found += [] if candidate is None else [candidate]
        return cheapest(found, self.started), has_failed

    def _candidate(self, node: NodeState) -> Candidate | None:
        """Return the victims on a node; None if evictions there do not help.

        Raises:
            _UnusableNodeError: If the engine's search fails: without any victim, or if it removes one twice.
        """
        before = list(node.pods.values())
        potential = by_importance(filter(self.may_evict, before), self.started)
        if not potential:
            return None
        spared = violating(potential, self.budgets)
        order = [*(o for o in potential if o.uid in spared), *(o for o in potential if o.uid not in spared)]
        for other in potential:
            node.remove(other)
        try:
            filters = Filters(self.pod, self.profile, self.nodes)
            if filters.filter_status(node) is not None:
                return None
            victims, n_violating = self._victims(node, order, spared)
        finally:
            for other in potential:
                if other.uid not in node.pods:
                    node.add(other)
            # The engine searches on a copy of the node, whose order decides between equal pods.
            node.move_to_end(before)
        if not victims:
            raise _UnusableNodeError
        return Candidate(node, tuple(victims), n_violating)

    def _victims(
        self, node: NodeState, order: Sequence[PodFacts], spared: frozenset[str]
    ) -> tuple[list[PodFacts], int]:
        """Return the pods that cannot be kept, of those removed from a node, and how many of them violate a budget."""
        accounts = self.accounts
        quota = accounts[self.pod.uid].quota
        limit, state = accounts.limit(quota), accounts.state(quota)
        used = dict(state.used)
        for other in order:
            _charge(used, state.masked(accounts[other.uid].request), -1)
        victims: list[PodFacts] = []
        n_violating = 0
        filters = Filters(self.pod, self.profile, self.nodes)
        for other in order:
            node.add(other)
            _charge(used, state.masked(accounts[other.uid].request), 1)
            if not filters.is_lasting or other.record.anti_affinity:
                filters = Filters(self.pod, self.profile, self.nodes)
            fits = filters.filter_status(node) is None
            if fits and not self._exceeds(used, limit):
                continue
            node.remove(other)
            _charge(used, state.masked(accounts[other.uid].request), -1)
            if not fits and self._exceeds(used, limit):
                # The engine removes the pod once more, which fails, and so does the whole node.
                raise _UnusableNodeError
            victims.append(other)
            n_violating += not fits and other.uid in spared
        return victims, n_violating

    def _exceeds(self, used: Amounts, limit: Amounts) -> bool:
        request = self.accounts[self.pod.uid].request
        return bool(exceeded({name: amount + used.get(name, 0) for name, amount in request.items()}, limit))


class _UnusableNodeError(Exception):
    """The search for victims on a node failed."""


def _charge(used: dict[str, int], request: Amounts, sign: int) -> None:
    for name, amount in request.items():
        used[name] = max(0, used.get(name, 0) + sign * amount)


def terminating(
    node: NodeState, pod: PodFacts, accounts: QuotaAccounts, is_leaving: Callable[[str], bool]
) -> Iterator[PodFacts]:
    """Yield the pods on a node that are being evicted, with a lower priority than a pod and of its quota."""
    quota = accounts[pod.uid].quota
    for other in node.pods.values():
        if other.priority < pod.priority and accounts[other.uid].quota == quota and is_leaving(other.uid):
            yield other
