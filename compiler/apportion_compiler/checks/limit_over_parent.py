"""AP203: a queue's limit exceeds that of an ancestor, which some engines ignore and others reject."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from apportion_compiler.checks.edits import amount_edit
from apportion_compiler.checks.engines import engines_of
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.graph.declared_amounts import GPU_MODEL_PREFIX
from apportion_compiler.graph.graph import PolicyGraph, Scope
from apportion_compiler.graph.limits import NO_BOUNDS, DeclaredLimit, bound_on, bounds_below
from apportion_compiler.graph.node import Node
from apportion_policy.engine import Engine
from apportion_policy.quantity import Unlimited
from apportion_policy.resources import GPU, amount_text

LIMIT_OVER_PARENT = Rule("AP203", "limit-over-parent", Severity.WARNING, "a queue's limit exceeds an ancestor's limit")


@dataclass(frozen=True, slots=True)
class _Excess:
    """A limit, in base units, and the smaller one of an ancestor."""

    node: Node
    resource: str
    amount: int
    bound: DeclaredLimit


def limit_over_parent(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Compare each limit with the smallest limit of its ancestors.

    UNLIMITED means "no limit of its own" and is valid.
    """
    reported: set[tuple[str, str, Engine | None]] = set()
    for scope in graph.distinct_scopes:
        below = bounds_below(graph, scope)
        engine = scope.cluster.engine if scope.cluster is not None else None
        if not any(below.values()):
            continue
        for id_, own in scope.values.items():
            node, limit = graph.nodes[id_], own.limit
            above = below[node.parent] if limit and node.parent is not None else NO_BOUNDS
            if not above:
                continue
            for resource, amount in limit.items():
                bound = bound_on(above, resource)
                if bound is None or isinstance(amount, Unlimited) or amount <= bound.amount:
                    continue
                if resource == GPU and _counts_models(limit):
                    continue
                # A fault of the policy as written is reported once for all engines; a fault of some clusters, once for
                # each engine.
                if reported.isdisjoint({(id_, resource, None), (id_, resource, engine)}):
                    reported.add((id_, resource, engine))
                    yield _finding(graph, scope, _Excess(node, resource, amount, bound))


def _counts_models(limit: Mapping[str, object]) -> bool:
    """Return whether the total of GPUs is only the sum of the models' limits, and not declared."""
    return any(resource.startswith(GPU_MODEL_PREFIX) for resource in limit)


def _finding(graph: PolicyGraph, scope: Scope, over: _Excess) -> Diagnostic:
    node, holder = over.node, graph.nodes[over.bound.holder]
    engines = engines_of(graph) if scope.cluster is None else (scope.cluster.engine,)
    traits = [TRAITS[engine.value] for engine in engines]
    own, above = amount_text(over.resource, over.amount), amount_text(over.resource, over.bound.amount)
    effects = "; ".join(one.limit_over_parent.format(above) for one in traits)
    return Diagnostic(
        LIMIT_OVER_PARENT,
        node.address,
        f"`{node.id}` is limited to {own}, but its ancestor `{holder.id}` is limited to {above}: {effects}",
        scope.values[node.id].sources.get("limit", node.queue.source),
        (
            Related(
                scope.values[holder.id].sources.get("limit", holder.queue.source),
                f"`{holder.id}` is limited to {above}",
            ),
        ),
        f"lower the limit of `{node.id}` to {above}, or raise the limit of `{holder.id}` to {own}",
        amount_edit(node, scope, "limit", over.resource, over.bound.amount),
        scope.name,
        Severity.ERROR if any(one.refuses_limit_over_parent for one in traits) else None,
    )
