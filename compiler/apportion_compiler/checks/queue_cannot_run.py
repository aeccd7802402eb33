"""AP205: a queue in which no workload can run.

A queue without a guarantee and with weight 0 is valid: KAI still allocates idle resources to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from apportion_api.counted_nouns import agreeing
from apportion_compiler.checks.edits import amount_edit
from apportion_compiler.checks.engines import engine_list, engines_of, engines_that_hold_to_guarantee, scopes_on
from apportion_compiler.checks.usable_pools import PoolFault, pool_faults
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity, ValueEdit
from apportion_compiler.graph.graph import PolicyGraph, Scope
from apportion_compiler.graph.node import Node
from apportion_compiler.graph.preemptibility import is_preemptible
from apportion_policy.identifiers import identity_of
from apportion_policy.priority import PriorityClass
from apportion_policy.quantity import UNLIMITED, Unlimited
from apportion_policy.resources import CPU, MEMORY, amount_text

QUEUE_CANNOT_RUN = Rule("AP205", "queue-cannot-run", Severity.ERROR, "a queue cannot run any workload")

_NEEDED = (CPU, MEMORY)
"""Resources that every workload requests; a queue without GPUs can still run workloads without GPUs."""


def queue_cannot_run(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Report queues whose limit, classes, guarantee or pools exclude every workload."""
    yield from _limited_to_nothing(graph)
    yield from _without_class(graph)
    yield from _without_quota(graph)
    yield from (_without_pool(fault) for fault in pool_faults(graph))


def _limited_to_nothing(graph: PolicyGraph) -> Iterator[Diagnostic]:
    reported: set[tuple[str, str]] = set()
    for scope in graph.distinct_scopes:
        closed: set[tuple[str | None, str]] = set()
        for node in graph.nodes.values():
            limit = scope.values[node.id].limit
            for resource in _NEEDED if closed or 0 in limit.values() else ():
                if (node.parent, resource) in closed:
                    closed.add((node.id, resource))
                elif limit.get(resource) == 0:
                    closed.add((node.id, resource))
                    if (node.id, resource) not in reported:
                        reported.add((node.id, resource))
                        yield _zero_limit(scope, node, resource)


def _zero_limit(scope: Scope, node: Node, resource: str) -> Diagnostic:
    own = scope.values[node.id]
    override = own.sources.get("limit")
    where = f"`{node.id}`" if node.is_leaf else f"`{node.id}` or below it"
    guaranteed = own.guaranteed.get(resource, 0)
    hint = f"raise the limit of `{node.id}` to the amount of {resource} that its workloads need"
    if not isinstance(guaranteed, Unlimited) and guaranteed:
        hint = f"raise the limit of `{node.id}` to at least its guarantee, {amount_text(resource, guaranteed)}"
    return Diagnostic(
        QUEUE_CANNOT_RUN,
        node.address,
        f"`{node.id}` is limited to {amount_text(resource, 0)}: no workload that requests {resource} can run in "
        f"{where}",
        override or node.queue.source,
        (),
        hint,
        _unlimit(node, scope, resource, 0 if isinstance(guaranteed, Unlimited) else guaranteed),
        scope.name,
        # An override may close a queue temporarily, with a reason and an owner.
        Severity.WARNING if override is not None else None,
    )


def _unlimit(node: Node, scope: Scope, resource: str, guaranteed: int) -> ValueEdit | None:
    if guaranteed:
        return amount_edit(node, scope, "limit", resource, guaranteed)
    edit = amount_edit(node, scope, "limit", resource, UNLIMITED)
    return None if edit is None else replace(edit, value=None)


