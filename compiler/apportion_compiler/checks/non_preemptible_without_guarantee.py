"""AP206: a queue may run non-preemptible workloads, but has no guarantee for them.

Reported only if the policy names the classes of the queue, on the queue, an ancestor, or in the `queues` of the class:
by default, every class is allowed everywhere, and most teams do not use all of them. A declared guarantee that a
cluster's share rounds down to zero, or that an override removes, is always reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apportion_compiler.checks.engines import engine_list, engines_of, engines_that_hold_to_guarantee, scopes_on
from apportion_compiler.checks.queue_cannot_run import only_non_preemptible
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity
from apportion_compiler.graph.declared_amounts import GPU_MODEL_PREFIX
from apportion_compiler.graph.graph import PolicyGraph, Scope
from apportion_compiler.graph.node import Node
from apportion_compiler.graph.preemptibility import is_preemptible
from apportion_compiler.graph.values import QueueValues
from apportion_policy.priority import PriorityClass
from apportion_policy.quantity import Amount
from apportion_policy.resources import CPU, GPU, MEMORY, amount_text
from apportion_policy.source import SourceLocation

NON_PREEMPTIBLE_WITHOUT_GUARANTEE = Rule(
    "AP206",
    "non-preemptible-without-guarantee",
    Severity.WARNING,
    "a queue allows non-preemptible workloads but has no guarantee for them",
)


def non_preemptible_without_guarantee(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Compare the guarantees of leaves with the needs of non-preemptible classes, on engines that confine them to it."""
    scopes = scopes_on(graph, engines_that_hold_to_guarantee())
    if not scopes:
        return
    by_name = _named_non_preemptible(graph)
    reported: set[str] = set()
    for scope in scopes:
        for leaf in graph.leaves:
            classes = by_name.get(leaf.id)
            if classes and leaf.id not in reported:
                missing = _missing(scope.values[leaf.id])
                # If no other class is allowed and every workload needs the resource, the queue cannot run at all:
                # AP205.
                dead = any(r in (CPU, MEMORY) for r in missing) and only_non_preemptible(graph.allowed_classes[leaf.id])
                if missing and not dead:
                    reported.add(leaf.id)
                    yield _finding(graph, scope, leaf, classes, missing)
        if scope.values is not graph.base.values:
            yield from _rounded_away(graph, scope, reported)


def _named_non_preemptible(graph: PolicyGraph) -> dict[str, tuple[PriorityClass, ...]]:
    """Return the non-preemptible classes of each leaf whose classes are restricted by name."""
    chosen: dict[str, bool] = {}
    for node in graph.nodes.values():
        above = chosen[node.parent] if node.parent is not None else False
        chosen[node.id] = above or node.queue.priority_classes is not None
    found: dict[str, tuple[PriorityClass, ...]] = {}
    for leaf in graph.leaves:
        allowed = graph.allowed_classes[leaf.id]
        if chosen[leaf.id]:
            found[leaf.id] = tuple(cls for cls in allowed if not is_preemptible(cls))
        elif any(cls.queues is not None for cls in allowed):
            found[leaf.id] = tuple(cls for cls in allowed if cls.queues is not None and not is_preemptible(cls))
    return found


def _missing(own: QueueValues) -> list[str]:
    """Return the resources that workloads need without a guarantee: cpu and memory, and the GPUs that they may use.

    A queue without GPU amounts is assumed to run no GPU workloads.
    """
    if 0 not in own.guaranteed.values() and own.limit.keys() <= own.guaranteed.keys():
        return []
    by_model = any(resource.startswith(GPU_MODEL_PREFIX) for resource in own.declared)
    missing = [resource for resource in (CPU, MEMORY) if own.guaranteed.get(resource) == 0]
    for resource in sorted({*own.limit, *own.declared}):
        if resource == GPU or resource.startswith(GPU_MODEL_PREFIX):
            allowed = own.limit.get(resource, own.limit.get(GPU))
            # A queue that counts by model guarantees nothing of the models that it omits.
            guaranteed = own.guaranteed.get(resource, 0 if by_model else own.guaranteed.get(GPU, 0))
            if guaranteed == 0 and allowed != 0:
                missing.append(resource)
    models = [resource for resource in missing if resource.startswith(GPU_MODEL_PREFIX)]
    return [resource for resource in missing if not (models and resource == GPU)]


