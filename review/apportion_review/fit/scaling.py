"""Scaling of a workload: the field of its manifest with the number of pods, and the manifest with another value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from apportion_api.ack import names as ack
from apportion_api.kai import names as kai
from apportion_api.koordinator import names as koordinator
from apportion_api.kueue.names import MIN_PARALLELISM_ANNOTATION
from apportion_api.volcano import names as volcano
from apportion_compiler.plain_objects import Manifest, integer, mapping
from apportion_compiler.workload_shapes import PodSet, pod_sets
from apportion_review.fit.pod_requests import gpus_of_pod
from apportion_review.fit.task_groups import change_task_groups, with_fewer_members

Path = tuple[str | int, ...]
_REPLICAS = frozenset(("Deployment", "ReplicaSet", "StatefulSet", "LeaderWorkerSet"))
_RAY = {"RayCluster": ("spec",), "RayJob": ("spec", "rayClusterSpec"), "RayService": ("spec", "rayClusterConfig")}
MIN_MEMBER_KEYS = (
    volcano.MIN_MEMBER_ANNOTATION,
    kai.MIN_MEMBER_ANNOTATION,
    ack.GANG_MIN_LABEL,
    koordinator.GANG_MIN_ANNOTATION,
)
"""Annotations and labels with the number of pods that start together."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """A number of a manifest that determines the number of pods.

    Attributes:
        field: Its path as text: `spec.parallelism`.
        path: Its path as keys.
        value: Its value.
    """

    field: str
    path: Path
    value: int


def dimension_of(workload: Manifest) -> Dimension | None:
    """Return the scaled field of a workload: the number of the pods with the largest requests; None without one."""
    candidates = [path for path in _paths(workload) if (value_at(workload, path) or 0) > 0]
    best = max(candidates, key=lambda path: _weight(workload, path), default=None)
    if best is None:
        return None
    return Dimension(_text(best), best, value_at(workload, best) or 0)


def scaled(workload: Manifest, dimension: Dimension, count: int) -> Manifest:
    """Return a workload with another number of pods, and with related numbers lowered so that they do not exceed it."""
    made = cast("dict[str, object]", _copied(workload))
    _set(made, dimension.path, count)
    owner = dimension.path[:-1]
    if workload.get("kind") == "Job" and dimension.path[-1] == "parallelism":
        completions = value_at(workload, (*owner, "completions"))
        if completions is not None and completions <= dimension.value:
            _set(made, (*owner, "completions"), min(completions, count))
    fewest = value_at(workload, (*owner, "minReplicas"))
    if fewest is not None and fewest > count:
        _set(made, (*owner, "minReplicas"), count)
    total = sum(each.count for each in pod_sets(made))
    least = value_at(workload, ("spec", "minAvailable"))
    if least is not None and least > total:
        _set(made, ("spec", "minAvailable"), total)
    for marks in marks_of(made):
        for key in MIN_MEMBER_KEYS:
            written = str(marks.get(key, ""))
            if written.isdecimal() and int(written) > total:
                marks[key] = str(total)
        change_task_groups(marks, lambda group: with_fewer_members(group, total))
        # Kueue requires a number below the number of pods.
        written = str(marks.get(MIN_PARALLELISM_ANNOTATION, ""))
        if written.isdecimal() and int(written) >= total:
            del marks[MIN_PARALLELISM_ANNOTATION]
    return made


def marks_of(made: Mapping[str, object]) -> Iterator[dict[str, object]]:
    """Yield the labels and annotations of a workload, of the Jobs of a JobSet, and of the pods."""
    jobs = [mapping(mapping(each).get("template")) for each in _list(made, ("spec", "replicatedJobs"))]
    nodes: list[Mapping[str, object]] = [made, *jobs, *(each.template for each in pod_sets(made))]
    for node in nodes:
        for key in ("labels", "annotations"):
            held = mapping(node, "metadata").get(key)
            if isinstance(held, dict):
                yield cast("dict[str, object]", held)


def _paths(workload: Manifest) -> Iterator[Path]:
    kind = str(workload.get("kind"))
    if kind in _REPLICAS:
        yield ("spec", "replicas")
    elif kind == "Job" and "tasks" in mapping(workload, "spec"):
        yield from (("spec", "tasks", n, "replicas") for n in range(len(_list(workload, ("spec", "tasks")))))
    elif kind == "Job":
        yield ("spec", "parallelism")
    elif kind == "JobSet":
        for n in range(len(_list(workload, ("spec", "replicatedJobs")))):
            base: Path = ("spec", "replicatedJobs", n)
            yield (*base, "replicas")
            yield (*base, "template", "spec", "parallelism")
    elif kind in _RAY:
        base = (*_RAY[kind], "workerGroupSpecs")
        yield from ((*base, n, "replicas") for n in range(len(_list(workload, base))))
    elif kind == "TrainJob":
        yield ("spec", "trainer", "numNodes")
    else:
        for key, roles in mapping(workload, "spec").items():
            if key.endswith("ReplicaSpecs") and isinstance(roles, Mapping):
                yield from (("spec", key, str(role), "replicas") for role in roles)


def _weight(workload: Manifest, path: Path) -> tuple[int, int, int]:
    """Return a rank: the GPUs and pods that an increment of the number adds, and the number.

    An increment of a number with a value of 1 ranks lower than one of a number that is already scaled.
    """
    value = value_at(workload, path) or 0
    larger = pod_sets(cast("Manifest", with_value(workload, path, value + 1)))
    before = pod_sets(workload)
    added = _gpus(larger) - _gpus(before)
    return (int(added > 0), int(value > 1), added)


def _gpus(sets: Sequence[PodSet]) -> int:
    return sum(each.count * gpus_of_pod(each.template) for each in sets)


def with_value(workload: Manifest, path: Path, value: int) -> object:
    """Return a workload with another number at a path."""
    made = cast("dict[str, object]", _copied(workload))
    _set(made, path, value)
    return made


def value_at(workload: Manifest, path: Path) -> int | None:
    """Return the number at a path; None if there is none."""
    at: object = workload
    for step in path[:-1]:
        at = _below(at, step)
    if not isinstance(at, Mapping):
        return None
    written = integer(at, str(path[-1]))
    if written is None and path[-1] in ("parallelism", "replicas") and path[-1] not in at:
        return 1
    return written


def _below(at: object, step: str | int) -> object:
    if isinstance(at, list):
        return at[step] if isinstance(step, int) and step < len(at) else None
    return mapping(at).get(str(step))


def _list(workload: Manifest, path: Path) -> list[object]:
    at: object = workload
    for step in path:
        at = mapping(at).get(str(step))
    return at if isinstance(at, list) else []


def _set(made: dict[str, object], path: Path, value: object) -> None:
    at: object = made
    for step in path[:-1]:
        at = _below(at, step)
    if isinstance(at, dict):
        at[str(path[-1])] = value


def _copied(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list | tuple) else value


def _text(path: Path) -> str:
    made = ""
    for step in path:
        made += f"[{step}]" if isinstance(step, int) else f".{step}" if made else step
    return made
