"""koord-scheduler: pods by priority, then age, within their quotas; a gang is attempted as a whole.

A pod must be within its quota before it may have a node. A pod without either preempts pods of its own quota. The pods of
a gang get nodes one after another, and are bound once the minimum of each gang of their group has one. If a pod fails
before, all of them fail, and only that pod preempts. Among nodes with equal scores, the first by name is selected, and the
pods of a gang are attempted in order of creation, which Koordinator does in arbitrary order.

Source: pkg/scheduler/plugins/elasticquota (plugin.go, preempt.go) and coscheduling (coscheduling.go, core/core.go,
core/gang_context.go) at a7a1b76b; kube-scheduler v1.35.6, pkg/scheduler/framework/preemption.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from apportion_runtime.engines.koordinator.configuration import Configuration
from apportion_runtime.engines.koordinator.gangs import Gang, Gangs, shortage
from apportion_runtime.engines.koordinator.node_scores import KoordinatorCriteria, node_scores
from apportion_runtime.engines.koordinator.nominations import WrittenNominations
from apportion_runtime.engines.koordinator.preemption import Preemptor, terminating
from apportion_runtime.engines.koordinator.quota_accounts import QuotaAccounts
from apportion_runtime.engines.kube_scheduler import KubeScheduler, NodeState, PodFacts, Profile
from apportion_runtime.engines.kube_scheduler.equivalence import alike_on_nodes
from apportion_runtime.engines.kube_scheduler.filter_status import FilterStatus
from apportion_runtime.engines.kube_scheduler.node_ranking import NodeRankings
from apportion_runtime.engines.kube_scheduler.node_statuses import NO_NODES, explained
from apportion_runtime.engines.kube_scheduler.scheduler import Unplaced
from apportion_runtime.sim.api.cluster_state import ClusterState, PodState
from apportion_runtime.sim.controllers.workloads import Workloads
from apportion_runtime.sim.kubelet.eviction import evict

_Entry = tuple[int, int, PodFacts]
"""A pod in the queue, by priority and age."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """Why a pod failed; `is_held` if it was not for lack of nodes."""

    why: str
    is_held: bool


@dataclass(frozen=True, slots=True)
class _KnownFailure:
    """Why pods of a kind fail as long as the changes of their quota tree are `n_changes`."""

    failure: _Failure
    n_changes: int


@dataclass(frozen=True, slots=True)
class _Assumed:
    """A pod of a gang that waits for the others, and its node."""

    pod: PodFacts
    node: NodeState


class KoordScheduler(KubeScheduler):
    """A scheduler of pods with elastic quotas and gangs.

    Args:
        cluster_state: The simulated cluster.
        workloads: Notified of placed pods.
        facts: Returns the facts of a pod by its uid.
        configuration: Its configuration.
        accounts: The quotas and their pods.
        gangs: The gangs and their pods.
    """

    def __init__(
        self,
        cluster_state: ClusterState,
        workloads: Workloads,
        facts: Callable[[str], PodFacts | None],
        configuration: Configuration,
        *,
        accounts: QuotaAccounts,
        gangs: Gangs,
    ) -> None:
        profile: Profile = configuration.profile
        super().__init__(cluster_state, workloads, facts, {profile.name: profile})
        self._configuration, self._profile = configuration, profile
        self._accounts, self._gangs = accounts, gangs
        self._rankings = NodeRankings(self.nodes, KoordinatorCriteria(configuration))
        self._failed_kinds: dict[tuple[object, ...], _KnownFailure] = {}
        self._assumed: dict[str, _Assumed] = {}
        """The pods of the gang that is attempted that wait for the others."""
        self._written = WrittenNominations(self._nominated)
        self._victims_waiting: set[str] = set()
        """The pods of a gang that wait for the others, and that one of them preempted."""
        self.has_freed_room = False
        """Whether a pod gave up its nomination in the last cycle, after other pods had failed for it."""

    def left(self, pod: PodState) -> None:
        """Handle the deletion of a pod."""
        self._written.forget(pod.uid)
        self._accounts.remove(pod.uid)
        self._gangs.remove(pod.uid)

    def bind(self, pod: PodFacts, node: NodeState) -> bool:
        """Bind a pod, and charge its quota; return whether the cluster allowed it."""
        self._accounts.reserve(pod.uid)
        self._withdraw_nomination(pod.uid)
        if not super().bind(pod, node):
            self._accounts.unreserve(pod.uid)
            return False
        self._gangs.bind(pod.uid)
        for key in [key for key in self._failed_kinds if key[0] == self._accounts[pod.uid].quota]:
            # A pod of higher priority may preempt it.
            del self._failed_kinds[key]
        return True

    def run_cycle(self, waiting: Sequence[PodFacts]) -> list[Unplaced]:
        """Attempt every pod and gang once; return the unplaced pods."""
        self.nodes.refresh()
        self._failed_kinds.clear()
        self.has_freed_room = False
        self._update_nominations(waiting)
        self._written.read(waiting)
        ages = {pod.uid: age for age, pod in enumerate(waiting)}
        queue: list[_Entry] = [(-pod.priority, ages[pod.uid], pod) for pod in waiting]
        heapq.heapify(queue)
        unplaced: list[Unplaced] = []
        done: set[str] = set()
        while queue:
            _, _, pod = heapq.heappop(queue)
            if pod.uid in done:
                continue
            gang = self._gangs.of(pod.uid)
            if gang is None or gang.is_satisfied:
                done.add(pod.uid)
                failure = self._attempt_single(pod)
                if failure is not None:
                    unplaced.append(Unplaced(pod, failure.why, failure.is_held))
                continue
            members = [waiting[age] for age in self._ages_of(gang, ages) if waiting[age].uid not in done]
            failed = self._attempt_gang(gang, [pod, *(each for each in members if each is not pod)])
            if failed is None:
                # Its further pods are scheduled one by one.
                done.update(each.uid for each in members if self._is_bound(each))
                continue
            done.update(each.uid for each in members)
            unplaced += [Unplaced(each, failed.why, failed.is_held) for each in members]
        return unplaced

    @staticmethod
    def _ages_of(gang: Gang, ages: Mapping[str, int]) -> list[int]:
        """Return the places of a gang's pending pods in order."""
        return sorted(ages[uid] for uid in gang.pods if uid in ages)

    def _is_bound(self, pod: PodFacts) -> bool:
        return self._cluster_state.pods[pod.uid].is_bound

    def _attempt_single(self, pod: PodFacts) -> _Failure | None:
        """Bind a pod, or preempt for it; return why it failed."""
        is_nominated = pod.uid in self._nominated or self._written.node(pod.uid) != ""
        kind = None if self.nodes.has_anti_affinity or is_nominated else alike_on_nodes(pod)
        held = self._accounts[pod.uid]
        key = (held.quota, held.is_fixed, kind)
        tree = self._accounts.tree_of(held.quota)
        known = None if kind is None else self._failed_kinds.get(key)
        if known is not None and known.n_changes == tree.n_changes:
            return known.failure
        found = self._place_within_quota(pod)
        if isinstance(found, NodeState):
            if self.bind(pod, found):
                return None
            return _Failure("the selected node no longer exists", is_held=False)
        if kind is not None and pod.uid not in self._nominated:
            self._failed_kinds[key] = _KnownFailure(found, tree.n_changes)
        return found

    def _attempt_gang(self, gang: Gang, pods: Sequence[PodFacts]) -> _Failure | None:
        """Bind the pods of a gang, or none of them; return why they failed."""
        too_few = shortage(gang, self._key(pods[0]))
        if too_few is not None:
            return _Failure(too_few, is_held=True)
        if not self.nodes.all:
            failures = [self._without_nodes(pod) for pod in pods]
            return failures[0]
        assumed = self._assumed
        assumed.clear()
        self._victims_waiting.clear()
        for pod in pods:
            found = self._place_within_quota(pod)
            if isinstance(found, _Failure):
                why = found.why.partition(". preemption:")[0].rstrip(".")
                self._reject(assumed, "" if gang.is_lenient else f"{pod.uid} {len(assumed)} {why}")
                for other in pods[len(assumed) + 1 :]:
                    # They are attempted without a node that could fit, which withdraws nominations where preemption is tried.
                    self._written.fail(other.uid)
                    if other.may_preempt:
                        self._withdraw_nomination(other.uid)
                why = (
                    f'GangGroup "{gang.key}" gets rejected due to member Pod "{self._key(pod)}" is unschedulable with '
                    f'reason "{found.why}", alreadyWaitForBound: {len(assumed)}'
                )
                return _Failure(why, found.is_held)
            found.add(pod)
            self._accounts.reserve(pod.uid)
            assumed[pod.uid] = _Assumed(pod, found)
            if self._nominated.pop(pod.uid, ""):
                self._failed_kinds.clear()
            if len(assumed) >= (gang.minimum or 0):
                self._forget(assumed)
                for each in assumed.values():
                    self.bind(each.pod, each.node)
                return None
        self._reject(assumed, "")
        return _Failure(f"gang {gang.key} is waiting for more pods", is_held=True)

    def _forget(self, assumed: Mapping[str, _Assumed]) -> None:
        for uid, each in assumed.items():
            each.node.remove(each.pod)
            self._accounts.unreserve(uid)
        self._assumed = {}

    def _reject(self, assumed: Mapping[str, _Assumed], reason: str) -> None:
        """Release the nodes of a gang's pods, some of which stay nominated to them."""
        self._forget(assumed)
        for uid, each in assumed.items():
            # The preemption rejects its victims first, with a message of its own (preemption.go, NewEvaluator).
            self._written.reject(uid, each.node.name, "preempted" if uid in self._victims_waiting else reason)

    def _own_node(self, uid: str) -> NodeState | None:
        return self.nodes.get(self._written.node(uid))

    def _place_within_quota(self, pod: PodFacts) -> NodeState | _Failure:
        """Return a node for a pod; if there is none, preempt for the pod, and return why it failed."""
        n_nodes = len(self.nodes.all)
        if not n_nodes:
            return self._without_nodes(pod)
        refusal = self._accounts.refusal(pod.uid)
        if refusal is not None:
            afterwards = self._preempt_within_quota(pod, None)
            return _Failure(f"0/{n_nodes} nodes are available: {refusal}.{afterwards}", is_held=True)
        ranking = self._rankings.of(pod, self._profile)
        if ranking is not None:
            best = self.find_node(pod, self._profile)
            if isinstance(best, NodeState):
                return best
            afterwards = self._preempt_within_quota(pod, best.by_name())
            return _Failure(best.explained() + afterwards, is_held=False)
        fitting, statuses = self.fitting(pod, self._profile)
        if not fitting:
            afterwards = self._preempt_within_quota(pod, statuses)
            return _Failure(explained(list(statuses.values()), n_nodes) + afterwards, is_held=False)
        found = node_scores(pod, self._configuration, fitting, self.nodes) if len(fitting) > 1 else [0]
        return fitting[max(range(len(fitting)), key=lambda i: (found[i], -i))]

    def _without_nodes(self, pod: PodFacts) -> _Failure:
        # The attempt ends its nomination (schedulingCycle in schedule_one.go, ErrNoNodesAvailable).
        self._written.fail(pod.uid)
        self._withdraw_nomination(pod.uid)
        # No plugin runs, so no runtime quota is refreshed (schedulePod in schedule_one.go).
        return _Failure(NO_NODES, is_held=self._accounts.refusal(pod.uid, is_trial=True) is not None)

    def _preempt_within_quota(self, pod: PodFacts, statuses: Mapping[str, FilterStatus] | None) -> str:
        """Evict pods of a pod's quota for it; return why not, empty on success.

        Args:
            pod: The pod.
            statuses: Why the nodes do not fit, by name; None if the quota refused the pod.
        """
        cluster_state = self._cluster_state
        self._written.fail(pod.uid)
        if not pod.may_preempt:
            return " preemption: not eligible due to preemptionPolicy=Never."
        nominated = self._own_node(pod.uid)
        if nominated is not None:
            status = None if statuses is None else statuses.get(nominated.name)
            if (status is None or not status.for_good) and any(
                terminating(nominated, pod, self._accounts, lambda uid: bool(cluster_state.pods[uid].leaving))
            ):
                return " preemption: not eligible due to a terminating pod on the nominated node."
        possible = [
            node
            for node in self._with_victims(pod)
            if statuses is None or (node.name in statuses and not statuses[node.name].for_good)
        ]
        preemptor = Preemptor(
            pod,
            self._profile,
            self.nodes,
            self._accounts,
            self._started,
            self._budgets,
            self._configuration.spares_default_quota,
        )
        reserved = self._promised(pod)
        for node, guest in reserved:
            node.add(guest)
        try:
            chosen, has_failed = preemptor.best_candidate(possible)
        finally:
            for node, guest in reserved:
                node.remove(guest)
        if chosen is None:
            if not has_failed and self._withdraw_nomination(pod.uid):
                self.has_freed_room = True
            return " preemption: no lower-priority pods in its quota can make room for it."
        by = cluster_state.pods[pod.uid]
        quota = self._accounts[pod.uid].quota
        for victim in chosen.victims:
            if not cluster_state.pods[victim.uid].is_bound:
                # A pod that waits for its gang, which is that of the preemptor, is rejected with it.
                self._victims_waiting.add(victim.uid)
                continue
            evict(
                cluster_state, self._workloads.kubelet, cluster_state.pods[victim.uid],
                action="preempt", rule="ElasticQuota", by=by,
                message=f"Preempted by pod {by.uid} on node {chosen.node.name}",
                because=f"lower priority than {by.name} in quota {quota} ({victim.priority} < {pod.priority})",
            )  # fmt: skip
        # The next pod is attempted after the scheduler's cache has removed and added them (updatePod in backend/cache/cache.go).
        self.nodes.move_terminating()
        for uid, name in list(self._nominated.items()):
            other = self._facts(uid)
            if name == chosen.node.name and other is not None and other.priority < pod.priority:
                self._written.withdraw(uid)
        self._written.nominate(pod.uid, chosen.node.name)
        self._failed_kinds.clear()
        return ""

    def _with_victims(self, pod: PodFacts) -> list[NodeState]:
        """Return the nodes with pods of a pod's quota that have a lower priority, in their order: no other has victims."""
        rows: set[int] = set()
        pods = self._cluster_state.pods
        for uid in self._accounts.assigned(self._accounts[pod.uid].quota):
            facts = self._facts(uid)
            if facts is not None and facts.priority < pod.priority:
                assumed = self._assumed.get(uid)
                node = self.nodes.get(pods[uid].record.node or "") if assumed is None else assumed.node
                if node is not None:
                    rows.add(node.row)
        return [self.nodes.all[row] for row in sorted(rows)]

    def _withdraw_nomination(self, uid: str) -> str:
        """Withdraw a pod's nomination, whose room failed pods may take; return its node, empty if there was none."""
        node = self._written.withdraw(uid)
        if node:
            self._failed_kinds.clear()
        return node

    def importance(self, uid: str) -> tuple[int, float]:
        """Return the sort key of a bound pod, the most important first."""
        facts = self._facts(uid)
        assert facts is not None
        return -facts.priority, self._started(uid)

    def _key(self, pod: PodFacts) -> str:
        return f"{pod.record.namespace}/{self._cluster_state.pods[pod.uid].name}"
