"""ACK's scheduler: kube-scheduler with quotas of a tree, gangs, and preemption by quota instead of priority.

A pod needs room in its quota and in every ancestor, and then a node. The pods of a gang are placed together, or not at
all: then each of them gets the event `GangFailedScheduling`, and the gang backs off for a second, which doubles each time
up to ten seconds. After that it is retried when a pod leaves or a node changes; kube-scheduler also retries after five
minutes, which has no effect without a change.

Source: ACK's documentation of capacity scheduling and preemption; for gangs and the messages of waiting pods,
kubernetes-sigs/scheduler-plugins (pkg/coscheduling, pkg/capacityscheduling); seed document 002 for the event.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from apportion_api.ack.names import GANG_FAILED
from apportion_runtime.engines.ack.members import Members
from apportion_runtime.engines.ack.victims import RECLAIM, PendingGang, PlacedPod, over_max, victims
from apportion_runtime.engines.kube_scheduler import KubeScheduler, NodeState, PodFacts, Profile
from apportion_runtime.engines.kube_scheduler.equivalence import alike
from apportion_runtime.engines.kube_scheduler.node_statuses import NO_NODES, NodeStatuses
from apportion_runtime.engines.kube_scheduler.profiles import DEFAULT
from apportion_runtime.engines.kube_scheduler.scheduler import Unplaced
from apportion_runtime.kube_queue.job_queue import Backoff
from apportion_runtime.kube_queue.tree import Tree
from apportion_runtime.sim.api.cluster_state import ClusterState, PodState
from apportion_runtime.sim.controllers.workloads import Workloads
from apportion_runtime.sim.kubelet.eviction import evict
from apportion_runtime.snapshots.pod_requests import total

_BACKOFF = Backoff(1.0, 10.0)
"""kube-scheduler's podInitialBackoffSeconds and podMaxBackoffSeconds."""
Places = list[tuple[PodFacts, NodeState]]


@dataclass(slots=True)
class Gang:
    """Pods that are placed together; a pod without a gang is one by itself.

    Attributes:
        key: Its key.
        minimum: The minimum number of pods that are placed together.
        n_placed: The number of placed pods.
        pods: The unplaced pods.
    """

    key: str
    minimum: int
    n_placed: int
    pods: list[PodFacts] = field(default_factory=list)

    @property
    def is_single(self) -> bool:
        """Whether the gang is a single pod, or pods without a gang minimum."""
        return self.minimum <= 1

    @property
    def priority(self) -> int:
        """The highest priority of its unplaced pods."""
        return max(pod.priority for pod in self.pods)


@dataclass(slots=True)
class Attempts:
    """The failed attempts of a gang, and the time of the next one.

    Attributes:
        cycle: The number of attempts.
        since: The time of the last attempt.
        version: The version of the cluster at the last attempt.
        awaited: The pods that are being evicted for it.
    """

    cycle: int = 0
    since: float = 0.0
    version: int = -1
    awaited: frozenset[str] = frozenset()

    def again_at(self, version: int) -> float:
        """Return the time of the next attempt."""
        if not self.cycle:
            return 0.0
        return math.inf if self.version == version else self.since + _BACKOFF.after(self.cycle)


