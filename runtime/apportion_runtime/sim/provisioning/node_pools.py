"""Node pools with autoscaling: they grow for unschedulable pods and shrink when nodes are idle, within their limits.

A pool grows by the nodes that the pending pods would fill on their own; of several fitting pools, the first is used.
Pods that wait for quota do not trigger a scale-up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from apportion_runtime.core.plugins.predicates import selected, tolerated
from apportion_runtime.core.snapshot import Node, Pod
from apportion_runtime.sim.api.cluster_state import ClusterState
from apportion_runtime.sim.api.events import NodeJoins, PoolCheck
from apportion_runtime.sim.kubelet.nodes import add_node, node_manifest, node_name, remove_node
from apportion_runtime.sim.scenario.format import Pool

_GPU = "gpu"


@dataclass(slots=True)
class _Size:
    """The state of a pool: its nodes, its requested size, and the idle time of each node."""

    n_made: int = 0
    names: dict[str, None] = field(default_factory=dict)
    coming: dict[str, None] = field(default_factory=dict)
    idle_since: dict[str, float] = field(default_factory=dict)


class NodePools:
    """The pools of a cluster.

    Attributes:
        can_grow: Whether any pool scales.
    """

    def __init__(self, cluster_state: ClusterState, pools: Sequence[Pool]) -> None:
        self._cluster_state = cluster_state
        self.pools = {pool.name: pool for pool in pools}
        self._sizes = {pool.name: _Size() for pool in pools}
        self._models: dict[str, Node | None] = {}
        self._check_at: float | None = None
        self.can_grow = any(pool.scales for pool in pools)

    def begin(self) -> None:
        """Create the initial nodes."""
        for pool in self.pools.values():
            for _ in range(pool.size):
                self.join(self._next_name(pool), pool.name)

    def _next_name(self, pool: Pool) -> str:
        size = self._sizes[pool.name]
        name = node_name(pool, size.n_made)
        size.n_made += 1
        return name

    def join(self, name: str, pool: str) -> None:
        """Add a node of a pool."""
        size = self._sizes[pool]
        size.coming.pop(name, None)
        size.names[name] = None
        add_node(self._cluster_state, node_manifest(self.pools[pool], name))
        if self.pools[pool].scales:
            self._look_again(self._cluster_state.now)

    def gone(self, name: str) -> None:
        """Handle the deletion of a node."""
        for size in self._sizes.values():
            size.names.pop(name, None)
            size.idle_since.pop(name, None)

    def grow(self, waiting: Sequence[Pod]) -> None:
        """Request nodes for unschedulable pods that would fit on additional nodes."""
        for pool in self.pools.values():
            size = self._sizes[pool.name]
            room = pool.most - len(size.names) - len(size.coming)
            if not pool.scales or room <= 0:
                continue
            needed = self._needed(pool, waiting) - len(size.coming)
            for _ in range(min(room, needed)):
                name = self._next_name(pool)
                size.coming[name] = None
                self._cluster_state.events.plan(self._cluster_state.now + pool.scale_up_s, NodeJoins(name, pool.name))
                self._cluster_state.note("node-asked", node=name)

    def _needed(self, pool: Pool, pods: Sequence[Pod]) -> int:
        """Return the number of nodes that pods would fill, by first fit."""
        model = self._model(pool)
        if model is None:
            return 0
        free: list[dict[str, float]] = []
        for pod in pods:
            if not tolerated(pod, model) or not selected(pod, model):
                continue
            asked = {**pod.request, _GPU: pod.gpu.gpus}
            if any(amount > model.allocatable.get(name, 0.0) for name, amount in asked.items()):
                continue
            place = next((f for f in free if all(f.get(n, 0.0) >= amount for n, amount in asked.items())), None)
            if place is None:
                place = dict(model.allocatable)
                free.append(place)
            for name, amount in asked.items():
                place[name] = place.get(name, 0.0) - amount
        return len(free)

    def _model(self, pool: Pool) -> Node | None:
        if pool.name not in self._models:
            self._models[pool.name] = self._cluster_state.records.read_node(node_manifest(pool, f"{pool.name}-model"))
        return self._models[pool.name]

    def check(self) -> None:
        """Remove nodes that have been idle long enough, and schedule the next check."""
        cluster_state = self._cluster_state
        self._check_at = None
        following: list[float] = []
        for pool in self.pools.values():
            if not pool.scales:
                continue
            size = self._sizes[pool.name]
            for name in list(size.names):
                if cluster_state.pods_on.get(name):
                    size.idle_since.pop(name, None)
                    continue
                since = size.idle_since.setdefault(name, cluster_state.now)
                if len(size.names) <= pool.least:
                    continue
                if cluster_state.now - since >= pool.idle_s:
                    remove_node(cluster_state, name)
                    self.gone(name)
                else:
                    following.append(since + pool.idle_s)
        if following:
            self._look_again(min(following))

    def settle(self) -> None:
        """Check for idle nodes after pods changed."""
        if self.can_grow:
            self._look_again(self._cluster_state.now)

    def _look_again(self, at: float) -> None:
        if self._check_at is None or at < self._check_at:
            self._check_at = at
            self._cluster_state.events.plan(at, PoolCheck())
