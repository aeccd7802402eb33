"""AP201: the children of a queue are promised more than the queue itself has."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.checks.edits import amount_edit
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity, ValueEdit
from apportion_compiler.graph.graph import Node, PolicyGraph, Scope
from apportion_policy.quantity import Amount, Unlimited, add, is_over, parse_weight
from apportion_policy.resources import GPU, amount_text

QUOTA_OVERSUBSCRIBED = Rule(
    "AP201", "quota-oversubscribed", Severity.ERROR, "children are promised more than their parent has"
)


def quota_oversubscribed(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Compare, per resource and per GPU model, the sum of the children's guarantees with the parent's."""
    ratio = parse_weight(graph.policy.rules.overcommit)
    said: set[tuple[str, str]] = set()
    for scope in graph.all_scopes:
        for node in graph.nodes.values():
            for resource, promised, bound in _exceeded(node, scope, ratio) if node.children else ():
                # What is wrong as written is wrong on every cluster: it is said once.
                if (node.id, resource) not in said:
                    said.add((node.id, resource))
                    yield _finding(graph, scope, node, resource, promised, bound)


def _exceeded(node: Node, scope: Scope, ratio: int) -> list[tuple[str, Amount, Amount]]:
    values = scope.values
    exceeded: list[tuple[str, Amount, Amount]] = []
    for resource, own in values[node.id].guaranteed.items():
        promised: Amount = 0
        for child in node.children:
            promised = add(promised, values[child].guaranteed.get(resource, 0))
        bound = own if isinstance(own, Unlimited) else own * ratio // 1000
        # A child without a bound beside bounded ones is a fault of its own (AP204).
        if not isinstance(promised, Unlimited) and is_over(promised, bound):
            exceeded.append((resource, promised, bound))
    by_model = any(resource.startswith(f"{GPU}/") for resource, _, _ in exceeded)
    return [found for found in exceeded if not (by_model and found[0] == GPU)]


def _finding(
    graph: PolicyGraph, scope: Scope, node: Node, resource: str, promised: Amount, bound: Amount
) -> Diagnostic:
    assert not isinstance(promised, Unlimited)
    assert not isinstance(bound, Unlimited)
    takers = [child for child in node.children if scope.values[child].guaranteed.get(resource)]
    amounts = {child: scope.values[child].guaranteed[resource] for child in takers}
    excess = promised - bound
    hint = f"raise the guarantee of `{node.id}` to {amount_text(resource, promised)}"
    lowered = _child_with_room(graph, scope, takers, resource, excess)
    if lowered is not None:
        hint += f", or lower `{lowered.id}` by {amount_text(resource, excess)}"
    return Diagnostic(
        QUOTA_OVERSUBSCRIBED,
        node.address,
        f"children are promised {amount_text(resource, promised)}, but `{node.id}` has {amount_text(resource, bound)}",
        scope.values[node.id].sources.get("guaranteed", node.queue.source),
        tuple(
            Related(
                scope.values[child].sources.get("guaranteed", graph.nodes[child].queue.source),
                f"`{child}` takes {amount_text(resource, amounts[child])}",
            )
            for child in takers
        ),
        hint,
        _fix(graph, scope, node, lowered, resource, promised, excess),
        scope.name,
    )


def _child_with_room(
    graph: PolicyGraph, scope: Scope, takers: list[str], resource: str, excess: int
) -> Node | None:
    """Return the child that is promised most, if it alone can give back the excess."""
    sizes = {child: scope.values[child].guaranteed[resource] for child in takers}
    bounded = {child: size for child, size in sizes.items() if not isinstance(size, Unlimited)}
    largest = max(bounded, key=lambda child: (bounded[child], child), default=None)
    return graph.nodes[largest] if largest is not None and bounded[largest] >= excess else None


def _fix(
    graph: PolicyGraph, scope: Scope, node: Node, lowered: Node | None, resource: str, promised: int, excess: int
) -> ValueEdit | None:
    own = scope.values[node.id].guaranteed[resource]
    if lowered is not None:
        size = scope.values[lowered.id].guaranteed[resource]
        assert not isinstance(size, Unlimited)
        edit = amount_edit(lowered, scope, "guaranteed", resource, size - excess) if lowered.is_leaf else None
        if edit is not None:
            return edit
    if node.parent is None and not isinstance(own, Unlimited):
        return amount_edit(node, scope, "guaranteed", resource, promised)
    return None
