"""Machine-readable fixes: a single value of a declaration whose change resolves a finding."""

from __future__ import annotations

from collections.abc import Mapping

from apportion_compiler.diagnostics.diagnostic import ValueEdit
from apportion_compiler.graph.graph import Scope
from apportion_compiler.graph.node import Node
from apportion_policy.quantity import Amount, Unlimited, count_text, decimal_text
from apportion_policy.resources import CPU, GPU, RESOURCE_TEXT, Resources


def amount_edit(node: Node, scope: Scope, field: str, resource: str, amount: Amount) -> ValueEdit | None:
    """Return the edit that changes an amount of a queue's `guaranteed`, `limit` or `lending_limit`.

    None if more than one value determines it: on a cluster (the share scales it), under an override, for counts of
    machines, or if the field is unset. None also for an amount of zero, which is unlikely to be intended.
    """
    declared = getattr(node.queue, field)
    if (
        amount == 0
        or scope.cluster is not None
        or field in scope.values[node.id].sources
        or not isinstance(declared, Resources)
    ):
        return None
    path = _path(declared, resource)
    if path is None:
        return None
    return ValueEdit(declared.source, path, quantity_text(resource, amount))


def quantity_text(resource: str, amount: Amount) -> str | int:
    """Return an amount as an author writes it: a number if it is whole, otherwise quantity text."""
    if resource == CPU:
        text = decimal_text(amount)
        return int(text) if text.isdigit() else text
    text = RESOURCE_TEXT.get(resource.partition("/")[0] if resource.startswith(f"{GPU}/") else resource, count_text)(
        amount
    )
    return int(text) if not isinstance(amount, Unlimited) and text.isdigit() else text


def _path(declared: Resources, resource: str) -> tuple[str, ...] | None:
    if resource.startswith(f"{GPU}/"):
        model = resource.partition("/")[2]
        return (GPU, model) if isinstance(declared.gpu, Mapping) and model in declared.gpu else None
    if resource == GPU:
        return (GPU,) if declared.gpu is not None and not isinstance(declared.gpu, Mapping) else None
    if resource in ("cpu", "memory"):
        return (resource,) if getattr(declared, resource) is not None else None
    return ("extended", resource) if resource in (declared.extended or {}) else None
