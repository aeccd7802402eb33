"""The capacity of a cluster's node pools at `max_nodes`, and top-level guarantees that exceed it.

The capacity is unknown, and not checked, for a cluster without pools and for a resource that one of its pools does not
declare. Nodes from queued provisioning are not counted, because their capacity is not guaranteed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from apportion_compiler.graph.declared_amounts import pool_machine
from apportion_compiler.graph.graph import PolicyGraph, Scope
from apportion_compiler.graph.node import Node
from apportion_policy.cluster import Cluster
from apportion_policy.pool import NodePool
from apportion_policy.quantity import Unlimited, parse_weight
from apportion_policy.resources import CPU, GPU, MEMORY, gpu_resource


@dataclass(slots=True)
class Holding:
    """The capacity of a cluster for one resource: base units per machine by pool id, for pools with the resource."""

    machines: dict[str, int] = field(default_factory=dict[str, int])
    pools: dict[str, NodePool] = field(default_factory=dict[str, NodePool])

    @property
    def capacity(self) -> int:
        """Base units with every pool at max_nodes."""
        return sum(amount * self.pools[id_].max_nodes for id_, amount in self.machines.items())

    @property
    def n_nodes(self) -> int:
        """Machines with every pool at max_nodes."""
        return sum(pool.max_nodes for pool in self.pools.values())

    @property
    def largest(self) -> NodePool | None:
        """The pool with the most of the resource per machine; None if no pool can have machines."""
        present = [pool for pool in self.pools.values() if pool.max_nodes]
        return max(present, key=lambda pool: self.machines[pool.id], default=None)


@dataclass(frozen=True, slots=True)
class Shortage:
    """A resource whose top-level guarantees exceed the capacity of a cluster's pools.

    `guaranteed` and `available` are base units; `available` excludes nodes assumed to be down, and `allowed` is the
    maximum of guarantees under the policy's overcommit. `claimants` are top-level queues with their amounts, largest
    first. `queued` are the cluster's pools of queued provisioning with the resource. `also` are other clusters with the
    same numbers.
    """

    scope: Scope
    cluster: Cluster
    resource: str
    holding: Holding
    guaranteed: int
    available: int
    allowed: int
    claimants: tuple[tuple[Node, int], ...]
    queued: tuple[NodePool, ...] = ()
    also: tuple[Scope, ...] = ()

    @property
    def is_covered_by_queued_nodes(self) -> bool:
        """Whether the guarantees would fit with all nodes of queued provisioning."""
        if not self.queued:
            return False
        nodes = ((pool_machine(pool).get(self.resource, 0), pool.max_nodes) for pool in self.queued)
        return self.guaranteed <= self.allowed + sum(
            amount * n_nodes for amount, n_nodes in nodes if not isinstance(amount, Unlimited)
        )


def cluster_holdings(graph: PolicyGraph, cluster: Cluster) -> Mapping[str, Holding]:
    """Return the capacity of a cluster by resource, GPUs by model and in total; empty for a cluster without pools.

    Pools of queued provisioning are excluded; a cluster with no other pools has no capacity.
    """
    pools = {pool.id: pool for pool in graph.pools_of(cluster) if pool.provisioning is None}
    holdings: dict[str, Holding] = {CPU: Holding(), MEMORY: Holding(), GPU: Holding()} if cluster.pools else {}
    unknown: set[str] = set()
    for pool in pools.values():
        machine = pool_machine(pool)
        unknown.update(resource for resource in (CPU, MEMORY) if resource not in machine)
        for resource, amount in machine.items():
            if isinstance(amount, Unlimited):
                unknown.add(resource)
            elif amount:
                holding = holdings.setdefault(resource, Holding())
                holding.machines[pool.id] = amount
                holding.pools[pool.id] = pool
    return {resource: holding for resource, holding in holdings.items() if resource not in unknown}


def top_level_guarantees(graph: PolicyGraph, scope: Scope, resource: str) -> list[tuple[Node, int]]:
    """Return the top-level queues with a guarantee of a resource, largest first, without unlimited ones."""
    claimants: list[tuple[Node, int]] = []
    for root in graph.roots:
        amount = scope.values[root.id].guaranteed.get(resource, 0)
        if amount and not isinstance(amount, Unlimited):
            claimants.append((root, amount))
    return sorted(claimants, key=lambda claimant: (-claimant[1], claimant[0].id))


def shortages(graph: PolicyGraph) -> Iterator[Shortage]:
    """Yield the shortages of each cluster: guarantees above the capacity of its pools."""
    return _merged([shortage for scope in graph.scopes for shortage in _shortages(graph, scope)[0]])


def shortages_one_node_down(graph: PolicyGraph) -> Iterator[Shortage]:
    """Yield the shortages that arise only without the largest node of a resource."""
    return _merged([shortage for scope in graph.scopes for shortage in _shortages(graph, scope)[1]])


def _shortages(graph: PolicyGraph, scope: Scope) -> tuple[list[Shortage], list[Shortage]]:
    """Return the shortages with all nodes up, and the additional ones with one down."""
    now: list[Shortage] = []
    one_down: list[Shortage] = []
    if scope.cluster is None or not scope.cluster.pools:
        return now, one_down
    ratio = parse_weight(graph.policy.rules.overcommit)
    guarantees = _sums(graph, scope)
    model_short = False
    for resource, holding in cluster_holdings(graph, scope.cluster).items():
        guaranteed = guarantees.get(resource, 0)
        largest = holding.largest
        if not guaranteed:
            continue
        found: list[Shortage] | None = None
        available = holding.capacity
        if guaranteed > available * ratio // 1000:
            # Pools of the resource with a max_nodes of 0 are a separate finding (AP612).
            found = now if largest is not None or not holding.pools else []
        elif largest is not None:
            available -= holding.machines[largest.id]
            found = one_down if guaranteed > available * ratio // 1000 else None
        if found is not None:
            model_short = model_short or resource.startswith(gpu_resource(""))
            claimants = tuple(top_level_guarantees(graph, scope, resource))
            allowed = available * ratio // 1000
            queued = tuple(
                pool
                for pool in graph.pools_of(scope.cluster)
                if pool.provisioning is not None and resource in pool_machine(pool)
            )
            found.append(
                Shortage(scope, scope.cluster, resource, holding, guaranteed, available, allowed, claimants, queued)
            )
    if model_short:
        # The total would only repeat the shortage of a model.
        now, one_down = ([s for s in found if s.resource != GPU] for found in (now, one_down))
    return now, one_down


def _sums(graph: PolicyGraph, scope: Scope) -> dict[str, int]:
    """Return the sum of top-level guarantees, without unlimited ones."""
    sums: dict[str, int] = {}
    for root in graph.roots:
        for resource, amount in scope.values[root.id].guaranteed.items():
            if not isinstance(amount, Unlimited):
                sums[resource] = sums.get(resource, 0) + amount
    return sums


def _merged(found: list[Shortage]) -> Iterator[Shortage]:
    """Merge shortages with the same numbers on several clusters."""
    same: dict[tuple[object, ...], list[Shortage]] = {}
    for shortage in found:
        pools = tuple(shortage.holding.pools)
        key = (shortage.resource, shortage.guaranteed, shortage.available, pools)
        same.setdefault(key, []).append(shortage)
    for first, *others in same.values():
        yield Shortage(
            first.scope, first.cluster, first.resource, first.holding, first.guaranteed, first.available,
            first.allowed, first.claimants, first.queued, tuple(other.scope for other in others),
        )  # fmt: skip
