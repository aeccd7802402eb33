"""AP602: the guarantees of a cluster exceed the capacity of its node pools with one node down."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.checks.capacity import Shortage, shortages_one_node_down
from apportion_compiler.checks.capacity_remedy import overcommit_text, shortage_found
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Rule, Severity
from apportion_compiler.graph.graph import PolicyGraph
from apportion_policy.quantity import decimal_text, gpu_text, readable_memory
from apportion_policy.resources import CPU, MEMORY, amount_text

GUARANTEES_OVER_CAPACITY_ONE_NODE_DOWN = Rule(
    "AP602",
    "guarantees-over-capacity-one-node-down",
    Severity.WARNING,
    "guarantees exceed the capacity of the node pools with one node down",
)


def guarantees_over_capacity_one_node_down(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Compare the top-level guarantees with the capacity of each cluster without its largest node."""
    for shortage in shortages_one_node_down(graph):
        yield shortage_found(GUARANTEES_OVER_CAPACITY_ONE_NODE_DOWN, graph, shortage, _message(graph, shortage))


def _message(graph: PolicyGraph, shortage: Shortage) -> str:
    resource, pool = shortage.resource, shortage.holding.largest
    assert pool is not None
    size, left = shortage.holding.machines[pool.id], amount_text(resource, shortage.available)
    return (
        f"guarantees add up to {amount_text(resource, shortage.guaranteed)}, but with one {_machine(resource, size)} node "
        f"of `{pool.id}` down, {shortage.scope.name} has {left}{overcommit_text(graph, shortage)}"
    )


def _machine(resource: str, amount: int) -> str:
    if resource == CPU:
        return f"{decimal_text(amount)}-core"
    return readable_memory(amount)[0] if resource == MEMORY else f"{gpu_text(amount)}-GPU"