class AckScheduler(KubeScheduler):
    """A scheduler of pods with quotas.

    Args:
        cluster_state: The simulated cluster.
        workloads: Notified of placed pods.
        facts: Returns the facts of a pod by its uid.
        profiles: By `schedulerName`.
        tree: The quotas.
    """

    def __init__(
        self,
        cluster_state: ClusterState,
        workloads: Workloads,
        facts: Callable[[str], PodFacts | None],
        profiles: Mapping[str, Profile],
        tree: Tree,
    ) -> None:
        super().__init__(cluster_state, workloads, facts, profiles)
        self._tree = tree
        self.members = Members(tree)
        self._attempts: dict[str, Attempts] = {}
        self._set_aside: dict[str, str] = {}
        """The nominated nodes of assumed pods."""
        self._version = 0
        self._node_version = 0
        self._changed_pods = cluster_state.watch_pods()
        self._leaving: dict[str, None] = {}
        """The bound pods that are terminating."""

    def left(self, pod: PodState) -> None:
        """Remove a pod, and release its usage."""
        gang = self.members[pod.uid].gang
        self._attempts.pop(pod.uid, None)
        self._version += pod.is_bound
        if self.members.left(pod.uid):
            self._attempts.pop(gang, None)

    def bind(self, pod: PodFacts, node: NodeState) -> bool:
        """Bind a pod, and charge its quota; return whether the cluster allowed it."""
        if not super().bind(pod, node):
            return False
        self.members.place(pod.uid, pod.request, pod.priority)
        return True

    def run_cycle(self, waiting: Sequence[PodFacts]) -> list[Unplaced]:
        """Place pods and gangs by priority, then age; return the unplaced ones."""
        cluster_state = self._cluster_state
        if not waiting:
            return []
        self.nodes.refresh()
        node_version = cluster_state.records.node_version
        self._version += node_version != self._node_version
        self._node_version = node_version
        self._update_nominations(waiting)
        unplaced: list[Unplaced] = []
        moments: list[float] = []
        unschedulable: dict[object, Unplaced] = {}
        for gang in sorted(self._gangs(waiting), key=lambda gang: -gang.priority):
            attempts = self._attempts.get(gang.key)
            again_at = 0.0 if attempts is None else attempts.again_at(self._version)
            if again_at > cluster_state.now:
                moments.append(again_at)
                continue
            first = gang.pods[0]
            kind = alike(first) if gang.is_single and len(gang.pods) == 1 else None
            known = None if kind is None or first.uid in self._nominated else unschedulable.get(kind)
            if known is not None:
                self._note_failure(first.uid)
                unplaced.append(Unplaced(first, known.why, known.is_held))
                continue
            n_evicted = len(cluster_state.history.taken)
            failed = self._try(gang)
            unplaced.extend(failed)
            if len(cluster_state.history.taken) > n_evicted:
                # Evictions for these pods may also make room for others.
                unschedulable.clear()
            elif failed and kind is not None and first.uid not in self._nominated:
                unschedulable[kind] = failed[0]
        at = min(moments, default=math.inf)
        if at < math.inf:
            cluster_state.request_cycle(at)
        return unplaced

    def _gangs(self, waiting: Sequence[PodFacts]) -> Iterator[Gang]:
        """Yield the pending gangs, in the order of their first pods."""
        found: dict[str, Gang] = {}
        for pod in waiting:
            member = self.members[pod.uid]
            gang = found.get(member.gang)
            if gang is None:
                gang = found[member.gang] = Gang(member.gang, member.minimum, self.members.n_placed(member.gang))
            gang.pods.append(pod)
        yield from found.values()

    def _try(self, gang: Gang) -> list[Unplaced]:
        n_missing = gang.minimum - gang.n_placed
        if len(gang.pods) < n_missing:
            message = (
                "cannot find enough sibling pods, current pods number: "
                f"{len(gang.pods) + gang.n_placed}, minMember of group: {gang.minimum}"
            )
            return [Unplaced(pod, message, is_held=True) for pod in gang.pods]
        places, failed = self._assume(gang.pods)
        self._forget(places)
        if len(places) < n_missing and not gang.is_single:
            return self._fail(gang, failed)
        if places:
            self._attempts.pop(gang.key, None)
        for pod, node in places:
            self.bind(pod, node)
        for each in failed:
            self._note_failure(each.pod.uid)
            self._make_room(each.pod.uid, [each.pod])
        return failed

    def _fail(self, gang: Gang, failed: Sequence[Unplaced]) -> list[Unplaced]:
        """Record the failure of a gang for each of its pods, and preempt for it if it may."""
        cluster_state, attempts = self._cluster_state, self._note_failure(gang.key)
        why = failed[0].why
        for pod in gang.pods:
            state = cluster_state.pods[pod.uid]
            message = f"{state.name} in gang failed to be scheduled in cycle {attempts.cycle}: {why}"
            cluster_state.note(GANG_FAILED, workload=state.workload, pod=state.name, why=message)
        self._make_room(gang.key, gang.pods)
        is_held = all(each.is_held for each in failed)
        return [Unplaced(pod, why, is_held=is_held) for pod in gang.pods]

    def _note_failure(self, key: str) -> Attempts:
        attempts = self._attempts.setdefault(key, Attempts())
        attempts.cycle += 1
        attempts.since, attempts.version = self._cluster_state.now, self._version
        return attempts

    def _assume(self, pods: Sequence[PodFacts]) -> tuple[Places, list[Unplaced]]:
        """Assume nodes for pods; return the placements and the unplaced pods."""
        places: Places = []
        failed: list[Unplaced] = []
        for pod in pods:
            quota = self.members[pod.uid].quota
            full = over_max(self._tree, self.members.used, quota, pod.request)
            if full is not None:
                name = self._cluster_state.pods[pod.uid].name
                message = (
                    f"Pod {pod.record.namespace}/{name} is rejected in PreFilter because ElasticQuota {full} is more "
                    "than Max"
                )
                failed.append(Unplaced(pod, message if self.nodes.all else NO_NODES, is_held=True))
                continue
            if not self.nodes.all:
                failed.append(Unplaced(pod, NO_NODES))
                continue
            profile = self._profiles[pod.record.scheduler or DEFAULT]
            node = self.find_node(pod, profile)
            if isinstance(node, NodeStatuses):
                failed.append(Unplaced(pod, node.explained()))
                continue
            node.add(pod)
            self.members.use(quota, pod.request)
            places.append((pod, node))
            # A placed pod has no other nominated node.
            nominated = self._nominated.pop(pod.uid, None)
            if nominated is not None:
                self._set_aside[pod.uid] = nominated
        return places, failed

    def _forget(self, places: Places) -> None:
        for pod, node in places:
            node.remove(pod)
            self.members.release(self.members[pod.uid].quota, pod.request)
            if pod.uid in self._set_aside:
                self._nominated[pod.uid] = self._set_aside.pop(pod.uid)

    def _make_room(self, key: str, pods: Sequence[PodFacts]) -> None:
        """Evict the victims that the quotas allow, if all pods then fit, and each of them may preempt."""
        cluster_state = self._cluster_state
        if not all(pod.may_preempt for pod in pods):
            return
        attempts = self._attempts.get(key)
        if attempts is not None and any(uid in cluster_state.pods for uid in attempts.awaited):
            return
        quota = self.members[pods[0].uid].quota
        # Terminating pods also make room: for the nominated pods for which they are evicted, and for others.
        leaving = self._terminating()
        found = victims(
            self._tree,
            self.members.used,
            self._wanting(quota, pods),
            self._running_in,
            lambda gone: self._without(pods, [*leaving, *(held.uid for held in gone)]) is not None,
        )
        if found is None:
            return
        right, evicted = found
        for pod, node in self._without(pods, [*leaving, *(held.uid for held in evicted)]) or ():
            self._nominated[pod.uid] = node.name
        self._evict(right, evicted, cluster_state.pods[pods[0].uid], quota)
        self._attempts.setdefault(key, Attempts()).awaited = frozenset(pod.uid for pod in evicted)

    def _wanting(self, quota: str | None, pods: Sequence[PodFacts]) -> PendingGang:
        """Return the requests of pods, including those of their quota that have evictions under way."""
        asking = {pod.uid: pod for pod in pods}
        for uid in self._nominated:
            facts = self._facts(uid)
            if facts is not None and self.members[uid].quota == quota:
                asking.setdefault(uid, facts)
        return PendingGang(quota, total(pod.request for pod in asking.values()), max(pod.priority for pod in pods))

    def _terminating(self) -> list[str]:
        """Return the bound pods that are terminating, in order of creation."""
        pods = self._cluster_state.pods
        for uid in self._changed_pods:
            pod = pods.get(uid)
            if pod is not None and pod.leaving and pod.is_bound:
                self._leaving[uid] = None
            else:
                self._leaving.pop(uid, None)
        self._changed_pods.clear()
        return sorted(self._leaving, key=lambda uid: self.members[uid].number)

    def _running_in(self, quota: str, below: float) -> Iterator[PlacedPod]:
        """Yield the placed pods of a quota of a priority below a value that are not terminating."""
        for uid, priority, request in self.members.placed(quota, below):
            if not self._cluster_state.pods[uid].leaving:
                yield PlacedPod(uid, quota, request, priority, self.members[uid].since)

    def _without(self, pods: Sequence[PodFacts], gone: Sequence[str]) -> Places | None:
        """Return placements for pods without some others (uids), and with nominated ones; None if any does not fit."""
        left: Places = []
        for uid in gone:
            facts, node = self._facts(uid), self.nodes.get(self._cluster_state.pods[uid].record.node or "")
            if facts is not None and node is not None:
                left.append((facts, node))
        asking = {pod.uid for pod in pods}
        nominated = [facts for uid in self._nominated if uid not in asking and (facts := self._facts(uid)) is not None]
        self._forget(left)
        for facts in nominated:
            self.members.use(self.members[facts.uid].quota, facts.request)
        try:
            places, failed = self._assume(pods)
            self._forget(places)
            return None if failed else places
        finally:
            for facts in nominated:
                self.members.release(self.members[facts.uid].quota, facts.request)
            for facts, node in left:
                node.add(facts)
                self.members.use(self.members[facts.uid].quota, facts.request)

    def _evict(self, right: str, evicted: Sequence[PlacedPod], by: PodState, quota: str | None) -> None:
        cluster_state = self._cluster_state
        for held in evicted:
            pod = cluster_state.pods[held.uid]
            if right == RECLAIM:
                because = f"{held.quota} exceeds its min, and {quota} is within its min"
            else:
                because = f"lower priority ({held.priority}) than {by.name} in {quota}"
            evict(
                cluster_state, self._workloads.kubelet, pod, action=right, rule="ElasticQuota", by=by, because=because,
                message=f"Preempted by {by.namespace}/{by.name} on node {pod.record.node}",
            )  # fmt: skip
