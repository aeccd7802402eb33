"""Jobs as job admission reads them: where each is in its life, and the unit that its queue has of it.

Source of what is read: koordinator-sh/koord-queue at 298e9a8c, pkg/jobext/handles (job.go, rayjob.go); the status of
RayJobs: KubeRay 1.6, ray-operator/apis/ray/v1/rayjob_types.go.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from apportion_api.ack import names
from apportion_runtime.admission.expansion import is_suspended
from apportion_runtime.admission.objects import Manifest, annotations_of, name_of, namespace_of, nested, uid_of
from apportion_runtime.kube.job_resources import JOB, UNIT
from apportion_runtime.kube.queue_configuration import QueueConfiguration
from apportion_runtime.kube_queue import jobs
from apportion_runtime.kube_queue.amounts import Amounts
from apportion_runtime.kube_queue.job_queue import Unit
from apportion_runtime.kube_queue.queues import default_queue, queue_of
from apportion_runtime.kube_queue.timestamps import moment
from apportion_runtime.snapshots.quantities import parse_time

_ENDED_JOB = ("Complete", "Failed")
_ENDED_RAY_JOB = ("Complete", "Failed", "ValidationFailed")
_STARTED_RAY_JOB = ("Running", *_ENDED_RAY_JOB)


class Stage(Enum):
    """Where a job is.

    Attributes:
        SUSPENDED: It waits in a queue.
        RELEASED: It was dequeued and has not ended, so it holds its quota.
        ENDED: Its pods hold no quota any more.
        UNQUEUED: It is not subject to a queue: it was never suspended, or is part of another workload.
        ENDING: It was deleted before it was dequeued.
    """

    SUSPENDED = "suspended"
    RELEASED = "released"
    ENDED = "ended"
    UNQUEUED = "unqueued"
    ENDING = "ending"


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A job.

    Attributes:
        stage: Where it is.
        enqueued_at: The time at which it was enqueued, in seconds since 1970; infinite if it was not.
        dequeued_at: The time at which it was dequeued, if it was.
        ends_at: The time from which an ended job holds no quota: a RayJob may keep its cluster for a while.
        has_started: Whether its pods have started.
        created: Its creation time as text.
    """

    stage: Stage
    enqueued_at: float
    dequeued_at: float | None
    ends_at: float
    has_started: bool
    created: str

    def at(self, now: float) -> Stage:
        """Return where the job is at a time: it holds its quota until `ends_at`."""
        return Stage.RELEASED if self.stage is Stage.ENDED and self.dequeued_at and now < self.ends_at else self.stage


def read_job(job: Manifest) -> JobRecord:
    """Return the record of a job."""
    annotations = annotations_of(job)
    enqueued = moment(annotations.get(names.ENQUEUED_AT_ANNOTATION, ""))
    dequeued = moment(annotations.get(names.DEQUEUED_AT_ANNOTATION, ""))
    ends_at = _ends_at(job)
    if ends_at is not None:
        stage = Stage.ENDED
    elif _is_part(job):
        stage = Stage.UNQUEUED
    elif is_suspended(job):
        stage = Stage.ENDING if nested(job, "metadata", "deletionTimestamp") else Stage.SUSPENDED
    else:
        # A timestamp that cannot be read was written to a job that passed a queue nevertheless.
        has_passed = any(annotations.get(key) for key in (names.ENQUEUED_AT_ANNOTATION, names.DEQUEUED_AT_ANNOTATION))
        stage = Stage.RELEASED if has_passed else Stage.UNQUEUED
    return JobRecord(
        stage,
        math.inf if enqueued is None else enqueued,
        dequeued,
        -math.inf if ends_at is None else ends_at,
        _has_started(job),
        str(nested(job, "metadata", "creationTimestamp") or ""),
    )


def _is_part(job: Manifest) -> bool:
    """Return whether a job is part of a workload whose operator suspends and resumes it, such as a JobSet."""
    owners = nested(job, "metadata", "ownerReferences") or ()
    return any(one.get("controller") and one.get("kind") != "CronJob" for one in owners)


def _ends_at(job: Manifest) -> float | None:
    """Return the time from which a finished job holds no quota; None if it has not finished."""
    status: Mapping[str, Any] = job.get("status") or {}
    if job["kind"] == JOB:
        conditions = {one.get("type") for one in status.get("conditions") or () if one.get("status") == "True"}
        return None if conditions.isdisjoint(_ENDED_JOB) else -math.inf
    if status.get("jobDeploymentStatus") not in _ENDED_RAY_JOB:
        return None
    try:
        return parse_time(str(status.get("endTime"))) + _retention_s(job)
    except ValueError:
        return -math.inf


