"""kube-scheduler's cycle over classes of pending pods: the pods of a class that fits on no node are not visited.

It decides and explains as `KubeScheduler.run_cycle` does, which visits all pending pods. Places of pods are unique, so the
order of a cycle is total.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from apportion_runtime.engines.kube_scheduler.equivalence import EquivalenceClass
from apportion_runtime.engines.kube_scheduler.pending_pods import PendingPod, PendingPods, Place
from apportion_runtime.engines.kube_scheduler.scheduler import KubeScheduler, Unplaced
from apportion_runtime.sim.api.cluster_state import ClusterState

_FIRST: Place = (-(2**63), -1)
Explain = Callable[[Iterable[Unplaced]], None]


@dataclass(slots=True)
class _Cycle:
    """The state of one cycle.

    Attributes:
        due: The places of the pods to visit.
        is_due: The classes of which a pod is due, other than those that are visited in any case.
        single: The pods that are visited in any case.
        visited: The visited pods that were not placed, with the reason.
        reasons: For each class, its reasons and the first place for which each holds.
    """

    due: list[Place] = field(default_factory=list)
    is_due: dict[EquivalenceClass, Place] = field(default_factory=dict)
    single: set[str] = field(default_factory=set)
    visited: dict[str, str] = field(default_factory=dict)
    placed: set[str] = field(default_factory=set)
    touched: dict[int, None] = field(default_factory=dict)
    reasons: dict[EquivalenceClass, list[tuple[Place, str]]] = field(default_factory=dict)

    def why(self, pod: PendingPod) -> str:
        """Return why a pod is not placed."""
        found = self.visited.get(pod.uid)
        if found is not None:
            return found
        assert pod.kind is not None
        return next(why for place, why in reversed(self.reasons[pod.kind]) if place <= pod.place)


class ClassCycles:
    """Runs the cycles of a scheduler.

    Args:
        cluster_state: The cluster.
        scheduler: Its scheduler.
        pending: The pods that it places.
        explain: Records why pods wait.
    """

    def __init__(
        self, cluster_state: ClusterState, scheduler: KubeScheduler, pending: PendingPods, explain: Explain
    ) -> None:
        self._cluster_state = cluster_state
        self._scheduler = scheduler
        self._pending = pending
        self._explain = explain
        self._waits = cluster_state.watch_waits()
        self._touched: dict[int, None] = {}

    def forget_reasons(self) -> None:
        """Explain every pod in the next cycle, as another one has run in between."""
        for of_class in self._pending.classes.values():
            of_class.why = None

    @property
    def is_exact(self) -> bool:
        """Whether the classes decide: pods with anti-affinity would keep pods of all classes away."""
        if self._scheduler.nodes.has_anti_affinity:
            return False
        facts = self._pending.facts
        return not any(facts(pod).record.anti_affinity for pod in self._pending.singles.values())

    def run(self, arrived: Sequence[PendingPod]) -> None:
        """Place pods, and explain those that are not placed.

        Args:
            arrived: The pods that changed since the last cycle and are pending.
        """
        scheduler, pending = self._scheduler, self._pending
        cycle = self._begin()
        while cycle.due:
            pod = pending.by_place[heapq.heappop(cycle.due)]
            kind = pod.kind
            if kind is not None and cycle.is_due.get(kind) == pod.place:
                del cycle.is_due[kind]
            if pod.uid not in cycle.visited and pod.uid not in cycle.placed:
                self._visit(cycle, pod)
        facts = pending.facts
        if cycle.placed and any(
            scheduler.may_follow(facts(pod)) for pod in pending.singles.values() if pod.uid not in cycle.placed
        ):
            self._cluster_state.request_cycle()
        self._explain_changed(cycle, arrived)

    def _begin(self) -> _Cycle:
        scheduler, pending, cycle = self._scheduler, self._pending, _Cycle()
        cycle.single = {uid for uid in scheduler.nominated if uid in pending.pods} | pending.singles.keys()
        cycle.due = [pending.pods[uid].place for uid in cycle.single]
        heapq.heapify(cycle.due)
        for kind in pending.classes:
            if (why := scheduler.unschedulable.get(kind)) is None:
                self._plan(cycle, kind, _FIRST)
            else:
                cycle.reasons[kind] = [(_FIRST, why)]
        return cycle

    def _plan(self, cycle: _Cycle, kind: EquivalenceClass, after: Place) -> None:
        """Plan the visit of the next pod of a class, unless one is planned."""
        if kind in cycle.is_due:
            return
        for pod in self._pending.after(kind, after):
            if pod.uid not in cycle.single:
                cycle.is_due[kind] = pod.place
                heapq.heappush(cycle.due, pod.place)
                return

    def _visit(self, cycle: _Cycle, pod: PendingPod) -> None:
        scheduler, kind = self._scheduler, pod.kind
        cycle.touched[pod.workload] = None
        known = None if kind is None or pod.uid in scheduler.nominated else scheduler.unschedulable.get(kind)
        if known is not None:
            cycle.visited[pod.uid] = known
            return
        was_nominated = pod.uid in scheduler.nominated
        why = scheduler.attempt(self._pending.facts(pod), kind)
        if why is None:
            cycle.placed.add(pod.uid)
        else:
            cycle.visited[pod.uid] = why
            if kind is not None and kind in scheduler.unschedulable:
                cycle.reasons.setdefault(kind, []).append((pod.place, why))
        if was_nominated or pod.uid in scheduler.nominated:
            # The reasons of all classes may have become invalid.
            for other in self._pending.classes:
                if other not in scheduler.unschedulable:
                    self._plan(cycle, other, pod.place)
        elif kind is not None and kind not in scheduler.unschedulable:
            self._plan(cycle, kind, pod.place)

    def _explain_changed(self, cycle: _Cycle, arrived: Sequence[PendingPod]) -> None:
        """Explain the pods of workloads whose reasons may differ from those after the last cycle.

        Those of a workload whose pods are of one class, which had one reason then and has the same one, are explained already.
        """
        pending = self._pending
        changed = {**self._touched, **cycle.touched, **self._waits}
        changed.update((pod.workload, None) for pod in arrived)
        for kind, of_class in pending.classes.items():
            reasons = {why for _, why in cycle.reasons.get(kind, ())}
            why = next(iter(reasons)) if len(reasons) == 1 else None
            if why is None or why != of_class.why:
                changed.update((pending.by_place[place].workload, None) for place in of_class.places)
            of_class.why = why
        changed.update(pending.mixed)
        pods = [pod for number in changed for pod in pending.of_workload.get(number, {}).values()]
        pods = [pod for pod in pods if pod.uid not in cycle.placed]
        pods.sort(key=lambda pod: pod.place)
        self._waits.clear()
        self._explain(Unplaced(pending.facts(pod), cycle.why(pod)) for pod in pods)
        self._waits.clear()
        self._touched = cycle.touched
