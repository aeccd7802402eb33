"""AP601: the guarantees of a cluster add up to more than the capacity of its node pools."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.checks.capacity import Shortage, shortages
from apportion_compiler.checks.capacity_remedy import node_count, overcommit_text, shortage_found
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Rule, Severity
from apportion_compiler.graph.graph import PolicyGraph
from apportion_policy.resources import amount_text

GUARANTEES_OVER_CAPACITY = Rule(
    "AP601", "guarantees-over-capacity", Severity.ERROR, "guarantees exceed the capacity of the node pools"
)


def guarantees_over_capacity(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Compare, per resource and GPU model, the top-level guarantees with the capacity of each cluster at max_nodes."""
    for shortage in shortages(graph):
        yield shortage_found(GUARANTEES_OVER_CAPACITY, graph, shortage, _message(graph, shortage))


def _message(graph: PolicyGraph, shortage: Shortage) -> str:
    resource, n_nodes = shortage.resource, shortage.holding.n_nodes
    held = amount_text(resource, shortage.available)
    message = f"guarantees add up to {amount_text(resource, shortage.guaranteed)}, but {shortage.scope.name} has {held}"
    message += f" on {node_count(n_nodes)}" if n_nodes else ""
    return message + overcommit_text(graph, shortage)
