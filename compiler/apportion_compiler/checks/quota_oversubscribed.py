"""AP201: the guarantees of a queue's children exceed that of the queue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from apportion_compiler.checks.edits import amount_edit
from apportion_compiler.cluster_share import guarantee_at_least, guarantee_at_most, rounding, written_text
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity, ValueEdit
from apportion_compiler.graph.declared_amounts import GPU_MODEL_PREFIX
from apportion_compiler.graph.graph import PolicyGraph, Scope
from apportion_compiler.graph.node import Node
from apportion_compiler.graph.values import QueueValues
from apportion_policy.quantity import Unlimited, parse_weight, weight_text
from apportion_policy.resources import CPU, GPU, amount_text

QUOTA_OVERSUBSCRIBED = Rule(
    "AP201", "quota-oversubscribed", Severity.ERROR, "children are guaranteed more than their parent"
)
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class _Excess:
    """The guarantees of a queue's children and the amount of the queue, in base units."""

    node: Node
    resource: str
    guaranteed: int
    has: int
    ratio: int
    """Allowed ratio of guarantees to the amount, in thousandths."""

    @property
    def excess(self) -> int:
        """The amount by which the guarantees exceed the allowed sum."""
        return self.guaranteed - self.has * self.ratio // 1000

    @property
    def needed(self) -> int:
        """The smallest guarantee of the parent that covers the children, in whole cores and devices."""
        unit = 1000 if self.resource in (CPU, GPU) or self.resource.startswith(GPU_MODEL_PREFIX) else 1
        enough = -(-self.guaranteed * 1000 // self.ratio)
        return min(self.guaranteed, -(-enough // unit) * unit)


def quota_oversubscribed(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Compare, per resource and per GPU model, the sum of the children's guarantees with the parent's."""
    ratio = parse_weight(graph.policy.rules.overcommit)
    # A fault of the policy as written exists on every cluster, and is reported once, with a fix for all of them.
    found: dict[tuple[str, str], list[tuple[Scope, _Excess]]] = {}
    for scope in graph.distinct_scopes:
        for node in graph.inner:
            for over in _exceeded(node, scope.values, ratio):
                found.setdefault((node.id, over.resource), []).append((scope, over))
    for places in found.values():
        yield _finding(graph, places)


def _exceeded(node: Node, values: Mapping[str, QueueValues], ratio: int) -> list[_Excess]:
    own = values[node.id]
    exceeded: list[_Excess] = []
    for resource, has in own.guaranteed.items():
        # A queue without an amount gets the sum of its children, and an unlimited one always has enough.
        if isinstance(has, Unlimited) or (resource not in own.declared and not _counts_models(own, resource)):
            continue
        guaranteed = 0
        for child in node.children:
            amount = values[child].guaranteed.get(resource, 0)
            if isinstance(amount, Unlimited):
                # An unlimited child with limited siblings is reported as AP204.
                break
            guaranteed += amount
        else:
            if guaranteed > has * ratio // 1000:
                exceeded.append(_Excess(node, resource, guaranteed, has, ratio))
    by_model = any(over.resource.startswith(GPU_MODEL_PREFIX) for over in exceeded)
    return [over for over in exceeded if not (by_model and over.resource == GPU)]


def _counts_models(own: QueueValues, resource: str) -> bool:
    """Return whether an omitted model counts as zero: the queue lists its models."""
    return resource.startswith(GPU_MODEL_PREFIX) and any(r.startswith(GPU_MODEL_PREFIX) for r in own.declared)


def _finding(graph: PolicyGraph, places: Sequence[tuple[Scope, _Excess]]) -> Diagnostic:
    scope, over = places[0]
    node = over.node
    amounts = {
        child: amount
        for child in node.children
        if isinstance(amount := scope.values[child].guaranteed.get(over.resource, 0), int) and amount
    }
    largest = sorted(amounts, key=lambda child: (-amounts[child], child))
    lowered = graph.nodes[largest[0]] if amounts[largest[0]] >= over.excess else None
    return Diagnostic(
        QUOTA_OVERSUBSCRIBED,
        node.address,
        f"children are guaranteed {amount_text(over.resource, over.guaranteed)}, but `{node.id}` has {_backing(over)}",
        scope.values[node.id].sources.get("guaranteed", node.queue.source),
        _claimants(graph, scope, over.resource, amounts),
        _hint(places, lowered),
        _fix(scope, over, lowered, amounts),
        scope.name,
    )


def _hint(places: Sequence[tuple[Scope, _Excess]], lowered: Node | None) -> str:
    """Return a hint with the guarantees to write so that the scaled amounts of each affected cluster suffice."""
    (first, over), resource = places[0], places[0][1].resource
    share, place = first.share, first.name or ""
    raised = max(
        guarantee_at_least(each.needed + _rounding(scope, each), scope.share, resource) for scope, each in places
    )
    hint = f"raise the guarantee of `{over.node.id}` to {written_text(resource, raised, share, place)}"
    if lowered is None or not all(resource in scope.values[lowered.id].declared for scope, _ in places):
        return hint
    if all(scope.share == 1 for scope, _ in places):
        return f"{hint}, or lower the guarantee of `{lowered.id}` by {amount_text(resource, over.excess)}"
    left = min(_left(scope, each, lowered) for scope, each in places)
    return f"{hint}, or lower the guarantee of `{lowered.id}` to {written_text(resource, left, share, place)}"


def _left(scope: Scope, over: _Excess, lowered: Node) -> int:
    """Return the largest guarantee of a child that leaves the others unchanged."""
    amount = scope.values[lowered.id].guaranteed.get(over.resource, 0)
    assert not isinstance(amount, Unlimited)
    return guarantee_at_most(max(0, amount - over.excess - _rounding(scope, over)), scope.share, over.resource)


def _rounding(scope: Scope, over: _Excess) -> int:
    return rounding(over.resource, scope.values[over.node.id].guaranteed, scope.share)


def _backing(over: _Excess) -> str:
    has = amount_text(over.resource, over.has)
    if over.ratio == 1000:
        return has
    return f"{has} and an overcommit of {weight_text(over.ratio)}"


def _claimants(graph: PolicyGraph, scope: Scope, resource: str, amounts: Mapping[str, int]) -> tuple[Related, ...]:
    """Return the children with a guarantee in order of id; of many, the largest ones, and the sum of the rest."""
    by_size = sorted(amounts, key=lambda child: (-amounts[child], child))
    shown, rest = sorted(by_size[:_SHOWN]), by_size[_SHOWN:]
    places = [
        Related(
            scope.values[child].sources.get("guaranteed", graph.nodes[child].queue.source),
            f"`{child}` is guaranteed {amount_text(resource, amounts[child])}",
        )
        for child in shown
    ]
    if rest:
        total = amount_text(resource, sum(amounts[child] for child in rest))
        places.append(Related(graph.nodes[rest[0]].queue.source, f"`{rest[0]}` and the others are guaranteed {total}"))
    return tuple(places)


def _fix(scope: Scope, over: _Excess, lowered: Node | None, amounts: Mapping[str, int]) -> ValueEdit | None:
    if lowered is not None and lowered.is_leaf:
        left = amounts[lowered.id] - over.excess
        edit = amount_edit(lowered, scope, "guaranteed", over.resource, left)
        if edit is not None:
            return edit
    # Raising a nested queue would increase what its own parent has to cover.
    return amount_edit(over.node, scope, "guaranteed", over.resource, over.needed) if over.node.parent is None else None
