"""The pending pods by equivalence class, updated by the pods that changed.

Not for pods of other schedulers: the caller tries all pods one by one while there are any.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from apportion_runtime.core.snapshot import Pod
from apportion_runtime.engines.kube_scheduler.equivalence import EquivalenceClass, alike_on_nodes
from apportion_runtime.engines.kube_scheduler.pods import PodFacts
from apportion_runtime.sim.api.cluster_state import ClusterState, PodState

Place = tuple[int, int]
"""The place of a pod in the order of a cycle: its negated priority, and its number by creation."""


@dataclass(slots=True)
class PendingPod:
    """A pending pod, its place, its class, and its workload."""

    uid: str
    place: Place
    kind: EquivalenceClass | None
    workload: int


@dataclass(slots=True)
class PendingClass:
    """The pending pods of one class, in order.

    Attributes:
        why: The reason with which each of them was explained, except for those that were tried one by one; None if not all have the same.
    """

    places: list[Place] = field(default_factory=list)
    why: str | None = None


class PendingPods:
    """The pending pods of a cluster.

    Attributes:
        pods: By uid.
        by_place: By place.
        classes: The classes that have pending pods.
        singles: The pods without a class, by uid.
        of_workload: The pods of each workload, by uid.
        mixed: The workloads whose pods are of several classes.
    """

    def __init__(
        self,
        cluster_state: ClusterState,
        facts: Callable[[str], PodFacts | None],
        is_mine: Callable[[Pod], bool],
    ) -> None:
        self._states: Mapping[str, PodState] = cluster_state.pods
        self._changed = cluster_state.watch_pods()
        self._facts = facts
        self._is_mine = is_mine
        self._numbers: dict[str, int] = {}
        self._n_created = 0
        self._foreign: set[str] = set()
        self.pods: dict[str, PendingPod] = {}
        self.by_place: dict[Place, PendingPod] = {}
        self.classes: dict[EquivalenceClass, PendingClass] = {}
        self.singles: dict[str, PendingPod] = {}
        self.of_workload: dict[int, dict[str, PendingPod]] = {}
        self._n_of_kind: dict[int, Counter[EquivalenceClass | None]] = {}
        self.mixed: dict[int, None] = {}

    @property
    def n_foreign(self) -> int:
        """The number of pending pods of other schedulers."""
        return len(self._foreign)

    def facts(self, pod: PendingPod) -> PodFacts:
        """Return the facts of a pending pod, with its current record."""
        found = self._facts(pod.uid)
        assert found is not None
        return found

    def update(self) -> list[PendingPod]:
        """Read the pods that changed, and return those that are pending now."""
        found: list[PendingPod] = []
        for uid in self._changed:
            self._forget(uid)
            state = self._states.get(uid)
            if state is None or state.is_bound:
                self._numbers.pop(uid, None)
                continue
            if uid not in self._numbers:
                self._numbers[uid] = self._n_created
                self._n_created += 1
            if state.leaving or not state.waits:
                continue
            if self._is_mine(state.record):
                found.append(self._add(state))
            else:
                self._foreign.add(uid)
        self._changed.clear()
        return found

    def _add(self, state: PodState) -> PendingPod:
        facts = self._facts(state.uid)
        assert facts is not None
        place = (-facts.priority, self._numbers[state.uid])
        pod = PendingPod(state.uid, place, alike_on_nodes(facts), state.workload)
        self.pods[pod.uid] = self.by_place[place] = pod
        self.of_workload.setdefault(pod.workload, {})[pod.uid] = pod
        n_of_kind = self._n_of_kind.setdefault(pod.workload, Counter())
        n_of_kind[pod.kind] += 1
        if len(n_of_kind) > 1:
            self.mixed[pod.workload] = None
        if pod.kind is None:
            self.singles[pod.uid] = pod
        else:
            insort(self.classes.setdefault(pod.kind, PendingClass()).places, place)
        return pod

    def _forget(self, uid: str) -> None:
        self._foreign.discard(uid)
        pod = self.pods.pop(uid, None)
        if pod is None:
            return
        del self.by_place[pod.place]
        self._leave(pod)
        if pod.kind is None:
            del self.singles[uid]
            return
        places = self.classes[pod.kind].places
        del places[bisect_left(places, pod.place)]
        if not places:
            del self.classes[pod.kind]

    def _leave(self, pod: PendingPod) -> None:
        of_workload, n_of_kind = self.of_workload[pod.workload], self._n_of_kind[pod.workload]
        del of_workload[pod.uid]
        n_of_kind[pod.kind] -= 1
        if not n_of_kind[pod.kind]:
            del n_of_kind[pod.kind]
        if len(n_of_kind) < 2:
            self.mixed.pop(pod.workload, None)
        if not of_workload:
            del self.of_workload[pod.workload], self._n_of_kind[pod.workload]

    def after(self, kind: EquivalenceClass, place: Place) -> Iterable[PendingPod]:
        """Yield the pods of a class after a place."""
        places = self.classes[kind].places
        for number in range(bisect_right(places, place), len(places)):
            yield self.by_place[places[number]]
