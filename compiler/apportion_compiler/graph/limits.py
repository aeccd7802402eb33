"""Limits that a queue inherits from its ancestors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from apportion_compiler.graph.declared_amounts import GPU_MODEL_PREFIX
from apportion_compiler.graph.graph import PolicyGraph, Scope
from apportion_policy.quantity import Unlimited
from apportion_policy.resources import GPU


class DeclaredLimit(NamedTuple):
    """A finite limit in base units and the queue that declares it."""

    amount: int
    holder: str


Bounds = Mapping[str, DeclaredLimit]
"""Limits by resource; a missing resource is unlimited."""

NO_BOUNDS: Bounds = {}


def bounds_below(graph: PolicyGraph, scope: Scope) -> Mapping[str, Bounds]:
    """Return, for each inner queue, the limits of its descendants: the smallest limit of it and its ancestors."""
    below: dict[str, Bounds] = {}
    for node in graph.inner:
        inherited = below[node.parent] if node.parent is not None else NO_BOUNDS
        own = {
            resource: DeclaredLimit(amount, node.id)
            for resource, amount in scope.values[node.id].limit.items()
            if not isinstance(amount, Unlimited) and (resource not in inherited or amount < inherited[resource].amount)
        }
        below[node.id] = {**inherited, **own} if own else inherited
    return below


def bound_on(bounds: Bounds, resource: str) -> DeclaredLimit | None:
    """Return the limit of a resource; the limit of all GPUs also applies to a GPU model."""
    bound = bounds.get(resource)
    if resource.startswith(GPU_MODEL_PREFIX) and (total := bounds.get(GPU)) is not None:
        return total if bound is None else min(bound, total)
    return bound
