"""LeaderWorkerSets: a pod group for each replica, with a part for the leader and one for its workers, or segments.

Source: pkg/podgrouper/podgrouper/plugins/leaderworkerset/lws_grouper.go at d5bc503a.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from apportion_api.kai.names import (
    MAX_SEGMENTS,
    SEGMENT_PREFERRED_LEVEL_ANNOTATION,
    SEGMENT_REQUIRED_LEVEL_ANNOTATION,
    SEGMENT_SIZE_ANNOTATION,
    TOPOLOGY_ANNOTATION,
)
from apportion_api.kubernetes.operators import LWS_GROUP_LABEL, LWS_SIZE_ANNOTATION, LWS_WORKER_LABEL
from apportion_runtime.admission.grouping.default import Owners, group_by_default
from apportion_runtime.admission.grouping.grouping import Constraint, Grouping, Part
from apportion_runtime.admission.objects import (
    GroupingError,
    Manifest,
    Objects,
    annotations_of,
    integer,
    labels_of,
    name_of,
    namespace_of,
    nested,
    number_in,
    text,
    whole,
)

_LEADER, _WORKERS = "leader", "workers"
_CREATED, _READY = "LeaderCreated", "LeaderReady"
_TOGETHER, _APART = "LeaderWorker", "LeaderExcluded"
_TEMPLATE = ("spec", "leaderWorkerTemplate")


@dataclass(frozen=True, slots=True)
class _Segments:
    """How the pods of a replica are divided: `size` pods each, the leader within the first or by itself."""

    size: int
    policy: str
    n_pods: int

    @property
    def leader_is_extra(self) -> bool:
        """Whether the workers fill the segments without the leader."""
        return (self.n_pods - 1) % self.size == 0

    def of(self, index: int) -> int:
        """Return the segment of a pod."""
        if index == 0:
            return 0
        return (index - 1 if self.leader_is_extra else index) // self.size

    @property
    def count(self) -> int:
        """Return the number of segments."""
        return self.of(self.n_pods - 1) + 1


def group_leader_worker_set(owner: Manifest, pod: Manifest, owners: Owners, objects: Objects) -> Grouping:
    """Return the pod group of the pod's replica."""
    made = group_by_default(owner, pod, (), objects)
    index = labels_of(pod).get(LWS_WORKER_LABEL)
    if index is not None and number_in(index, f"worker index of pod {name_of(pod)}") < 0:
        raise GroupingError(f"workerIndex {index} is not valid. It must be bigger than 0")
    made = replace(made, min_members=_min_members(owner, pod))
    segments = _segments(owner, made.min_members)
    made = _without_segments(made, pod) if segments is None else _with_segments(made, owner, pod, segments)
    number = integer(labels_of(pod).get(LWS_GROUP_LABEL, ""))
    return made if number is None else replace(made, name=f"{made.name}-group-{number}")


def _min_members(owner: Manifest, pod: Manifest) -> int:
    size = whole(owner, *_TEMPLATE, "size")
    where = f"LWS {namespace_of(owner)}/{name_of(owner)}"
    if size is None:
        raise GroupingError(f"leaderWorkerTemplate.size not found in {where}")
    if size <= 0:
        raise GroupingError(f"invalid leaderWorkerTemplate.size {size} in {where}")
    policy = text(owner, "spec", "startupPolicy") or _CREATED
    if policy == _CREATED:
        return size
    if policy != _READY:
        raise GroupingError(f"unknown startupPolicy: {policy}")
    if _is_leader(pod) and not text(pod, "spec", "nodeName"):
        return 1
    declared = integer(annotations_of(pod).get(LWS_SIZE_ANNOTATION, ""))
    return size if declared is None else declared


def _is_leader(pod: Manifest) -> bool:
    return labels_of(pod).get(LWS_WORKER_LABEL) == "0"


def _without_segments(made: Grouping, pod: Manifest) -> Grouping:
    parts = [Part(_LEADER, 1)]
    if made.min_members > 1:
        parts.append(Part(_WORKERS, made.min_members - 1))
    return made.with_parts(parts, _LEADER if _is_leader(pod) else _WORKERS)


def _with_segments(made: Grouping, owner: Manifest, pod: Manifest, segments: _Segments) -> Grouping:
    if segments.count > MAX_SEGMENTS:
        raise GroupingError(
            f"number of subgroups segments {segments.count} is greater than max allowed segmentation {MAX_SEGMENTS}"
        )
    constraint = _segment_constraint(owner, pod)
    last = sum(segments.of(i) == segments.count - 1 for i in range(made.min_members))
    sizes = [segments.size] * (segments.count - 1) + [last]
    parts = [Part(f"segment-{i}", n, constraint=constraint) for i, n in enumerate(sizes)]
    own = segments.of(number_in(labels_of(pod).get(LWS_WORKER_LABEL, ""), f"worker index of pod {name_of(pod)}"))
    if segments.policy == _APART:
        if not segments.leader_is_extra:
            raise GroupingError(
                f"replicasSize {made.min_members} is not divisible by segmentSize {segments.size}. LeaderExcluded policy "
                "is only supported when replicasSize is divisible by segmentSize."
            )
        parts.insert(0, Part(_LEADER, 1))
        return made.with_parts(parts, _LEADER if _is_leader(pod) else f"segment-{own}")
    if segments.policy != _TOGETHER:
        return made.with_parts(parts, f"segment-{own}")
    first = parts[0].min_members + (1 if segments.leader_is_extra else 0)
    parts[0] = replace(parts[0], min_members=0, min_parts=2)
    parts += [Part(_LEADER, 1, parent="segment-0"), Part(_WORKERS, first - 1, parent="segment-0")]
    if own == 0:
        return made.with_parts(parts, _LEADER if _is_leader(pod) else _WORKERS)
    return made.with_parts(parts, f"segment-{own}")


def _segments(owner: Manifest, n_pods: int) -> _Segments | None:
    size = whole(owner, *_TEMPLATE, "subGroupPolicy", "subGroupSize")
    for declared in (
        annotations_of(owner).get(SEGMENT_SIZE_ANNOTATION),
        (nested(owner, *_TEMPLATE, "workerTemplate", "metadata", "annotations") or {}).get(SEGMENT_SIZE_ANNOTATION),
    ):
        if size is None and declared is not None:
            size = number_in(declared, f"segment size annotation {declared}")
    if size is None:
        return None
    if size <= 1:
        raise GroupingError(f"segmentSize {size} is not valid. It must be greater than 1")
    if size > n_pods:
        raise GroupingError(f"segmentSize {size} is greater than replicasSize {n_pods}")
    return _Segments(size, text(owner, *_TEMPLATE, "subGroupPolicy", "subGroupPolicyType") or _TOGETHER, n_pods)


def _segment_constraint(owner: Manifest, pod: Manifest) -> Constraint | None:
    if nested(owner, *_TEMPLATE, "workerTemplate") is None:
        return None
    declared = nested(owner, *_TEMPLATE, "workerTemplate", "metadata", "annotations") or {}
    found = [
        annotations_of(pod).get(key) or declared.get(key) or ""
        for key in (TOPOLOGY_ANNOTATION, SEGMENT_REQUIRED_LEVEL_ANNOTATION, SEGMENT_PREFERRED_LEVEL_ANNOTATION)
    ]
    topology = found[0] or annotations_of(owner).get(TOPOLOGY_ANNOTATION, "")
    return Constraint(topology, found[1], found[2]) if topology and (found[1] or found[2]) else None
