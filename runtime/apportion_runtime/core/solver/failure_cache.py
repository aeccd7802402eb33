"""The failure cache: jobs that need not be tried, because one that requests no more has just failed.

Source: pkg/scheduler/actions/common/minimal_job_comparison.go, api/podgroup_info (signatures).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import starmap
from operator import le

from apportion_runtime.core.job import Job
from apportion_runtime.core.snapshot import Pod
from apportion_runtime.core.status import ACTIVE_ALLOCATED_STATUSES, PENDING
from apportion_runtime.core.sub_groups import PodSet, SubGroupSet


class FailureCache:
    """The smallest job that failed, by signature."""

    def __init__(self) -> None:
        self._by_signature: dict[object, Job] = {}

    def is_easier(self, job: Job) -> bool:
        """Return whether a job is easier to schedule than the failed one with the same constraints."""
        failed = self._by_signature.get(signature(job))
        return failed is None or _easier(job, failed)

    def failed(self, job: Job) -> None:
        """Record that a job failed."""
        key = signature(job)
        known = self._by_signature.get(key)
        if known is None or _smaller(job, known):
            self._by_signature[key] = job


def signature(job: Job) -> object:
    """Return the signature that comparable jobs share.

    KAI computes it when it opens the session: pods that are placed since count as they were in the snapshot.
    """
    if job.constraints is None:
        job.constraints = tuple(sorted(map(repr, starmap(_of_pod_set, job.root.paths()))))
    return job.constraints


def _of_pod_set(pod_set: PodSet, around: tuple[SubGroupSet, ...]) -> object:
    waiting = [task.pod for task in pod_set.tasks.values() if not task.pod.status & ACTIVE_ALLOCATED_STATUSES]
    constraints = [pod_set.constraint, *(part.constraint for part in around)]
    return (constraints, sorted(repr(_of_pod(pod)) for pod in waiting)) if waiting else ""


def _of_pod(pod: Pod) -> object:
    return (
        sorted(pod.node_selector.items()), pod.node_affinity, pod.affinity, pod.anti_affinity, pod.pod_preferences,
        pod.tolerations, pod.priority_class, pod.priority, pod.host_ports,
    )  # fmt: skip


def _pending(job: Job) -> list[tuple[float, ...]]:
    """Return the requests of pending pods, small before large where they compare; kept until a status changes."""
    if job.asked is None:
        job.asked = sorted(tuple(task.request.tolist()) for task in job.tasks.values() if task.status == PENDING)
    return job.asked


def _fits(left: Sequence[float], right: Sequence[float]) -> bool:
    return all(map(le, left, right))


def _easier(job: Job, failed: Job) -> bool:
    ours, theirs = _pending(job), _pending(failed)
    if not ours or not theirs:
        return False
    if len(theirs) > len(ours):
        return True
    for number, vector in enumerate(ours):
        if number >= len(theirs):
            return False
        if _fits(vector, theirs[number]) and not _fits(theirs[number], vector):
            return True
    return False


def _smaller(job: Job, known: Job) -> bool:
    ours, theirs = _pending(job), _pending(known)
    if not ours or not theirs or len(ours) > len(theirs):
        return False
    return all(_fits(a, b) for a, b in zip(ours, theirs, strict=False))
