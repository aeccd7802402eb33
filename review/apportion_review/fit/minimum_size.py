"""The smallest size that the author of a workload allows: the minimums of its gang and of its groups of pods."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from apportion_api.kueue.names import MIN_PARALLELISM_ANNOTATION
from apportion_api.yunikorn.names import TASK_GROUP_NAME_ANNOTATION, TASK_GROUPS_ANNOTATION
from apportion_compiler.plain_objects import Manifest, annotations_of
from apportion_compiler.workload_shapes import mapping, pod_sets, sequence
from apportion_review.fit.scaling import MIN_MEMBER_KEYS, Dimension, Path, marks_of, value_at, with_value

_TOTALS: tuple[Path, ...] = (("spec", "minAvailable"), ("spec", "runPolicy", "schedulingPolicy", "minAvailable"))
"""Fields with a minimum for all pods of a workload."""


@dataclass(frozen=True, slots=True)
class Minimum:
    """The smallest value of a dimension, and what requires it, such as `spec.minAvailable 4`; empty if nothing does."""

    value: int = 1
    because: str = ""


@dataclass(frozen=True, slots=True)
class _Required:
    """A number of pods that a workload requires: of one task group, of the scaled group itself, or of all."""

    because: str
    n_pods: int
    group: str | None = None
    is_of_dimension: bool = False


def minimum_of(workload: Manifest, dimension: Dimension) -> Minimum:
    """Return the smallest value of a dimension that satisfies every minimum in a workload.

    A minimum that the present value violates as well requires the present value.
    """
    found = Minimum()
    for required in _required(workload, dimension):
        values = range(1, dimension.value + 1)
        first = bisect_left(values, required.n_pods, key=lambda value: _count(workload, dimension, required, value))
        least = min(first + 1, dimension.value)
        if least > found.value:
            found = Minimum(least, required.because)
    return found


def _required(workload: Manifest, dimension: Dimension) -> Iterator[_Required]:
    for path in _TOTALS:
        yield from _written(".".join(map(str, path)), value_at(workload, path))
    for marks in marks_of(workload):
        for key in MIN_MEMBER_KEYS:
            yield from _written(key, _number(marks.get(key)))
        yield from _written(MIN_PARALLELISM_ANNOTATION, _number(marks.get(MIN_PARALLELISM_ANNOTATION)), own=True)
        yield from _task_groups(marks.get(TASK_GROUPS_ANNOTATION))
    owner, last = dimension.path[:-1], dimension.path[-1]
    if last == "replicas":
        for key in ("minReplicas", *(("minAvailable",) if "tasks" in owner else ())):
            parent = dimension.field.removesuffix("replicas")
            yield from _written(f"{parent}{key}", value_at(workload, (*owner, key)), own=True)
    if owner[-1:] == ("Worker",):
        path = ("spec", "elasticPolicy", "minReplicas")
        yield from _written(".".join(path), value_at(workload, path), own=True)


def _written(where: str, number: int | None, *, own: bool = False) -> Iterator[_Required]:
    if number is not None:
        yield _Required(f"{where} {number}", number, is_of_dimension=own)


def _task_groups(written: object) -> Iterator[_Required]:
    try:
        groups = json.loads(str(written)) if written is not None else None
    except ValueError:
        return
    for group in sequence(groups):
        name, least = mapping(group).get("name"), mapping(group).get("minMember")
        if isinstance(name, str) and isinstance(least, int):
            yield _Required(f"task group {name} with minMember {least}", least, name)


def _number(written: object) -> int | None:
    text = str(written)
    return int(text) if text.isdecimal() else None


def _count(workload: Manifest, dimension: Dimension, required: _Required, value: int) -> int:
    """Return how many of the required pods a workload has at a value of a dimension."""
    if required.is_of_dimension:
        return value
    sets = pod_sets(cast("Manifest", with_value(workload, dimension.path, value)))
    if required.group is not None:
        named = [
            each for each in sets if annotations_of(each.template).get(TASK_GROUP_NAME_ANNOTATION) == required.group
        ]
        sets = tuple(named) or sets
    return sum(each.count for each in sets)
