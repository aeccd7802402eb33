"""kube-scheduler's node state, including assumed pods."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apportion_runtime.core.snapshot import Node
from apportion_runtime.engines.kube_scheduler.filter_status import FilterStatus
from apportion_runtime.engines.kube_scheduler.pods import PodFacts
from apportion_runtime.sim.api.cluster_state import ClusterState
from apportion_runtime.sim.history import ENDED_BY_NODE
from apportion_runtime.snapshots.pod_requests import PODS, Amounts, amounts

_MOST_KINDS = 1_000
"""The number of pod shapes whose filter results are cached."""
_MOST_CHANGES = 100_000
"""The number of changes after which rankings are computed again."""


@dataclass(slots=True)
class PodCounts:
    """The number of pods on all nodes with anti-affinity, with affinity or preferred pods, and of each priority."""

    n_anti_affinity: int = 0
    n_affinity: int = 0
    by_priority: dict[int, int] = field(default_factory=dict)

    def clear(self) -> None:
        """Forget all pods."""
        self.n_anti_affinity = self.n_affinity = 0
        self.by_priority.clear()

    def add(self, node: NodeState, sign: int = 1) -> None:
        """Add or subtract the pods of a node."""
        self.n_anti_affinity += sign * node.n_anti_affinity
        self.n_affinity += sign * node.n_affinity
        for pod in node.pods.values():
            self.by_priority[pod.priority] = self.by_priority.get(pod.priority, 0) + sign


class NodeState:
    """A node with its pods, including terminating ones.

    Args:
        record: The node.
        allocatable: Its resources.
        counts: The pods on all nodes, updated with those of this node.
        changes: A list to which the node adds its row for each change of its pods.
        row: Its place among the nodes.
        shape: The number of its allocatable resources, equal for nodes with the same.
    """

    __slots__ = (
        "_changes",
        "_counts",
        "allocatable",
        "n_affinity",
        "n_anti_affinity",
        "name",
        "nonzero_cpu",
        "nonzero_memory",
        "pods",
        "record",
        "requested",
        "row",
        "shape",
        "version",
    )

    def __init__(
        self,
        record: Node,
        allocatable: Amounts,
        counts: PodCounts | None = None,
        *,
        changes: list[int] | None = None,
        row: int = 0,
        shape: int = 0,
    ) -> None:
        self.record = record
        self.name = record.name
        self.allocatable = allocatable
        self.shape = shape
        self.requested: dict[str, int] = {}
        self.nonzero_cpu = self.nonzero_memory = 0
        self.pods: dict[str, PodFacts] = {}
        # The number of pods with required or preferred anti-affinity.
        self.n_anti_affinity = self.n_affinity = 0
        self._counts = counts
        self._changes = changes
        self.row = row
        # Incremented with each change of its pods, of their order or, by Volcano, of their statuses.
        self.version = 0

    def copy(self) -> NodeState:
        """Return a copy, which is not counted among the nodes."""
        made = NodeState(self.record, self.allocatable, row=self.row, shape=self.shape)
        made.pods, made.requested = dict(self.pods), dict(self.requested)
        made.nonzero_cpu, made.nonzero_memory = self.nonzero_cpu, self.nonzero_memory
        made.n_anti_affinity, made.n_affinity = self.n_anti_affinity, self.n_affinity
        return made

    def add(self, pod: PodFacts) -> None:
        """Add a pod."""
        self.pods[pod.uid] = pod
        self._charge(pod, 1)

    def remove(self, pod: PodFacts) -> None:
        """Remove a pod."""
        del self.pods[pod.uid]
        self._charge(pod, -1)

    def move_to_end(self, pods: Iterable[PodFacts]) -> None:
        """Move pods behind the others, as if they were removed and added again."""
        self.version += 1
        for pod in pods:
            del self.pods[pod.uid]
            self.pods[pod.uid] = pod

    def _charge(self, pod: PodFacts, sign: int) -> None:
        self.version += 1
        requested = self.requested
        for name, value in pod.request.items():
            requested[name] = requested.get(name, 0) + sign * value
        self.nonzero_cpu += sign * pod.counted[0]
        self.nonzero_memory += sign * pod.counted[1]
        has_anti_affinity = bool(pod.record.anti_affinity)
        has_affinity = bool(pod.record.affinity or pod.preferred_pods)
        self.n_anti_affinity += sign * has_anti_affinity
        self.n_affinity += sign * has_affinity
        counts = self._counts
        if counts is not None:
            counts.n_anti_affinity += sign * has_anti_affinity
            counts.n_affinity += sign * has_affinity
            counts.by_priority[pod.priority] = counts.by_priority.get(pod.priority, 0) + sign
        if self._changes is not None:
            self._changes.append(self.row)

    @property
    def state_key(self) -> Hashable:
        """Its allocatable and requested resources: nodes with the same key have the same room and scores."""
        return self.shape, len(self.pods), self.nonzero_cpu, self.nonzero_memory, *self.requested.items()

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
    """The nodes of a cluster in order of name, refreshed in each cycle.

    Args:
        cluster_state: The simulated cluster.
        pod: Returns the facts of a pod by its uid.
        moves_terminating: Whether pods move behind the others of their node when their deletion begins.

    Attributes:
        all: The nodes, by row.
        changes: The rows whose pods changed, in order; begins anew with each epoch.
        epoch: Incremented when rows have other meanings, or the list of changes is cleared.
        has_soft_taints: Whether any node has a PreferNoSchedule taint.
    """

    def __init__(
        self,
        cluster_state: ClusterState,
        pod: Callable[[str], PodFacts | None],
        *,
        moves_terminating: bool = False,
    ) -> None:
        self._cluster_state = cluster_state
        self._pod = pod
        self._states: dict[str, NodeState] = {}
        self._counts = PodCounts()
        self._fixed: dict[Hashable, dict[str, tuple[Node, FilterStatus | None]]] = {}
        self._shapes: dict[Hashable, int] = {}
        self._read: dict[str, tuple[Mapping[str, Any] | None, Amounts, int]] = {}
        """The allocatable resources of each node as written, their amounts, and the number of those."""
        self._occupied = cluster_state.watch_nodes()
        self._changed_pods = cluster_state.watch_pods() if moves_terminating else {}
        self._terminating: set[str] = set()
        self._node_version = -1
        self._n_refreshed = 0
        self.all: list[NodeState] = []
        self.changes: list[int] = []
        self.epoch = 0
        self.has_soft_taints = False

    def refresh(self) -> bool:
        """Refresh the nodes that changed in the cluster or here; return whether any of them had to be read again."""
        records = self._cluster_state.records
        if self._node_version != records.node_version:
            self._node_version = records.node_version
            has_changed = self._refresh_all(records.nodes)
        else:
            has_changed = False
            for name in sorted({*self._occupied, *(self.all[row].name for row in self.changes[self._n_refreshed :])}):
                known = self._states.get(name)
                here = self._cluster_state.pods_on.get(name, {})
                if known is not None and known.pods.keys() != here.keys():
                    self._replace(known, self._made(known.record, here, known.row))
                    has_changed = True
        self._occupied.clear()
        self.move_terminating()
        if len(self.changes) > _MOST_CHANGES:
            self.changes.clear()
            self.epoch += 1
        self._n_refreshed = len(self.changes)
        if has_changed and len(self._fixed) > _MOST_KINDS:
            self._fixed.clear()
        return has_changed

    def move_terminating(self) -> None:
        """Move pods whose deletion began behind the others of their node, as kube-scheduler does with an updated pod."""
        for uid in self._changed_pods:
            pod = self._cluster_state.pods.get(uid)
            if pod is None:
                self._terminating.discard(uid)
            elif uid not in self._terminating and self.is_terminating(uid):
                node = self._states.get(pod.record.node or "")
                if node is not None and uid in node.pods:
                    self._terminating.add(uid)
                    node.move_to_end((node.pods[uid],))
        self._changed_pods.clear()

    def _refresh_all(self, records: Mapping[str, Node]) -> bool:
        pods_on = self._cluster_state.pods_on
        names = sorted(records)
        has_changed = names != [*self._states]
        if has_changed:
            self.changes.clear()
            self.epoch += 1
        states: dict[str, NodeState] = {}
        for row, name in enumerate(names):
            known, here = self._states.get(name), pods_on.get(name, {})
            if known is None or known.record is not records[name] or known.pods.keys() != here.keys():
                known = self._made(records[name], here, row)
                self.changes.append(row)
                has_changed = True
            known.row = row
            states[name] = known
        self._states = states
        self.all = [*states.values()]
        if has_changed:
            self._counts.clear()
            for state in self.all:
                self._counts.add(state)
            self.has_soft_taints = any(
                taint.effect == "PreferNoSchedule" for state in self.all for taint in state.record.taints
            )
        return has_changed

    def _replace(self, known: NodeState, made: NodeState) -> None:
        self._counts.add(known, -1)
        self._states[known.name] = self.all[known.row] = made
        self.changes.append(known.row)

    def fixed(self, kind: Hashable) -> dict[str, tuple[Node, FilterStatus | None]]:
        """Return the cache of filter results by node for a pod shape; the caller fills it."""
        return self._fixed.setdefault(kind, {})

    @property
    def has_anti_affinity(self) -> bool:
        """Whether any pod has anti-affinity."""
        return self._counts.n_anti_affinity > 0

    @property
    def has_affinity(self) -> bool:
        """Whether any pod has affinity or preferred pods."""
        return self._counts.n_affinity > 0

    def has_priority_below(self, priority: int) -> bool:
        """Return whether any pod has a priority below a value."""
        return any(n_pods and other < priority for other, n_pods in self._counts.by_priority.items())

    def _made(self, record: Node, here: Mapping[str, None], row: int) -> NodeState:
        made = self._cluster_state.store.get("Node", "", record.name)
        assert made is not None
        written = (made.get("status") or {}).get("allocatable")
        known = self._read.get(record.name)
        if known is None or known[0] is not written:
            read = amounts(written)
            shape = self._shapes.setdefault(tuple(sorted(read.items())), len(self._shapes))
            known = self._read[record.name] = written, read, shape
        _, allocatable, shape = known
        state = NodeState(record, allocatable, self._counts, changes=self.changes, row=row, shape=shape)
        # The deletion of a pod updates it, and kube-scheduler moves an updated pod behind the others of its node.
        for uid in sorted(here, key=self.is_terminating):
            pod = self._pod(uid)
            if pod is not None:
                state.add(pod)
        return state

    def is_terminating(self, uid: str) -> bool:
        """Return whether a pod is being deleted, which one on a failed node is only once it is lost."""
        pod = self._cluster_state.pods.get(uid)
        return pod is not None and pod.leaving not in ("", ENDED_BY_NODE)

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
