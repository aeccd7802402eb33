"""AP112: two overrides of a queue set the same value on the same days."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity, ValueEdit
from apportion_compiler.graph.declarations import Declarations
from apportion_compiler.graph.graph import PolicyGraph
from apportion_compiler.graph.values import declared_amounts
from apportion_policy.identifiers import identity_of
from apportion_policy.queue import Override, Queue
from apportion_policy.resources import GPU

OVERRIDE_OVERLAPPING = Rule(
    "AP112", "override-overlapping", Severity.ERROR, "two overrides of a queue set the same value on the same days"
)

_EVERYWHERE = ""
_MOST_AT_ONCE = 8
"""Of so many overrides of one value on one day each is compared with each; of more, with those that hold longest."""


def override_overlapping(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Compare the overrides of each queue, value by value and environment by environment."""
    for node in graph.nodes.values():
        if len(node.queue.overrides) > 1:
            yield from _overlaps(node.queue, graph.declarations, graph.as_of)


def _overlaps(queue: Queue, declarations: Declarations, as_of: date) -> Iterator[Diagnostic]:
    in_force: dict[tuple[str, str], list[Override]] = {}
    shared: dict[tuple[int, int], tuple[Override, Override, dict[str, None]]] = {}
    for later in sorted(queue.overrides, key=lambda override: override.begin):
        for value in _values(later, declarations):
            for environment in _environments(later, declarations):
                here = [one for one in in_force.get((value, environment), ()) if later.begin <= one.end]
                for earlier in here:
                    shared.setdefault((id(earlier), id(later)), (earlier, later, {}))[2][value] = None
                in_force[value, environment] = sorted([*here, later], key=lambda one: one.end)[-_MOST_AT_ONCE:]
    for earlier, later, values in shared.values():
        if min(earlier.end, later.end) >= as_of:
            yield _finding(queue, earlier, later, list(values))


def _finding(queue: Queue, earlier: Override, later: Override, values: list[str]) -> Diagnostic:
    named = " and ".join(values[:2]) if len(values) <= 2 else f"{values[0]} and {len(values) - 1} more values"
    free = earlier.end + timedelta(days=1) if earlier.end < date.max else None
    moved = free if free is not None and free <= later.end else None
    return Diagnostic(
        OVERRIDE_OVERLAPPING,
        f"queue {queue.id}",
        f"two overrides of `{queue.id}` both set {named} from {later.begin} to {min(earlier.end, later.end)}",
        later.source,
        (Related(earlier.source, f"the other holds from {earlier.begin} to {earlier.end}"),),
        "write one override for the days that they share"
        if moved is None
        else f"let the later one begin on {moved}, or write one override for the days that they share",
        ValueEdit(later.source, ("begin",), moved.isoformat()) if moved is not None else None,
    )


def _values(override: Override, declarations: Declarations) -> dict[str, None]:
    """Return what an override sets, in a stable order; GPUs are one value, whatever their models."""
    values: dict[str, None] = {}
    for field in ("guaranteed", "limit", "lending_limit"):
        for resource in declared_amounts(getattr(override, field), declarations.pools):
            values[f"{field} {GPU if resource.startswith(f'{GPU}/') else resource}"] = None
    for field in ("over_quota_weight", "priority"):
        if getattr(override, field) is not None:
            values[field] = None
    return values


def _environments(override: Override, declarations: Declarations) -> tuple[str, ...]:
    if override.environments is None:
        return (_EVERYWHERE, *declarations.environments)
    return tuple(identity_of(environment) for environment in override.environments)