def _finding(
    graph: PolicyGraph, scope: Scope, leaf: Node, classes: tuple[PriorityClass, ...], missing: list[str]
) -> Diagnostic:
    nothing = " and ".join(amount_text(resource, 0) for resource in missing)
    names = ", ".join(cls.name for cls in classes)
    kinds = " and ".join(amount_text(resource, 0).partition(" ")[2] for resource in missing)
    return Diagnostic(
        NON_PREEMPTIBLE_WITHOUT_GUARANTEE,
        leaf.address,
        f"`{leaf.id}` may run non-preemptible workloads ({names}), which {_limits(graph, scope)} to the guarantee, but "
        f"is guaranteed {nothing}",
        scope.values[leaf.id].sources.get("guaranteed", leaf.queue.source),
        _allowing(graph, leaf),
        f"add the {kinds} that these workloads need to the guarantee of `{leaf.id}`, or remove {names} from its priority classes",
        None,
        scope.name,
    )


def _limits(graph: PolicyGraph, scope: Scope) -> str:
    engines = engines_of(graph) if scope.cluster is None else (scope.cluster.engine,)
    return f"{engine_list(engines)} {'limit' if len(engines) > 1 else 'limits'}"


def _allowing(graph: PolicyGraph, leaf: Node) -> tuple[Related, ...]:
    holder = next((id_ for id_ in reversed(leaf.path) if graph.nodes[id_].queue.priority_classes is not None), leaf.id)
    if holder == leaf.id:
        return ()
    return (Related(graph.nodes[holder].queue.source, f"`{holder}` allows these classes for the queues below it"),)


def _rounded_away(graph: PolicyGraph, scope: Scope, reported: set[str]) -> Iterator[Diagnostic]:
    if scope.cluster is None:
        return
    for leaf in graph.leaves:
        here, written = scope.values[leaf.id].guaranteed, graph.base.values[leaf.id].guaranteed
        for resource, amount in here.items() if 0 in here.values() else ():
            if amount == 0 and written.get(resource, 0) != 0 and leaf.id not in reported:
                classes = tuple(cls for cls in graph.allowed_classes[leaf.id] if not is_preemptible(cls))
                if not classes:
                    continue
                reported.add(leaf.id)
                override = scope.values[leaf.id].sources.get("guaranteed")
                if override is not None:
                    yield _overridden(graph, scope, leaf, (amount_text(resource, amount), classes), override)
                    continue
                names = ", ".join(cls.name for cls in classes)
                nothing = amount_text(resource, 0)
                cause = f"is reduced to {nothing} by the cluster's share of {scope.cluster.share}"
                place = f"`{scope.cluster.name}` has a share of {scope.cluster.share} of each guarantee"
                hint = f"raise the guarantee of `{leaf.id}`, or override it in this environment"
                absent = _absent_models(graph, scope, written)
                if absent and resource == GPU:
                    cause = f"counts as {nothing} on `{scope.cluster.name}` because its node pools have no {absent}"
                    place = f"`{scope.cluster.name}` has no node pool with {absent}"
                    hint = f"override the guarantee of `{leaf.id}` in this environment to use only GPU models available on the cluster"
                yield Diagnostic(
                    NON_PREEMPTIBLE_WITHOUT_GUARANTEE,
                    leaf.address,
                    f"{_limits(graph, scope)} non-preemptible workloads ({names}) of `{leaf.id}` to its guarantee of "
                    f"{amount_text(resource, written[resource])}, which {cause}",
                    leaf.queue.source,
                    (Related(scope.cluster.source, place),),
                    hint,
                    None,
                    scope.name,
                )


def _overridden(
    graph: PolicyGraph,
    scope: Scope,
    leaf: Node,
    pinned: tuple[str, tuple[PriorityClass, ...]],
    override: SourceLocation,
) -> Diagnostic:
    nothing, classes = pinned
    names = ", ".join(cls.name for cls in classes)
    share = "1" if scope.cluster is None else str(scope.cluster.share)
    rounded = "" if share == "1" else f" and the cluster's share of {share}"
    return Diagnostic(
        NON_PREEMPTIBLE_WITHOUT_GUARANTEE,
        leaf.address,
        f"with the override{rounded}, `{leaf.id}` is guaranteed {nothing}, so its non-preemptible workloads ({names}) that "
        f"request {nothing.partition(' ')[2]} cannot run: {_limits(graph, scope)} them to the guarantee",
        override,
        (Related(leaf.queue.source, f"`{leaf.id}` has a larger guarantee without the override"),),
        f"raise the guarantee to the amount that these workloads need, or remove {names} from the priority classes of `{leaf.id}`",
        None,
        scope.name,
    )


def _absent_models(graph: PolicyGraph, scope: Scope, written: Mapping[str, Amount]) -> str:
    """Return the GPU models of a guarantee if none of the cluster's node pools has them; empty otherwise."""
    if scope.cluster is None or not scope.cluster.pools:
        return ""
    there = {pool.accelerator.model for pool in graph.pools_of(scope.cluster) if pool.accelerator is not None}
    models = [r.removeprefix(GPU_MODEL_PREFIX) for r in written if r.startswith(GPU_MODEL_PREFIX)]
    return "" if there.intersection(models) else " and no ".join(model.upper() for model in models)
