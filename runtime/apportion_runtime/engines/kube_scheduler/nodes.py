"""What kube-scheduler knows of nodes, and what it assumes while it decides."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

from apportion_runtime.core.snapshot import Node
from apportion_runtime.engines.kube_scheduler.misfit import Misfit
from apportion_runtime.engines.kube_scheduler.pods import PodFacts
from apportion_runtime.sim.api.cluster_state import ClusterState
from apportion_runtime.sim.api.pod_requests import PODS, Amounts, amounts

_MOST_KINDS = 1_000
"""Kinds of pods of which it is remembered what nodes are to them."""


class NodeState:
    """A node with the pods on it, those included that are leaving."""

    __slots__ = (
        "allocatable",
        "n_choosy",
        "n_shunning",
        "name",
        "nonzero_cpu",
        "nonzero_memory",
        "pods",
        "record",
        "requested",
        "shunning",
    )

    def __init__(self, record: Node, allocatable: Amounts, shunning: list[int] | None = None) -> None:
        self.record = record
        self.name = record.name
        # How many pods of all nodes will not stand beside some others, in one place for all.
        self.shunning = [0] if shunning is None else shunning
        self.allocatable = allocatable
        self.requested: dict[str, int] = {}
        self.nonzero_cpu = self.nonzero_memory = 0
        self.pods: dict[str, PodFacts] = {}
        # How many of the pods will not, or would rather not, stand beside some others.
        self.n_shunning = self.n_choosy = 0

    def add(self, pod: PodFacts) -> None:
        """Have a pod stand here."""
        self.pods[pod.uid] = pod
        self._charge(pod, 1)

    def remove(self, pod: PodFacts) -> None:
        """Have a pod stand here no more."""
        del self.pods[pod.uid]
        self._charge(pod, -1)

    def _charge(self, pod: PodFacts, sign: int) -> None:
        for name, value in pod.request.items():
            self.requested[name] = self.requested.get(name, 0) + sign * value
        self.nonzero_cpu += sign * pod.nonzero[0]
        self.nonzero_memory += sign * pod.nonzero[1]
        if pod.record.anti_affinity:
            self.n_shunning += sign
            self.shunning[0] += sign
        self.n_choosy += sign * bool(pod.record.affinity or pod.preferred_pods)

    def free(self, name: str) -> int:
        """Return what is left of a resource."""
        return self.allocatable.get(name, 0) - self.requested.get(name, 0)

    @property
    def has_room(self) -> bool:
        """Whether one more pod may stand here."""
        return len(self.pods) + 1 <= self.allocatable.get(PODS, 0)

    def lacking(self, request: Amounts) -> Iterator[str]:
        """Yield the resources of which there is not enough for one more pod."""
        allocatable, requested = self.allocatable, self.requested
        for name, value in request.items():
            if value > 0 and value > allocatable.get(name, 0) - requested.get(name, 0):
                yield name


class Nodes:
    """The nodes of a cluster in the order of their names, brought up to date at each cycle."""

    def __init__(self, cluster_state: ClusterState, pod: Callable[[str], PodFacts | None]) -> None:
        self._cluster_state = cluster_state
        self._pod = pod
        self._states: dict[str, NodeState] = {}
        self._shunning = [0]
        self._fixed: dict[Hashable, dict[str, tuple[Node, Misfit | None]]] = {}
        self.all: Sequence[NodeState] = ()

    def refresh(self) -> bool:
        """Have every node be as the cluster has it; tell whether any became other than it was left."""
        records = self._cluster_state.records.nodes
        pods_on = self._cluster_state.pods_on
        states: dict[str, NodeState] = {}
        has_changed = False
        for name in sorted(records):
            known = self._states.get(name)
            here = pods_on.get(name, {})
            if known is None or known.record is not records[name] or known.pods.keys() != here.keys():
                known = self._made(records[name], here)
                has_changed = True
            states[name] = known
        has_changed = has_changed or states.keys() != self._states.keys()
        self._states = states
        self.all = tuple(states.values())
        if has_changed:
            self._shunning[0] = sum(state.n_shunning for state in self.all)
            if len(self._fixed) > _MOST_KINDS:
                self._fixed.clear()
        return has_changed

    def fixed(self, kind: Hashable) -> dict[str, tuple[Node, Misfit | None]]:
        """Return by node what was found of it for pods of a kind, with the record that it was found of; for others to fill."""
        return self._fixed.setdefault(kind, {})

    @property
    def has_anti_affinity(self) -> bool:
        """Whether any pod will not stand beside some others."""
        return self._shunning[0] > 0

    def _made(self, record: Node, here: Mapping[str, None]) -> NodeState:
        made = self._cluster_state.store.get("Node", "", record.name)
        assert made is not None
        state = NodeState(record, amounts(made["status"].get("allocatable")), self._shunning)
        for uid in here:
            pod = self._pod(uid)
            if pod is not None:
                state.add(pod)
        return state

    def get(self, name: str) -> NodeState | None:
        """Return a node by name."""
        return self._states.get(name)

    @property
    def nodes(self) -> Sequence[Node]:
        """The records of the nodes, in their order."""
        return [state.record for state in self.all]

    @property
    def entries(self) -> Sequence[Mapping[str, PodFacts]]:
        """The pods on each of them."""
        return [state.pods for state in self.all]
