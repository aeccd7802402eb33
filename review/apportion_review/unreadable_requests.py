"""Pods and pod templates of a snapshot whose resource requests cannot be read: their usage is unknown, not zero."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from apportion_compiler.plain_objects import Manifest, described, items, mapping, of_kind, text
from apportion_compiler.workload_shapes import pod_sets
from apportion_runtime.snapshots.quantities import parse_quantity
from apportion_runtime.snapshots.shapes import Amount, MappingOf, Path, shape_mismatch

_AMOUNTS = MappingOf(Amount)
_RESOURCES: Mapping[str, Any] = {"requests": _AMOUNTS, "limits": _AMOUNTS}
_CONTAINERS = [{"resources": _RESOURCES}]
_SPEC = {
    "containers": _CONTAINERS,
    "initContainers": _CONTAINERS,
    "overhead": _AMOUNTS,
    "resources": _RESOURCES,
}
_ENDED = ("Succeeded", "Failed")
_KUEUE = "kueue.x-k8s.io"


def why_unreadable(objects: Sequence[Manifest]) -> str:
    """Return the first object with unreadable requests, and the number of others, as a clause; empty if all are readable.

    The clause names the object, the field and the value: ``Pod a/b: `spec.containers`: expected a list, found no value``.
    """
    found = list(_unreadable(objects))
    if not found:
        return ""
    return f"{found[0]}, and {len(found) - 1} more" if len(found) > 1 else found[0]


def _unreadable(objects: Sequence[Manifest]) -> Iterator[str]:
    for made in objects:
        for path, spec in _pod_specs(made):
            wrong = _fault(spec)
            if wrong is None and made.get("kind") == "Pod" and not spec.get("containers"):
                held = "no value" if spec.get("containers") is None else "an empty list"
                wrong = ("containers",), f"expected a list, found {held}"
            if wrong is not None:
                yield f"{described(made)}: `{_written((*path, *wrong[0]))}`: {wrong[1]}"


def _pod_specs(made: Manifest) -> Iterator[tuple[Path, Mapping[str, object]]]:
    """Yield the spec of a pod that has not ended, or of each pod template, with its path."""
    if made.get("kind") == "Pod":
        if text(made, "status", "phase") not in _ENDED:
            yield ("spec",), mapping(made, "spec")
    elif of_kind((made,), _KUEUE, "Workload"):
        for number, each in enumerate(items(made, "spec", "podSets")):
            yield ("spec", "podSets", number, "template", "spec"), mapping(each, "template", "spec")
    else:
        for pods in pod_sets(made):
            yield (pods.path, "spec"), pods.spec


def _fault(spec: Mapping[str, object]) -> tuple[Path, str] | None:
    """Return the path of the first unreadable value, and what is wrong with it."""
    wrong = shape_mismatch(spec, _SPEC)
    if wrong is not None:
        return wrong
    if "containers" in spec and spec["containers"] is None:
        return ("containers",), "expected a list, found no value"
    for path, amounts in _amounts(spec):
        for name, written in amounts.items():
            try:
                is_negative = parse_quantity(written) < 0
            except ValueError as unreadable:
                return (*path, name), str(unreadable)
            if is_negative:
                return (*path, name), f"`{written}` is negative"
    return None


def _amounts(spec: Mapping[str, object]) -> Iterator[tuple[Path, Mapping[str, object]]]:
    holders: list[tuple[Path, Mapping[str, object]]] = [((), spec)]
    for key in ("initContainers", "containers"):
        held = cast("Sequence[Mapping[str, object]]", items(spec, key))
        holders += [((key, number), container) for number, container in enumerate(held)]
    for path, holder in holders:
        for side in _RESOURCES:
            yield (*path, "resources", side), mapping(holder, "resources", side)
    yield ("overhead",), mapping(spec, "overhead")


def _written(path: Path) -> str:
    made = ""
    for step in path:
        made += f"[{step}]" if isinstance(step, int) else f".{step}" if made and step else str(step)
    return made
