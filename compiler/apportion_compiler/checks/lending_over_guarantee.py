"""AP209: a queue lends more of its idle guarantee than it is guaranteed."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.checks.edits import amount_edit
from apportion_compiler.checks.engines import engine_list, engines_of
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Rule, Severity
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.graph.declared_amounts import GPU_MODEL_PREFIX
from apportion_compiler.graph.graph import PolicyGraph, Scope
from apportion_compiler.graph.node import Node
from apportion_compiler.graph.values import QueueValues
from apportion_policy.engine import Engine
from apportion_policy.quantity import Unlimited
from apportion_policy.resources import GPU, amount_text

LENDING_OVER_GUARANTEE = Rule(
    "AP209", "lending-over-guarantee", Severity.WARNING, "a queue's lending limit exceeds its guarantee"
)


def lending_over_guarantee(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Compare each lending limit with the guarantee. UNLIMITED means "all of it" and is valid."""
    reported: set[tuple[str, str, Engine | None]] = set()
    for scope in graph.distinct_scopes:
        engine = scope.cluster.engine if scope.cluster is not None else None
        for id_, own in scope.values.items():
            for resource, lending_limit, guaranteed in _exceeded(own) if own.lending_limit else ():
                # A fault of the policy as written is reported once for all engines; a fault of some clusters, once for
                # each engine.
                if reported.isdisjoint({(id_, resource, None), (id_, resource, engine)}):
                    reported.add((id_, resource, engine))
                    yield _finding(graph, scope, graph.nodes[id_], resource, (lending_limit, guaranteed))


def _exceeded(own: QueueValues) -> list[tuple[str, int, int]]:
    exceeded: list[tuple[str, int, int]] = []
    for resource, lending_limit in own.lending_limit.items():
        guaranteed = own.guaranteed.get(resource)
        if guaranteed is None:
            guaranteed = own.guaranteed.get(GPU, 0) if resource.startswith(GPU_MODEL_PREFIX) else 0
        if (
            not isinstance(lending_limit, Unlimited)
            and not isinstance(guaranteed, Unlimited)
            and lending_limit > guaranteed
        ):
            exceeded.append((resource, lending_limit, guaranteed))
    by_model = any(resource.startswith(GPU_MODEL_PREFIX) for resource, _, _ in exceeded)
    return [found for found in exceeded if not (by_model and found[0] == GPU)]


def _finding(graph: PolicyGraph, scope: Scope, node: Node, resource: str, amounts: tuple[int, int]) -> Diagnostic:
    lending_limit, guaranteed = (amount_text(resource, amount) for amount in amounts)
    engines = engines_of(graph) if scope.cluster is None else (scope.cluster.engine,)
    refused = tuple(e for e in engines if node.is_leaf and TRAITS[e.value].refuses_lending_over_guarantee)
    effect = f", which {engine_list(refused)}'s webhook rejects" if refused else ""
    return Diagnostic(
        LENDING_OVER_GUARANTEE,
        node.address,
        f"`{node.id}` may lend {lending_limit}, but is guaranteed {guaranteed}{effect}",
        scope.values[node.id].sources.get("lending_limit", node.queue.source),
        (),
        f"lower the lending limit of `{node.id}` to {guaranteed}",
        amount_edit(node, scope, "lending_limit", resource, amounts[1]),
        scope.name,
        Severity.ERROR if refused else None,
    )
