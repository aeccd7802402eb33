"""AP204: an unlimited guarantee with a limited parent or siblings, or of GPUs, whose number is finite.

KAI never treats a queue whose quota is -1 as over quota: nothing is reclaimed from it, and its non-preemptible
workloads are unlimited. The guarantees of its siblings and its parent then have no effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from apportion_compiler.checks.capacity import cluster_holdings
from apportion_compiler.checks.edits import amount_edit
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity
from apportion_compiler.graph.declared_amounts import GPU_MODEL_PREFIX
from apportion_compiler.graph.graph import PolicyGraph, Scope
from apportion_compiler.graph.limits import NO_BOUNDS, Bounds, bound_on, bounds_below
from apportion_compiler.graph.node import Node
from apportion_compiler.graph.values import QueueValues
from apportion_policy.cluster import Environment
from apportion_policy.quantity import UNLIMITED, Unlimited
from apportion_policy.resources import GPU, amount_text

UNLIMITED_GUARANTEE = Rule(
    "AP204",
    "mixed-unlimited-guarantee",
    Severity.ERROR,
    "an unlimited guarantee conflicts with finite guarantees of its parent or siblings",
)
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class _Bounded:
    """The reason why the guarantee must be finite; `room` is the amount that fits, if known."""

    clause: str
    related: tuple[Related, ...]
    room: int | None
    severity: Severity | None = None


def unlimited_guarantee(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Report UNLIMITED guarantees with a limited parent, sibling or ancestor limit, and UNLIMITED guarantees of GPUs.

    Unlimited CPU and memory on all siblings is a common choice, and valid.
    """
    said: set[tuple[str, str]] = set()
    for scope in graph.distinct_scopes:
        # Children of one parent are evaluated together: one limited child is enough.
        groups: dict[tuple[str | None, str], list[Node]] = {}
        for id_, own in scope.values.items():
            if UNLIMITED not in own.guaranteed.values():
                continue
            node = graph.nodes[id_]
            for resource in _unlimited(own):
                if (node.id, resource) not in said:
                    groups.setdefault((node.parent, resource), []).append(node)
        below: Mapping[str, Bounds] = bounds_below(graph, scope) if groups else {}
        for (parent, resource), nodes in groups.items():
            bounds = below[parent] if parent is not None else NO_BOUNDS
            bounded = _bounded_by_parent(graph, scope, parent, resource, bounds) or _bounded_by_machines(
                graph, scope, resource
            )
            for node in nodes if bounded is not None else ():
                assert bounded is not None
                said.add((node.id, resource))
                yield _finding(scope, node, resource, bounded)


def _unlimited(own: QueueValues) -> list[str]:
    """Return the resources that the queue itself declares UNLIMITED, not as the sum of its children."""
    said = [r for r in own.declared if isinstance(own.guaranteed[r], Unlimited)]
    by_model = any(r.startswith(GPU_MODEL_PREFIX) for r in said)
    return sorted(r for r in said if not (by_model and r == GPU))


def _bounded_by_parent(
    graph: PolicyGraph, scope: Scope, parent: str | None, resource: str, bounds: Bounds
) -> _Bounded | None:
    siblings = graph.nodes[parent].children if parent is not None else tuple(root.id for root in graph.roots)
    if parent is not None:
        own = scope.values[parent]
        # A queue that does not count by model guarantees each model out of its total.
        counted = _counted(own, resource)
        whole = own.guaranteed.get(counted, 0)
        if not isinstance(whole, Unlimited):
            said = f"`{parent}` is guaranteed {amount_text(counted, whole)}"
            at = own.sources.get("guaranteed", graph.nodes[parent].queue.source)
            rest = whole - sum(_bounded_promise(scope.values[id_], counted) for id_ in siblings)
            return _Bounded(f"but {said}", (Related(at, said),), max(rest, 0))
        bound = bound_on(bounds, resource)
        if bound is not None:
            said = f"`{bound.holder}` is limited to {amount_text(resource, bound.amount)}"
            at = scope.values[bound.holder].sources.get("limit", graph.nodes[bound.holder].queue.source)
            return _Bounded(f"but {said}", (Related(at, said),), bound.amount)
    guarantees = [(amount, id_) for id_ in siblings if (amount := _bounded_promise(scope.values[id_], resource))]
    return _beside(graph, scope, resource, guarantees) if guarantees else None