def _without_class(graph: PolicyGraph) -> Iterator[Diagnostic]:
    if not graph.declarations.priority_classes:
        return
    reported: set[str] = set()
    for leaf in graph.leaves:
        if graph.allowed_classes[leaf.id]:
            continue
        names, declared_by = _named_classes(graph, leaf)
        # An empty list is a fault of the queue that declares it; names that belong to other queues are a fault of the
        # leaf.
        node = leaf if names else declared_by
        if node.id not in reported:
            reported.add(node.id)
            allows = "allows no priority class"
            if names:
                reserved = agreeing(len(names), "this class is", "these classes are")
                allows = f"allows only {', '.join(names)}, but {reserved} reserved for other queues"
            elif names is None:
                allows = "cannot use any priority class: all of them are reserved for other queues"
            yield Diagnostic(
                QUEUE_CANNOT_RUN,
                node.address,
                f"`{node.id}` {allows}",
                node.queue.source,
                (Related(declared_by.queue.source, f"`{declared_by.id}` sets `priority_classes`"),)
                if node is not declared_by
                else (),
                f"add a priority class that `{node.id}` may use, such as {_any_class(graph)}",
            )


def _named_classes(graph: PolicyGraph, leaf: Node) -> tuple[tuple[str, ...] | None, Node]:
    """Return the classes that apply to a leaf and the queue that names them; None and the leaf if none does."""
    for id_ in reversed(leaf.path):
        named = graph.nodes[id_].queue.priority_classes
        if named is not None:
            return tuple(identity_of(ref) for ref in named), graph.nodes[id_]
    return None, leaf


def _any_class(graph: PolicyGraph) -> str:
    classes = graph.declarations.priority_classes.values()
    return min(classes, key=lambda cls: (cls.queues is not None, not is_preemptible(cls), cls.value, cls.name)).name


def _without_quota(graph: PolicyGraph) -> Iterator[Diagnostic]:
    reported: set[str] = set()
    for scope in scopes_on(graph, engines_that_hold_to_guarantee()):
        for leaf in graph.leaves:
            guaranteed = scope.values[leaf.id].guaranteed
            if 0 not in guaranteed.values():
                continue
            missing = [resource for resource in _NEEDED if guaranteed.get(resource) == 0]
            if missing and leaf.id not in reported and only_non_preemptible(graph.allowed_classes[leaf.id]):
                reported.add(leaf.id)
                engines = engines_of(graph) if scope.cluster is None else (scope.cluster.engine,)
                names = ", ".join(cls.name for cls in graph.allowed_classes[leaf.id])
                nothing = " and ".join(amount_text(resource, 0) for resource in missing)
                yield Diagnostic(
                    QUEUE_CANNOT_RUN,
                    leaf.address,
                    f"`{leaf.id}` may run only non-preemptible workloads ({names}), which {engine_list(engines)} "
                    f"{'limit' if len(engines) > 1 else 'limits'} to the guarantee, but it is guaranteed {nothing}",
                    scope.values[leaf.id].sources.get("guaranteed", leaf.queue.source),
                    (),
                    f"add the {' and '.join(missing)} that its workloads need to the guarantee of `{leaf.id}`, or allow a "
                    "preemptible class",
                    None,
                    scope.name,
                )


def only_non_preemptible(classes: tuple[PriorityClass, ...]) -> bool:
    """Return whether there are classes and none of them is preemptible."""
    return bool(classes) and not any(is_preemptible(cls) for cls in classes)


def _without_pool(fault: PoolFault) -> Diagnostic:
    node = fault.node
    named = ", ".join(fault.pools)
    if not fault.pools:
        message = f"`{node.id}` cannot use any node pool"
    elif fault.cluster is None:
        message = f"the node pools that `{node.id}` may use ({named}) have no machines in any cluster"
    else:
        message = f"the node pools that `{node.id}` may use ({named}) have no machines on {fault.cluster}"
    return Diagnostic(
        QUEUE_CANNOT_RUN,
        node.address,
        message,
        node.queue.source,
        tuple(Related(pool.source, f"`{pool.id}` sets `max_nodes` to {pool.max_nodes}") for pool in fault.empty),
        f"let `{node.id}` use {fault.instead}"
        if fault.instead
        else f"let `{node.id}` use a node pool that a cluster lists",
        None,
        fault.cluster,
        Severity.WARNING if fault.cluster is not None else None,
    )