def _retention_s(ray_job: Manifest) -> float:
    """Return how long KubeRay keeps the cluster of a finished RayJob."""
    seconds = nested(ray_job, "spec", "ttlSecondsAfterFinished")
    is_shut_down = bool(nested(ray_job, "spec", "shutdownAfterJobFinishes"))
    return float(seconds) if is_shut_down and isinstance(seconds, int) and seconds > 0 else 0.0


def _has_started(job: Manifest) -> bool:
    status: Mapping[str, Any] = job.get("status") or {}
    if job["kind"] != JOB:
        return status.get("jobDeploymentStatus") in _STARTED_RAY_JOB
    n_started = sum(status.get(key) or 0 for key in ("ready", "succeeded", "failed"))
    parallelism, completions = (nested(job, "spec", key) for key in ("parallelism", "completions"))
    n_pods = 1 if parallelism is None else parallelism
    # No more pods run at once than must still complete.
    return n_started >= (n_pods if completions is None else min(n_pods, completions))


class NotQueued(ValueError):
    """A suspended job that no queue accepts; the message is one clause."""


def read_unit(
    job: Manifest,
    number: int,
    since: float,
    configuration: QueueConfiguration,
    objects: jobs.ObjectLookup,
) -> tuple[str, Unit]:
    """Return the queue of a job, and its unit in the queue.

    The priority is that of its QueueUnit, which users may change, or that of its class if it has none.

    Args:
        job: The job.
        number: Its number.
        since: When it was enqueued, in seconds since 1970.
        configuration: The quotas and queues.
        objects: The priority classes and QueueUnits.

    Raises:
        NotQueued: If no queue accepts it.
    """
    path = _quota(job, configuration)
    demand = read_demand(job)
    try:
        queue = queue_of(job, configuration.quotas[path], configuration.queues, configuration.objects)
    except ValueError as wrong:
        raise NotQueued(str(wrong)) from None
    namespace, name = namespace_of(job), jobs.unit_name(job)
    made = objects.get(UNIT, namespace, name)
    if made is not None and not is_unit_of(made, job):
        raise NotQueued(f"{UNIT} {namespace}/{name} already exists and belongs to another object: delete the {UNIT}")
    priority = None if made is None else nested(made, "spec", "priority")
    if isinstance(priority, bool) or not isinstance(priority, int):
        priority = jobs.priority(job, objects)
    unit = Unit(number, name, namespace, path, demand, priority, jobs.is_preemptible(job), since)
    return queue, unit


def read_released_unit(
    job: Manifest, number: int, since: float, configuration: QueueConfiguration, objects: jobs.ObjectLookup
) -> tuple[str, Unit]:
    """Return the queue of a released job, and its unit: it holds quota whether or not its queue still accepts it.

    Raises:
        NotQueued: If its quota does not exist, or its request cannot be read.
    """
    try:
        return read_unit(job, number, since, configuration, objects)
    except NotQueued:
        path = _quota(job, configuration)
        queue = default_queue(configuration.quotas[path], configuration.queues)
        name, demand, priority = jobs.unit_name(job), read_demand(job), jobs.priority(job, objects)
        return queue, Unit(number, name, namespace_of(job), path, demand, priority, jobs.is_preemptible(job), since)


def read_demand(job: Manifest) -> Amounts:
    """Return the total request of a job's pods. Raises `NotQueued` if it cannot be read."""
    try:
        return jobs.demand(job)
    except ValueError as wrong:
        raise NotQueued(str(wrong)) from None


def _quota(job: Manifest, configuration: QueueConfiguration) -> str:
    assert configuration.tree is not None
    path = configuration.tree.quota_of(job)
    if path is None:
        raise NotQueued("the job doesn't belong to any elastic quota")
    return path


def is_unit_of(unit: Manifest, job: Manifest) -> bool:
    """Return whether a QueueUnit belongs to a job."""
    owners = nested(unit, "metadata", "ownerReferences") or ()
    uids = {str(one.get("uid")) for one in owners}
    consumer: Mapping[str, Any] = nested(unit, "spec", "consumerRef") or {}
    return uid_of(job) in uids or (
        not uids and consumer.get("kind") == job["kind"] and consumer.get("name") == name_of(job)
    )
