"""kube-scheduler's node state, including assumed pods."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

from apportion_runtime.core.snapshot import Node
from apportion_runtime.engines.kube_scheduler.filter_status import FilterStatus
from apportion_runtime.engines.kube_scheduler.pods import PodFacts
from apportion_runtime.sim.api.cluster_state import ClusterState
from apportion_runtime.snapshots.pod_requests import PODS, Amounts, amounts

_MOST_KINDS = 1_000
"""The number of pod shapes whose filter results are cached."""


class NodeState:
    """A node with its pods, including terminating ones."""

    __slots__ = (
        "allocatable",
        "n_affinity",
        "n_anti_affinity",
        "n_anti_affinity_total",
        "name",
        "nonzero_cpu",
        "nonzero_memory",
        "pods",
        "record",
        "requested",
    )

    def __init__(self, record: Node, allocatable: Amounts, n_anti_affinity_total: list[int] | None = None) -> None:
        self.record = record
        self.name = record.name
        # The number of pods with anti-affinity on all nodes, shared by the nodes.
        self.n_anti_affinity_total = [0] if n_anti_affinity_total is None else n_anti_affinity_total
        self.allocatable = allocatable
        self.requested: dict[str, int] = {}
        self.nonzero_cpu = self.nonzero_memory = 0
        self.pods: dict[str, PodFacts] = {}
        # The number of pods with required or preferred anti-affinity.
        self.n_anti_affinity = self.n_affinity = 0

    def add(self, pod: PodFacts) -> None:
        """Add a pod."""
        self.pods[pod.uid] = pod
        self._charge(pod, 1)

    def remove(self, pod: PodFacts) -> None:
        """Remove a pod."""
        del self.pods[pod.uid]
        self._charge(pod, -1)

    def _charge(self, pod: PodFacts, sign: int) -> None:
        for name, value in pod.request.items():
            self.requested[name] = self.requested.get(name, 0) + sign * value
        self.nonzero_cpu += sign * pod.nonzero[0]
        self.nonzero_memory += sign * pod.nonzero[1]
        if pod.record.anti_affinity:
            self.n_anti_affinity += sign
            self.n_anti_affinity_total[0] += sign
        self.n_affinity += sign * bool(pod.record.affinity or pod.preferred_pods)

    def free(self, name: str) -> int:
        """Return the free amount of a resource."""
        return self.allocatable.get(name, 0) - self.requested.get(name, 0)

    @property
    def has_room(self) -> bool:
        """Whether one more pod fits by the pod count."""
        return len(self.pods) + 1 <= self.allocatable.get(PODS, 0)

    def lacking(self, request: Amounts) -> Iterator[str]:
        """Yield the insufficient resources for one more pod."""
        allocatable, requested = self.allocatable, self.requested
        for name, value in request.items():
            if value > 0 and value > allocatable.get(name, 0) - requested.get(name, 0):
                yield name


class Nodes:
    """The nodes of a cluster in order of name, refreshed in each cycle."""

    def __init__(self, cluster_state: ClusterState, pod: Callable[[str], PodFacts | None]) -> None:
        self._cluster_state = cluster_state
        self._pod = pod
        self._states: dict[str, NodeState] = {}
        self._n_anti_affinity_total = [0]
        self._fixed: dict[Hashable, dict[str, tuple[Node, FilterStatus | None]]] = {}
        self.all: Sequence[NodeState] = ()

    def refresh(self) -> bool:
        """Refresh every node from the cluster; return whether any changed."""
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
            self._n_anti_affinity_total[0] = sum(state.n_anti_affinity for state in self.all)
            if len(self._fixed) > _MOST_KINDS:
                self._fixed.clear()
        return has_changed

    def fixed(self, kind: Hashable) -> dict[str, tuple[Node, FilterStatus | None]]:
        """Return the cache of filter results by node for a pod shape; the caller fills it."""
        return self._fixed.setdefault(kind, {})

    @property
    def has_anti_affinity(self) -> bool:
        """Whether any pod has anti-affinity."""
        return self._n_anti_affinity_total[0] > 0

    def _made(self, record: Node, here: Mapping[str, None]) -> NodeState:
        made = self._cluster_state.store.get("Node", "", record.name)
        assert made is not None
        state = NodeState(record, amounts((made.get("status") or {}).get("allocatable")), self._n_anti_affinity_total)
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
