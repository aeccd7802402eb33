"""The minimum number of pods with which a gang starts: an author's own value, or all of its pods."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from apportion_compiler.bindings.binding import Binding
from apportion_compiler.bindings.workload_fields import n_pods, owners, templates
from apportion_compiler.workload_shapes import Node, found


def gang_minimum(node: Node, key: str, count: int) -> dict[str, str]:
    """Return the label or annotation with the minimum: a valid one that the node has, which the author chose, or all pods."""
    declared = _declared(node, key)
    return {key: declared if declared is not None and _is_valid(declared, count) else str(count)}


def kept_minimums(key: str, workloads: Sequence[Node]) -> Iterator[str]:
    """Yield a clause for each minimum in a manifest that is kept although it is less than all pods."""
    count = n_pods(workloads)
    nodes = (node for workload in workloads for node in (*owners(workload), *templates(workload)))
    declared = dict.fromkeys(value for node in nodes if _is_valid(value := _declared(node, key), count))
    for value in declared:
        if value is not None and int(value) < count:
            yield kept_minimum(key, int(value), count)


def kept_minimum(field: str, least: int, count: int) -> str:
    """Return the clause for a minimum in a manifest that is less than all pods."""
    return f"{field} remains at {least} of {count} pods: remove it from the manifest to start all pods together"


def minimum_notes(key: str) -> Callable[[Binding, Sequence[Node]], Iterator[str]]:
    """Return the notes of an engine on minimums that are kept."""
    return lambda _, workloads: kept_minimums(key, workloads)


def _declared(node: Node, key: str) -> str | None:
    for family in ("annotations", "labels"):
        value = found(node, "metadata", family, key)
        if isinstance(value, str):
            return value
    return None


def _is_valid(value: str | None, count: int) -> bool:
    return value is not None and value.isascii() and value.isdecimal() and 1 <= int(value) <= count
