"""Effective values of a queue in a scope, and their origins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from apportion_compiler.graph.graph import PolicyGraph, Scope
from apportion_compiler.graph.node import Node
from apportion_compiler.graph.values import DEFAULT_WEIGHT, WEIGHTED, QueueValues, in_force
from apportion_compiler.orgtree.report import effective_limits
from apportion_policy.duration import duration_text
from apportion_policy.identifiers import identity_of
from apportion_policy.quantity import Amount, Unlimited, weight_text
from apportion_policy.resources import CPU, GPU, MEMORY, amount_text
from apportion_policy.source import NOWHERE, SourceLocation

ENGINE_DEFAULT_PRIORITY = "engine default (100 on KAI)"


@dataclass(frozen=True, slots=True)
class ExplainedValue:
    """A value: the field, its text with units, the reason, and the line that sets it (`NOWHERE` for defaults)."""

    field: str
    value: str
    origin: str
    at: SourceLocation


@dataclass(frozen=True, slots=True)
class QueueExplanation:
    """The values of one queue in one scope."""

    id: str
    path: tuple[str, ...]
    scope: str
    at: SourceLocation
    values: tuple[ExplainedValue, ...]


def explain_queue(graph: PolicyGraph, scope: Scope, id_: str) -> QueueExplanation:
    """Return every effective value of a queue. Raises `KeyError` if the policy has no such queue."""
    node = graph.nodes[id_]
    values = scope.values[id_]
    explained = (
        *_owner(graph, node),
        *_namespaces(node),
        *_guarantees(graph, scope, node, values),
        *_limits(graph, scope, node, values),
        *_lending(graph, scope, node, values),
        *_weights(graph, scope, node, values),
        *_priority(graph, scope, node, values),
        *_min_runtimes(graph, scope, node),
        *_sharing(graph, node),
        *_pools(graph, scope, node),
        *_classes(graph, node),
    )
    return QueueExplanation(id_, node.path, scope.name or "as written", node.queue.source, explained)


def _owner(graph: PolicyGraph, node: Node) -> Iterator[ExplainedValue]:
    for ancestor in reversed(node.path):
        queue = graph.nodes[ancestor].queue
        if queue.owner is not None:
            origin = "on the queue" if ancestor == node.id else f"inherited from `{ancestor}`"
            yield ExplainedValue("owner", queue.owner, origin, queue.source)
            return
    organisation = graph.policy.organisation
    yield ExplainedValue("owner", organisation.owner or "nobody", "the organisation's", organisation.source)


def _namespaces(node: Node) -> Iterator[ExplainedValue]:
    if node.is_leaf:
        listed = ", ".join(sorted(node.queue.namespaces)) or "none"
        yield ExplainedValue("namespaces", listed, "on the queue", node.queue.source)


def _guarantees(graph: PolicyGraph, scope: Scope, node: Node, values: QueueValues) -> Iterator[ExplainedValue]:
    for resource in _resources(values):
        amount = values.guaranteed.get(resource, 0)
        if resource in values.declared:
            origin, at = _origin(graph, scope, node, "guaranteed", resource)
        elif node.children:
            at, origin = NOWHERE, "unset: the sum of its children"
        else:
            at, origin = NOWHERE, "unset: no guarantee"
        yield ExplainedValue(f"guaranteed {resource}", amount_text(resource, amount), origin, at)
    for resource in (CPU, MEMORY, GPU):
        if resource not in values.guaranteed:
            yield ExplainedValue(
                f"guaranteed {resource}", "not managed", "not declared by any queue in the policy: no limit", NOWHERE
            )


def _limits(graph: PolicyGraph, scope: Scope, node: Node, values: QueueValues) -> Iterator[ExplainedValue]:
    for resource in _resources(values):
        effective = effective_limits(graph, scope, resource)[node.id]
        if resource in values.limit and values.limit[resource] == effective:
            yield ExplainedValue(
                f"limit {resource}", _bound(resource, effective), *_origin(graph, scope, node, "limit", resource)
            )
        elif isinstance(effective, Unlimited):
            yield ExplainedValue(f"limit {resource}", "none", "unset on the queue and its ancestors", NOWHERE)
        else:
            holders = (a for a in reversed(node.path) if scope.values[a].limit.get(resource) == effective)
            holder = next(holders, None)
            if holder is None:
                bound = "all GPUs" if resource.startswith(f"{GPU}/") else "the cluster's GPU models"
                yield ExplainedValue(f"limit {resource}", _bound(resource, effective), f"the limit on {bound}", NOWHERE)
                continue
            _, source = _origin(graph, scope, graph.nodes[holder], "limit", resource)
            yield ExplainedValue(f"limit {resource}", _bound(resource, effective), f"the limit of `{holder}`", source)


def _lending(graph: PolicyGraph, scope: Scope, node: Node, values: QueueValues) -> Iterator[ExplainedValue]:
    for resource, amount in sorted(values.lending_limit.items()):
        origin, at = _origin(graph, scope, node, "lending_limit", resource)
        yield ExplainedValue(f"lending limit {resource}", amount_text(resource, amount), origin, at)
    if not values.lending_limit:
        yield ExplainedValue("lending limit", "all of the unused guarantee", "unset", NOWHERE)


def _weights(graph: PolicyGraph, scope: Scope, node: Node, values: QueueValues) -> Iterator[ExplainedValue]:
    declared = node.queue.over_quota_weight is not None or "over_quota_weight" in values.sources
    if len(set(values.weight.values())) == 1:
        text = weight_text(values.weight[GPU])
        origin = (
            _changed(graph, scope, node, "over_quota_weight") if declared else f"unset: {weight_text(DEFAULT_WEIGHT)}"
        )
        yield ExplainedValue(
            "over-quota weight", text, origin, values.sources.get("over_quota_weight", node.queue.source)
        )
        return
    for resource in WEIGHTED:
        yield ExplainedValue(
            f"over-quota weight {resource}", weight_text(values.weight[resource]),
            _changed(graph, scope, node, "over_quota_weight"),
            values.sources.get("over_quota_weight", node.queue.source),
        )  # fmt: skip


def _priority(graph: PolicyGraph, scope: Scope, node: Node, values: QueueValues) -> Iterator[ExplainedValue]:
    if values.priority is None:
        yield ExplainedValue("priority", "unset", ENGINE_DEFAULT_PRIORITY, NOWHERE)
    else:
        at = values.sources.get("priority", node.queue.source)
        yield ExplainedValue("priority", str(values.priority), _changed(graph, scope, node, "priority"), at)


def _min_runtimes(graph: PolicyGraph, scope: Scope, node: Node) -> Iterator[ExplainedValue]:
    for field, label in (
        ("preempt_min_runtime", "preempt min runtime"),
        ("reclaim_min_runtime", "reclaim min runtime"),
    ):
        for ancestor in reversed(node.path):
            seconds = getattr(scope.values[ancestor], field)
            if seconds is not None:
                origin = "on the queue" if ancestor == node.id else f"inherited from `{ancestor}`"
                yield ExplainedValue(label, duration_text(seconds), origin, graph.nodes[ancestor].queue.source)
                break
        else:
            default = getattr(scope.cluster.kai, field) if scope.cluster is not None else None
            if default is not None and scope.cluster is not None:
                yield ExplainedValue(label, str(default), "the cluster's default", scope.cluster.kai.source)
            else:
                yield ExplainedValue(label, "0s", "unset on the queue and its ancestors", NOWHERE)


def _sharing(graph: PolicyGraph, node: Node) -> Iterator[ExplainedValue]:
    for ancestor in reversed(node.path):
        queue = graph.nodes[ancestor].queue
        if queue.gpu_sharing is not None:
            origin = "on the queue" if ancestor == node.id else f"inherited from `{ancestor}`"
            yield ExplainedValue("gpu sharing", "allowed" if queue.gpu_sharing else "not allowed", origin, queue.source)
            return
    yield ExplainedValue("gpu sharing", "not allowed", "unset on the queue and its ancestors", NOWHERE)


def _pools(graph: PolicyGraph, scope: Scope, node: Node) -> Iterator[ExplainedValue]:
    for ancestor in reversed(node.path):
        queue = graph.nodes[ancestor].queue
        if queue.pools is not None:
            origin = "on the queue" if ancestor == node.id else f"inherited from `{ancestor}`"
            yield ExplainedValue(
                "pools", ", ".join(identity_of(pool) for pool in queue.pools) or "none", origin, queue.source
            )
            return
    of_cluster = ", ".join(identity_of(p) for p in scope.cluster.pools) if scope.cluster is not None else ""
    yield ExplainedValue("pools", of_cluster or "all pools in a cluster", "unset: all pools in the cluster", NOWHERE)


def _classes(graph: PolicyGraph, node: Node) -> Iterator[ExplainedValue]:
    names = ", ".join(f"{cls.name} ({cls.value})" for cls in graph.allowed_classes[node.id])
    named = any(graph.nodes[ancestor].queue.priority_classes is not None for ancestor in node.path)
    origin = (
        "set on the queue or an ancestor, and limited by the classes' `queues`"
        if named
        else "unset: all classes that permit the queue"
    )
    yield ExplainedValue("priority classes", names or "none", origin, node.queue.source if named else NOWHERE)


def _changed(graph: PolicyGraph, scope: Scope, node: Node, field: str) -> str:
    """Return whether the queue sets a value itself or by an override, and the last day of the override."""
    if field not in scope.values[node.id].sources:
        return "on the queue"
    overrides = in_force(node.queue, graph.as_of, scope.environment)
    ends = [override.end for override in overrides if getattr(override, field) is not None]
    return f"override in effect until {min(ends)}" if ends else "override for the environment"


def _origin(graph: PolicyGraph, scope: Scope, node: Node, field: str, resource: str) -> tuple[str, SourceLocation]:
    """Return the location of a resource's amount: in an override that sets it, else in the queue."""
    at = scope.values[node.id].sources.get(f"{field}/{resource}")
    origin = "on the queue" if at is None else _override_at(graph, scope, node, at)
    if scope.cluster is not None and str(scope.cluster.share) != "1":
        origin += f", times the cluster's share of {scope.cluster.share}"
    return origin, _field_source(node, field) if at is None else at


def _override_at(graph: PolicyGraph, scope: Scope, node: Node, at: SourceLocation) -> str:
    for timed in in_force(node.queue, graph.as_of, scope.environment):
        if timed.source == at:
            return f"override in effect until {timed.end}"
    changes = () if scope.environment is None else scope.environment.overrides
    is_for_cluster = any(change.source == at and change.clusters is not None for change in changes)
    return "override for the cluster" if is_for_cluster else "override for the environment"


def _field_source(node: Node, field: str) -> SourceLocation:
    declared = getattr(node.queue, field)
    return declared.source if declared is not None else node.queue.source


def _resources(values: QueueValues) -> tuple[str, ...]:
    named = {*values.guaranteed, *values.limit}
    order = (GPU, *sorted(r for r in named if r.startswith(f"{GPU}/")), CPU, MEMORY)
    return tuple(r for r in order if r in named) + tuple(sorted(named - set(order)))


def _bound(resource: str, amount: Amount) -> str:
    return "none" if isinstance(amount, Unlimited) else amount_text(resource, amount)
