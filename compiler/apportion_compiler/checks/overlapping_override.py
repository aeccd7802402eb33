"""AP112: two overrides of a queue set the same value on the same days, or in one environment.

Values form a tree: a field, its resources, the models of its GPUs. Two overrides conflict if a value of one equals a
value of the other, or is its ancestor: the total of GPUs is above each model, and a replaced field is above all of its
resources.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from itertools import combinations

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity, ValueEdit
from apportion_compiler.graph.declarations import Declarations
from apportion_compiler.graph.graph import PolicyGraph
from apportion_compiler.graph.override_merge import AMOUNT_FIELDS
from apportion_policy.cluster import Environment, QueueOverride
from apportion_policy.identifiers import identity_of
from apportion_policy.queue import Override, Queue
from apportion_policy.resources import CPU, GPU, MEMORY, Resources, Weight

OVERLAPPING_OVERRIDE = Rule(
    "AP112", "overlapping-override", Severity.ERROR, "two overrides of a queue set the same value on the same days"
)

_Value = tuple[str, ...]

_EVERYWHERE = ""
_MOST_AT_ONCE = 8
"""Up to this many overrides of one value are compared pairwise; beyond it, only with those that last longest."""


def overlapping_override(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Compare the overrides of each queue, value by value and environment by environment."""
    for node in graph.nodes.values():
        if len(node.queue.overrides) > 1:
            yield from _overlaps(node.queue, graph.declarations, graph.as_of)
    for environment in graph.policy.environments:
        yield from _twice_in(environment)


def _overlaps(queue: Queue, declarations: Declarations, as_of: date) -> Iterator[Diagnostic]:
    in_force: dict[tuple[str, str], list[tuple[Override, _Value]]] = {}
    shared: dict[tuple[int, int], tuple[Override, Override, dict[str, None]]] = {}
    for later in sorted(queue.overrides, key=lambda override: override.begin):
        for value in _values(later):
            for environment in _environments(later, declarations):
                here = [one for one in in_force.get((value[0], environment), ()) if later.begin <= one[0].end]
                for earlier, other in here:
                    if earlier is not later and _meet(value, other):
                        conflicts = shared.setdefault((id(earlier), id(later)), (earlier, later, {}))[2]
                        conflicts[_named(max(value, other, key=len))] = None
                in_force[value[0], environment] = _longest(here, later, value)
    for earlier, later, values in shared.values():
        if min(earlier.end, later.end) >= as_of:
            yield _finding(queue, earlier, later, list(values))


def _longest(here: list[tuple[Override, _Value]], later: Override, value: _Value) -> list[tuple[Override, _Value]]:
    """Return the overrides to compare with: for each value, those that last longest."""
    same = sorted((one for one in here if one[1] == value), key=lambda one: one[0].end)
    return [*(one for one in here if one[1] != value), *same[-_MOST_AT_ONCE + 1 :], (later, value)]


def _twice_in(environment: Environment) -> Iterator[Diagnostic]:
    """Report values that an environment sets in several overrides of a queue: the last one wins."""
    by_queue: dict[str, list[QueueOverride]] = {}
    for override in environment.overrides:
        by_queue.setdefault(identity_of(override.queue), []).append(override)
    for queue, overrides in by_queue.items():
        for earlier, later in combinations(overrides[:_MOST_AT_ONCE], 2):
            if not _share_a_cluster(earlier, later):
                continue
            met = {
                _named(max(value, other, key=len)): None
                for value in _values(later)
                for other in _values(earlier)
                if _meet(value, other)
            }
            if met:
                yield Diagnostic(
                    OVERLAPPING_OVERRIDE,
                    f"queue {queue}",
                    f"two overrides of `{queue}` in {environment.name} both set {_listed([*met])}",
                    later.source,
                    (Related(earlier.source, "the other override"),),
                    f"combine them into one override of `{queue}` in {environment.name}",
                )


def _share_a_cluster(earlier: QueueOverride, later: QueueOverride) -> bool:
    """Return whether two overrides have the same scope. One for a cluster has precedence over one for its environment."""
    if earlier.clusters is None or later.clusters is None:
        return earlier.clusters is later.clusters
    return not set(earlier.clusters).isdisjoint(later.clusters)


def _finding(queue: Queue, earlier: Override, later: Override, values: list[str]) -> Diagnostic:
    named = _listed(values)
    free = earlier.end + timedelta(days=1) if earlier.end < date.max else None
    moved = free if free is not None and free <= later.end else None
    return Diagnostic(
        OVERLAPPING_OVERRIDE,
        f"queue {queue.id}",
        f"two overrides of `{queue.id}` both set {named} from {later.begin} to {min(earlier.end, later.end)}",
        later.source,
        (Related(earlier.source, f"the other override applies from {earlier.begin} to {earlier.end}"),),
        "combine them into one override for the days when both apply"
        if moved is None
        else f"begin the later override on {moved}, or combine them into one override for the days when both apply",
        ValueEdit(later.source, ("begin",), moved.isoformat()) if moved is not None else None,
    )


def _listed(values: list[str]) -> str:
    return " and ".join(values[:2]) if len(values) <= 2 else f"{values[0]} and {len(values) - 1} more values"


def _meet(value: _Value, other: _Value) -> bool:
    n_parts = min(len(value), len(other))
    return value[:n_parts] == other[:n_parts]


def _named(value: _Value) -> str:
    return " ".join((value[0], "/".join(value[1:]))).strip()


def _values(override: Override | QueueOverride) -> Iterator[_Value]:
    """Yield the values that an override sets, in a stable order."""
    for field in AMOUNT_FIELDS:
        resources: Resources | None = getattr(override, field)
        if resources is None:
            continue
        if field in override.replace or resources.machines is not None:
            yield (field,)
            continue
        for name in (CPU, MEMORY):
            if getattr(resources, name) is not None:
                yield (field, name)
        if isinstance(resources.gpu, Mapping):
            yield from ((field, GPU, model) for model in resources.gpu)
        elif resources.gpu is not None:
            yield (field, GPU)
        yield from ((field, name) for name in resources.extended or ())
    weight = override.over_quota_weight
    if isinstance(weight, Weight):
        yield from (("over_quota_weight", resource) for resource in weight.weights())
    elif weight is not None:
        yield ("over_quota_weight",)
    for field in ("priority", "preempt_min_runtime", "reclaim_min_runtime"):
        if getattr(override, field, None) is not None:
            yield (field,)


def _environments(override: Override, declarations: Declarations) -> tuple[str, ...]:
    if override.environments is None:
        return (_EVERYWHERE, *declarations.environments)
    return tuple(identity_of(environment) for environment in override.environments)
