"""The content of tree diagrams: each queue's guarantee and limit of one resource, and the capacity."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from apportion_compiler.graph.declared_amounts import pool_machine
from apportion_compiler.graph.graph import PolicyGraph, Scope
from apportion_compiler.graph.node import Node
from apportion_policy.quantity import (
    UNLIMITED,
    Amount,
    Unlimited,
    add,
    count_text,
    decimal_text,
    readable_memory,
    smaller,
)
from apportion_policy.resources import CPU, GPU, MEMORY, amount_text


@dataclass(frozen=True, slots=True)
class TreeRow:
    """A queue. `limit` is the effective one: the smallest of it and its ancestors; UNLIMITED if none is set."""

    id: str
    title: str | None
    parent: str | None
    depth: int
    is_last: bool
    owner: str | None
    namespaces: int
    guaranteed: Amount
    limit: Amount


@dataclass(frozen=True, slots=True)
class TreeReport:
    """Rows in tree order. `capacity` is that of the node pools at max_nodes; None if unknown.

    `scale` is the amount of a full bar.
    """

    scope: str
    resource: str
    capacity: Amount | None
    scale: int
    rows: tuple[TreeRow, ...]

    def text(self, amount: Amount) -> str:
        """Return an amount as text, without its unit."""
        if self.resource == MEMORY:
            nearest, exact = readable_memory(amount)
            return nearest if exact is None else f"{nearest} ({exact})"
        counted_in_parts = self.resource in (CPU, GPU) or self.resource.startswith(f"{GPU}/")
        return decimal_text(amount) if counted_in_parts else count_text(amount)

    @property
    def unit(self) -> str:
        """The unit of the resource's amounts: `GPUs`, `H100`, `cpu`."""
        return amount_text(self.resource, 0).removeprefix("0").strip()


def resources_of(scope: Scope) -> tuple[str, ...]:
    """Return the resources that queues of a scope declare: GPUs first, then models, CPU, memory, others."""
    named = {r for values in scope.values.values() for r in (*values.guaranteed, *values.limit)}
    order = (GPU, *sorted(r for r in named if r.startswith(f"{GPU}/")), CPU, MEMORY)
    return tuple(r for r in order if r in named) + tuple(sorted(named - set(order)))


def capacity(graph: PolicyGraph, scope: Scope, resource: str) -> Amount | None:
    """Return the capacity of the scope's pools for a resource with every node up; None if unknown."""
    if scope.cluster is None or not scope.cluster.pools:
        return None
    total: Amount = 0
    for pool in graph.pools_of(scope.cluster):
        per_machine = pool_machine(pool).get(resource, 0 if resource.startswith(GPU) else None)
        if per_machine is None:
            return None
        assert not isinstance(per_machine, Unlimited)
        total = add(total, per_machine * pool.max_nodes)
    return total


def tree_report(graph: PolicyGraph, scope: Scope, resource: str, depth: int | None = None) -> TreeReport:
    """Return the rows of a scope's tree for one resource, up to a depth."""
    limits = effective_limits(graph, scope, resource)
    rows = tuple(
        _row(graph, scope, node, resource, limits[node.id])
        for node in graph.nodes.values()
        if depth is None or len(node.path) <= depth
    )
    held = capacity(graph, scope, resource)
    bounded = [amount for row in rows for amount in (row.guaranteed, row.limit) if not isinstance(amount, Unlimited)]
    top: Amount = 0
    for root in graph.roots:
        top = add(top, scope.values[root.id].guaranteed.get(resource, 0))
    for amount in (held, top):
        if amount is not None and not isinstance(amount, Unlimited):
            bounded.append(amount)
    return TreeReport(scope.name or "as written", resource, held, max(bounded, default=0), rows)


def effective_limits(graph: PolicyGraph, scope: Scope, resource: str) -> dict[str, Amount]:
    """Return, for each queue, the smallest limit of it and its ancestors.

    The sum of the limits of all models applies to GPUs, and the limit of all GPUs to each model.
    """
    own = _smallest_limits(graph, scope, resource)
    if resource.startswith(f"{GPU}/"):
        whole = _smallest_limits(graph, scope, GPU)
        return {id_: smaller(amount, whole[id_]) for id_, amount in own.items()}
    models = _models(graph, scope) if resource == GPU else ()
    if not models:
        return own
    by_model = [_smallest_limits(graph, scope, f"{GPU}/{model}") for model in models]
    return {id_: smaller(amount, reduce(add, (limits[id_] for limits in by_model))) for id_, amount in own.items()}


def _models(graph: PolicyGraph, scope: Scope) -> tuple[str, ...]:
    """Return the existing GPU models: the cluster's or, for the policy as written, those of every pool."""
    pools = graph.pools_of(scope.cluster) if scope.cluster is not None else graph.policy.node_pools
    return tuple(dict.fromkeys(pool.accelerator.model for pool in pools if pool.accelerator is not None))


def _smallest_limits(graph: PolicyGraph, scope: Scope, resource: str) -> dict[str, Amount]:
    limits: dict[str, Amount] = {}
    for node in graph.nodes.values():
        above = limits[node.parent] if node.parent is not None else UNLIMITED
        limits[node.id] = smaller(scope.values[node.id].limit.get(resource, UNLIMITED), above)
    return limits


def _row(graph: PolicyGraph, scope: Scope, node: Node, resource: str, limit: Amount) -> TreeRow:
    siblings = graph.nodes[node.parent].children if node.parent is not None else tuple(r.id for r in graph.roots)
    return TreeRow(
        node.id,
        node.queue.title,
        node.parent,
        len(node.path),
        siblings[-1] == node.id,
        graph.owners[node.id],
        len(node.queue.namespaces),
        scope.values[node.id].guaranteed.get(resource, 0),
        limit,
    )