def _beside(graph: PolicyGraph, scope: Scope, resource: str, guarantees: list[tuple[int, str]]) -> _Bounded:
    largest = sorted(guarantees, key=lambda item: (-item[0], item[1]))[:_SHOWN]
    who = f"`{largest[0][1]}`" + (f" and {len(guarantees) - 1} more" if len(guarantees) > 1 else "")
    return _Bounded(
        f"alongside {who} with {amount_text(resource, sum(amount for amount, _ in guarantees))}",
        tuple(
            Related(
                scope.values[id_].sources.get("guaranteed", graph.nodes[id_].queue.source),
                f"`{id_}` is guaranteed {amount_text(resource, amount)}",
            )
            for amount, id_ in largest
        ),
        None,
    )


def _bounded_by_machines(graph: PolicyGraph, scope: Scope, resource: str) -> _Bounded | None:
    """Return the GPUs of the environment with the most; no other guarantee is affected, so it is a warning."""
    if resource != GPU and not resource.startswith(GPU_MODEL_PREFIX):
        return None
    environments = graph.policy.environments if scope.environment is None else (scope.environment,)
    held = [(_gpus(graph, environment, resource), environment) for environment in environments]
    known = [(amount, environment) for amount, environment in held if amount]
    if not known:
        return None
    amount, environment = max(known, key=lambda item: item[0])
    holds = f"the node pools of `{environment.name}` have {amount_text(resource, amount)}"
    clause = f"but {holds}: the queue is never over its guarantee, so nothing is reclaimed from it"
    return _Bounded(clause, (Related(environment.source, holds),), amount, Severity.WARNING)


def _gpus(graph: PolicyGraph, environment: Environment, resource: str) -> int:
    """Return the maximum number of GPUs of all clusters; 0 if one of them has no list of pools."""
    holdings = [cluster_holdings(graph, cluster) for cluster in environment.clusters]
    if not all(holdings):
        return 0
    return sum(holding[resource].capacity for holding in holdings if resource in holding)


def _counted(own: QueueValues, resource: str) -> str:
    by_model = any(r.startswith(GPU_MODEL_PREFIX) for r in own.declared)
    return GPU if resource.startswith(GPU_MODEL_PREFIX) and GPU in own.declared and not by_model else resource


def _bounded_promise(own: QueueValues, resource: str) -> int:
    """Return a finite guarantee, 0 for an unlimited one."""
    amount = own.guaranteed.get(_counted(own, resource), 0)
    return 0 if isinstance(amount, Unlimited) else amount


def _finding(scope: Scope, node: Node, resource: str, bounded: _Bounded) -> Diagnostic:
    kind = amount_text(resource, 0).partition(" ")[2]
    if bounded.room is None:
        hint = (
            f"give `{node.id}` a finite guarantee of {kind} instead of UNLIMITED; its weight determines its "
            "share of idle capacity"
        )
    else:
        hint = f"guarantee `{node.id}` at most {amount_text(resource, bounded.room)}"
    return Diagnostic(
        UNLIMITED_GUARANTEE,
        node.address,
        f"`{node.id}` is guaranteed unlimited {kind}, {bounded.clause}",
        scope.values[node.id].sources.get("guaranteed", node.queue.source),
        bounded.related,
        hint,
        amount_edit(node, scope, "guaranteed", resource, bounded.room) if bounded.room is not None else None,
        scope.name,
        bounded.severity,
    )
