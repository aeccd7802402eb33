"""AP207: an over-quota weight without effect.

Only certain cases are reported: a queue whose limit equals its guarantee never gets surplus, and an only child does not
compete for it. Weights of 1 (the default) and 0 are valid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity, ValueEdit
from apportion_compiler.graph.graph import PolicyGraph
from apportion_compiler.graph.limits import NO_BOUNDS, Bounds, bound_on, bounds_below
from apportion_compiler.graph.node import Node
from apportion_compiler.graph.values import DEFAULT_WEIGHT, WEIGHTED, QueueValues
from apportion_policy.quantity import Amount, Unlimited, smaller, weight_text
from apportion_policy.resources import Weight, amount_text

WEIGHT_WITHOUT_SURPLUS = Rule(
    "AP207", "weight-without-surplus", Severity.WARNING, "a weight has no effect because there is no surplus to share"
)

_CHANGED = frozenset({"guaranteed", "limit", "over_quota_weight"})
_NEUTRAL_WEIGHTS = (0, DEFAULT_WEIGHT)
"""Weights that request no more surplus than the default."""


def weight_without_surplus(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Check the queues that declare a weight, as written: an effect of an override or of one cluster is not a fault."""
    weighted = [node for node in graph.nodes.values() if node.queue.over_quota_weight is not None]
    below: Mapping[str, Bounds] = bounds_below(graph, graph.base) if weighted else {}
    for node in weighted:
        own = graph.base.values[node.id]
        if own.sources and not own.sources.keys().isdisjoint(_CHANGED):
            continue
        asked = _asked(node, own)
        if asked:
            above = below[node.parent] if node.parent is not None else NO_BOUNDS
            yield from _only_child(graph, node, own, asked) or _full(node, own, asked, above)


def _asked(node: Node, own: QueueValues) -> list[str]:
    """Return the resources with a declared weight other than 0 and 1."""
    weight = node.queue.over_quota_weight
    if not isinstance(weight, Weight):
        return [] if own.weight[WEIGHTED[0]] in _NEUTRAL_WEIGHTS else list(WEIGHTED)
    written = weight.weights()
    return [resource for resource in WEIGHTED if resource in written and own.weight[resource] not in _NEUTRAL_WEIGHTS]


def _only_child(graph: PolicyGraph, node: Node, own: QueueValues, asked: list[str]) -> list[Diagnostic]:
    siblings = len(graph.nodes[node.parent].children) if node.parent is not None else len(graph.roots)
    if siblings > 1:
        return []
    beside = f"below `{node.parent}`" if node.parent is not None else "at the top level"
    related: tuple[Related, ...] = ()
    if node.parent is not None:
        parent = graph.nodes[node.parent]
        related = (Related(parent.queue.source, f"`{parent.id}` has no other child"),)
    weights = ", ".join(sorted({weight_text(own.weight[resource]) for resource in asked}))
    return [
        Diagnostic(
            WEIGHT_WITHOUT_SURPLUS,
            node.address,
            f"`{node.id}` has over-quota weight {weights}, but is the only queue {beside}, so no other queue competes for surplus",
            node.queue.source,
            related,
            f"remove `over_quota_weight` from `{node.id}`",
            ValueEdit(node.queue.source, ("over_quota_weight",), None),
        )
    ]


def _full(node: Node, own: QueueValues, asked: list[str], above: Bounds) -> Iterator[Diagnostic]:
    full = {r: bound for r in asked if (bound := _bound_at_guarantee(own, above, r)) is not None}
    managed = [resource for resource in asked if resource in own.guaranteed]
    weight = node.queue.over_quota_weight
    if isinstance(weight, Weight):
        for resource, bound in full.items():
            yield _finding(node, own, resource, bound, ValueEdit(weight.source, (resource,), None))
    elif managed and all(resource in full for resource in managed):
        resource = managed[0]
        yield _finding(node, own, resource, full[resource], ValueEdit(node.queue.source, ("over_quota_weight",), None))


def _bound_at_guarantee(own: QueueValues, above: Bounds, resource: str) -> Amount | None:
    """Return the guarantee of a resource if the queue cannot exceed it."""
    guaranteed = own.guaranteed.get(resource)
    if guaranteed is None or isinstance(guaranteed, Unlimited):
        return guaranteed
    limit = own.limit.get(resource)
    bound = bound_on(above, resource)
    if bound is not None:
        limit = bound.amount if limit is None else smaller(limit, bound.amount)
    return guaranteed if limit == guaranteed else None


def _finding(node: Node, own: QueueValues, resource: str, bound: Amount, edit: ValueEdit) -> Diagnostic:
    kind, removal = "", f"remove `over_quota_weight` from `{node.id}`"
    if isinstance(node.queue.over_quota_weight, Weight):
        kind, removal = f" for {resource}", f"remove `{resource}` from `over_quota_weight` in `{node.id}`"
    limit = (
        f"its guarantee and its limit are both {amount_text(resource, bound)}"
        if not isinstance(bound, Unlimited)
        else f"its guarantee of {resource} is unlimited"
    )
    return Diagnostic(
        WEIGHT_WITHOUT_SURPLUS,
        node.address,
        f"`{node.id}` has over-quota weight {weight_text(own.weight[resource])}{kind}, but {limit}",
        node.queue.source,
        (),
        f"{removal}, or raise its limit",
        edit,
    )
