"""What the node pools of a cluster hold at their largest, and where the guarantees of the top-level queues exceed it.

A cluster that lists no pools, and a resource that one of its pools does not state, have an unknown capacity: nothing
is said about them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from apportion_compiler.graph.graph import Node, PolicyGraph, Scope
from apportion_compiler.graph.values import pool_machine
from apportion_policy.cluster import Cluster
from apportion_policy.pool import NodePool
from apportion_policy.quantity import Unlimited, parse_weight
from apportion_policy.resources import CPU, GPU, MEMORY, gpu_resource


@dataclass(slots=True)
class Holding:
    """What a cluster holds of one resource: base units of one machine by pool id, for the pools that hold any."""

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
        """The pool whose machine holds most; None where no pool has a machine."""
        present = [pool for pool in self.pools.values() if pool.max_nodes]
        return max(present, key=lambda pool: self.machines[pool.id], default=None)


@dataclass(frozen=True, slots=True)
class Shortage:
    """A resource of which a cluster's top-level queues are guaranteed more than its pools hold.

    `guaranteed` and `available` are base units; `available` is without the nodes taken to be down, and `allowed` is
    what the policy's overcommit lets be promised of it. `takers` are top-level queues with their amounts, largest
    first. `also` are the other clusters with the same numbers.
    """

    scope: Scope
    cluster: Cluster
    resource: str
    holding: Holding
    guaranteed: int
    available: int
    allowed: int
    takers: tuple[tuple[Node, int], ...]
    also: tuple[Scope, ...] = ()


def cluster_holdings(graph: PolicyGraph, cluster: Cluster) -> Mapping[str, Holding]:
    """Return what a cluster holds, by resource; GPUs by model and in total. Empty for a cluster without pools."""
    pools = {pool.id: pool for pool in graph.pools_of(cluster)}
    holdings: dict[str, Holding] = {CPU: Holding(), MEMORY: Holding(), GPU: Holding()} if pools else {}
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
    """Return the top-level queues that are guaranteed some of a resource, largest first, without unlimited ones."""
    takers: list[tuple[Node, int]] = []
    for root in graph.roots:
        amount = scope.values[root.id].guaranteed.get(resource, 0)
        if amount and not isinstance(amount, Unlimited):
            takers.append((root, amount))
    return sorted(takers, key=lambda taker: (-taker[1], taker[0].id))


def shortages(graph: PolicyGraph) -> Iterator[Shortage]:
    """Yield, for each cluster, what is guaranteed above what its pools hold."""
    found = [shortage for scope in graph.scopes for shortage in _shortages(graph, scope, one_down=False)]
    yield from _merged(found)


def shortages_one_node_down(graph: PolicyGraph) -> Iterator[Shortage]:
    """Yield what is guaranteed above what is left without the node that matters most, where all of them suffice."""
    found: list[Shortage] = []
    for scope in graph.scopes:
        short = {shortage.resource for shortage in _shortages(graph, scope, one_down=False)}
        models_short = any(resource.startswith(gpu_resource("")) for resource in short)
        found += [
            shortage
            for shortage in _shortages(graph, scope, one_down=True)
            if shortage.resource not in short and not (models_short and shortage.resource == GPU)
        ]
    yield from _merged(found)


def _shortages(graph: PolicyGraph, scope: Scope, *, one_down: bool) -> list[Shortage]:
    if scope.cluster is None:
        return []
    ratio = parse_weight(graph.policy.rules.overcommit)
    found: list[Shortage] = []
    models_short = False
    for resource, holding in cluster_holdings(graph, scope.cluster).items():
        takers = top_level_guarantees(graph, scope, resource)
        guaranteed = sum(amount for _, amount in takers)
        largest = holding.largest
        # Pools that hold the resource but may have no node at all are a fault of their own (AP612).
        if not guaranteed or (largest is None and (holding.pools or one_down)):
            models_short = models_short or (bool(guaranteed) and resource.startswith(gpu_resource("")))
            continue
        available = holding.capacity - (holding.machines[largest.id] if one_down and largest is not None else 0)
        allowed = available * ratio // 1000
        if guaranteed > allowed:
            models_short = models_short or resource.startswith(gpu_resource(""))
            found.append(
                Shortage(scope, scope.cluster, resource, holding, guaranteed, available, allowed, tuple(takers))
            )
    # Where a model is short, the total only repeats it.
    return [shortage for shortage in found if not (models_short and shortage.resource == GPU)]


def _merged(found: list[Shortage]) -> Iterator[Shortage]:
    """Say once what is the same, number for number, on several clusters."""
    same: dict[tuple[object, ...], list[Shortage]] = {}
    for shortage in found:
        pools = tuple(shortage.holding.pools)
        key = (shortage.resource, shortage.guaranteed, shortage.available, pools)
        same.setdefault(key, []).append(shortage)
    for first, *others in same.values():
        yield Shortage(
            first.scope, first.cluster, first.resource, first.holding, first.guaranteed, first.available,
            first.allowed, first.takers, tuple(other.scope for other in others),
        )  # fmt: skip
