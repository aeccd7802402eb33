"""AP202: the guarantee of a queue exceeds its limit or that of an ancestor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from apportion_compiler.checks.edits import amount_edit
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity, ValueEdit
from apportion_compiler.graph.declared_amounts import GPU_MODEL_PREFIX
from apportion_compiler.graph.graph import PolicyGraph, Scope
from apportion_compiler.graph.limits import NO_BOUNDS, Bounds, DeclaredLimit, bound_on, bounds_below
from apportion_compiler.graph.node import Node
from apportion_compiler.graph.values import QueueValues
from apportion_policy.quantity import Amount, Unlimited, is_over
from apportion_policy.queue import Queue
from apportion_policy.resources import GPU, Resources, amount_text
from apportion_policy.source import SourceLocation

GUARANTEE_OVER_LIMIT = Rule("AP202", "guarantee-over-limit", Severity.ERROR, "a queue's guarantee exceeds its limit")


@dataclass(frozen=True, slots=True)
class _Excess:
    """A guarantee, in base units, and the limit that it exceeds."""

    node: Node
    resource: str
    amount: Amount
    bound: DeclaredLimit


def guarantee_over_limit(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Compare each guarantee with the limits of the queue and its ancestors."""
    reported: set[tuple[str, str]] = set()
    for scope in graph.distinct_scopes:
        below = bounds_below(graph, scope)
        values = scope.values
        for id_, own in values.items():
            node = graph.nodes[id_]
            above = below[node.parent] if node.parent is not None else NO_BOUNDS
            for resource, bound in _exceeded(own, above, values):
                if (id_, resource) not in reported:
                    reported.add((id_, resource))
                    yield _finding(graph, scope, _Excess(node, resource, own.guaranteed[resource], bound), above)


def _exceeded(own: QueueValues, above: Bounds, values: Mapping[str, QueueValues]) -> list[tuple[str, DeclaredLimit]]:
    guaranteed = own.guaranteed
    exceeded: list[tuple[str, DeclaredLimit]] = []
    for resource, limit in own.limit.items():
        amount = guaranteed.get(resource, 0)
        if isinstance(limit, Unlimited) or (isinstance(amount, int) and amount <= limit):
            continue
        # The undeclared guarantee of an inner queue is UNLIMITED if a child's is; AP204 reports the child.
        if isinstance(amount, int) or resource in own.declared:
            exceeded.append((resource, DeclaredLimit(limit, own.id)))
    for resource, bound in above.items():
        amount = guaranteed.get(resource, 0)
        # AP204 reports UNLIMITED below a limit.
        if isinstance(amount, Unlimited) or amount <= bound.amount or is_over(amount, own.limit.get(resource, amount)):
            continue
        # If the guarantee of the queue with the limit exceeds it too, that queue is reported instead.
        if not is_over(values[bound.holder].guaranteed.get(resource, 0), bound.amount):
            exceeded.append((resource, bound))
    # The total of GPUs is not reported if a model already is.
    by_model = len(exceeded) > 1 and any(resource.startswith(GPU_MODEL_PREFIX) for resource, _ in exceeded)
    return [found for found in exceeded if found[0] != GPU] if by_model else exceeded


def _finding(graph: PolicyGraph, scope: Scope, over: _Excess, above: Bounds) -> Diagnostic:
    node, holder = over.node, graph.nodes[over.bound.holder]
    own = scope.values[node.id]
    guarantee_text, limited = amount_text(over.resource, over.amount), amount_text(over.resource, over.bound.amount)
    who, bounded = f"`{node.id}` is", f"its limit is {limited}"
    if over.resource not in own.declared and not node.is_leaf:
        who, bounded = f"the children of `{node.id}` are", f"`{node.id}` is limited to {limited}"
    if holder is not node:
        bounded = f"its ancestor `{holder.id}` is limited to {limited}"
    guarantee_of = "its guarantee" if holder is node else f"the guarantee of `{node.id}`"
    if not node.is_leaf:
        guarantee_of = f"the guarantees of `{node.id}` and its children"
    return Diagnostic(
        GUARANTEE_OVER_LIMIT,
        node.address,
        f"{who} guaranteed {guarantee_text}, but {bounded}",
        own.sources.get("guaranteed", _declared_at(node.queue)),
        _related(scope, node, holder, limited),
        f"raise the limit of `{holder.id}` to {guarantee_text}, or lower {guarantee_of} to {limited}",
        _fix(scope, over, holder, above),
        scope.name,
    )


def _declared_at(queue: Queue) -> SourceLocation:
    """Return the line of a queue's guarantee, or of its limit, or of the queue itself."""
    written = queue.guaranteed or queue.limit
    return written.source if isinstance(written, Resources) and written.source.line else queue.source


def _related(scope: Scope, node: Node, holder: Node, limited: str) -> tuple[Related, ...]:
    source = scope.values[holder.id].sources.get("limit")
    if source is None and holder is node:
        return ()
    return (Related(source or holder.queue.source, f"`{holder.id}` is limited to {limited}"),)


def _fix(scope: Scope, over: _Excess, holder: Node, above: Bounds) -> ValueEdit | None:
    ceiling = bound_on(above, over.resource)
    if holder is over.node and (ceiling is None or not is_over(over.amount, ceiling.amount)):
        raised = amount_edit(holder, scope, "limit", over.resource, over.amount)
        if raised is not None:
            return raised
    # Lowering an inner queue also requires lowering its children, which one edit cannot do.
    lowered = amount_edit(over.node, scope, "guaranteed", over.resource, over.bound.amount)
    return lowered if over.node.is_leaf else None
