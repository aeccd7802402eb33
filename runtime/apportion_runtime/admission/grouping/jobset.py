"""JobSets: one pod group of two levels, a part for each replicated job and below it one for each replica.

Source: pkg/podgrouper/podgrouper/plugins/jobset (jobset_grouper.go, legacy_grouper.go) at d5bc503a.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from apportion_api.kai.names import MIN_MEMBER_ANNOTATION
from apportion_api.kubernetes.operators import JOBSET_INDEX_LABEL, JOBSET_JOB_LABEL
from apportion_runtime.admission.grouping.default import Owners, constraint_of, group_by_default
from apportion_runtime.admission.grouping.grouping import Grouping, Part
from apportion_runtime.admission.objects import (
    GroupingError,
    Manifest,
    Objects,
    annotations_of,
    labels_of,
    name_of,
    namespace_of,
    nested,
    number_in,
    text,
    whole,
)

_IN_ORDER = "InOrder"


def group_jobset(owner: Manifest, pod: Manifest, owners: Owners, objects: Objects) -> Grouping:
    """Return one pod group that starts with all replicated jobs, or with the first if they start in order."""
    jobs = nested(owner, "spec", "replicatedJobs") or ()
    if not jobs:
        raise GroupingError(f"jobset {namespace_of(owner)}/{name_of(owner)} has no replicatedJobs")
    made = group_by_default(owner, pod, (), objects)
    if _is_flat(owner, made.name, jobs, objects):
        return _flat(made, owner, pod)
    parts: list[Part] = []
    for number, job in enumerate(jobs):
        parts += _parts(job, number)
    made = replace(made, min_parts=_min_parts(owner, len(jobs)), min_members=0)
    leaf = _leaf(pod)
    if not any(part.name == leaf for part in parts):
        raise GroupingError(f'leaf subgroup "{leaf}" not found for pod {namespace_of(pod)}/{name_of(pod)}')
    return made.with_parts(parts, leaf)


def _is_flat(owner: Manifest, name: str, jobs: Sequence[Manifest], objects: Objects) -> bool:
    """Return whether an earlier version of the engine created a pod group without parts."""
    names = (name, *(f"{name}-{text(job, 'name')}" for job in jobs))
    found = (objects.get("PodGroup", namespace_of(owner), each) for each in names)
    return any(group is not None and not nested(group, "spec", "subGroups") for group in found)


def _flat(made: Grouping, owner: Manifest, pod: Manifest) -> Grouping:
    job = labels_of(pod).get(JOBSET_JOB_LABEL)
    if not job:
        raise _missing(pod, JOBSET_JOB_LABEL)
    if text(owner, "spec", "startupPolicy", "startupPolicyOrder") == _IN_ORDER:
        made = replace(made, name=f"{made.name}-{job}")
    declared = annotations_of(owner).get(MIN_MEMBER_ANNOTATION, "1")
    return replace(made, min_members=number_in(declared, f"{MIN_MEMBER_ANNOTATION} annotation value", bits=32))


def _min_parts(owner: Manifest, n_jobs: int) -> int:
    declared = annotations_of(owner).get(MIN_MEMBER_ANNOTATION)
    if declared is None:
        return 1 if text(owner, "spec", "startupPolicy", "startupPolicyOrder") == _IN_ORDER else n_jobs
    return min(_at_least_one(declared, "JobSet"), n_jobs)


def _parts(job: Mapping[str, Any], number: int) -> list[Part]:
    name = text(job, "name")
    if not name:
        raise GroupingError(f"replicatedJobs[{number}] missing name")
    replicas = 1 if (found := whole(job, "replicas")) is None else found
    members = 1 if (found := whole(job, "template", "spec", "parallelism")) is None else found
    declared = nested(job, "template", "metadata", "annotations") or {}
    if declared.get(MIN_MEMBER_ANNOTATION):
        members = _at_least_one(declared[MIN_MEMBER_ANNOTATION], "replicatedJob template")
    constraint = constraint_of(declared.get)
    if constraint is not None and not (constraint.topology and (constraint.required or constraint.preferred)):
        constraint = None
    below = [Part(f"{name}-replica-{i}", members, parent=name, constraint=constraint) for i in range(replicas)]
    return [Part(name, min_parts=replicas), *below]


def _leaf(pod: Manifest) -> str:
    found = [labels_of(pod).get(key, "") for key in (JOBSET_JOB_LABEL, JOBSET_INDEX_LABEL)]
    for key, value in zip((JOBSET_JOB_LABEL, JOBSET_INDEX_LABEL), found, strict=True):
        if not value:
            raise _missing(pod, key)
    return f"{found[0]}-replica-{found[1]}"


def _missing(pod: Manifest, label: str) -> GroupingError:
    return GroupingError(f'pod {namespace_of(pod)}/{name_of(pod)} missing required label "{label}"')


def _at_least_one(declared: str, where: str) -> int:
    found = number_in(declared, f"{MIN_MEMBER_ANNOTATION} annotation on {where}", bits=32)
    if found < 1:
        raise GroupingError(f"invalid {MIN_MEMBER_ANNOTATION} annotation on {where}: value {found} must be >= 1")
    return found
