"""The state of a workload in Kueue, and its Workload object."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from apportion_api.kueue.names import API, PARAMETERS_PREFIX, PRIORITY_CLASS_LABEL, WORKLOAD
from apportion_runtime.admission.objects import annotations_of, kind_of, name_of, namespace_of, nested, uid_of
from apportion_runtime.engines.kueue.pod_sets import Path, PodSetTemplate, Update
from apportion_runtime.engines.kueue.records import Holder, Pending, PodSet
from apportion_runtime.sim.api.object_store import ClusterApi
from apportion_runtime.sim.scenario.format import Manifest
from apportion_runtime.snapshots.pod_requests import GPUS

_MAX_PREFIX, _HASH = 63 - 6, 5


class Phase(Enum):
    """The phase of a workload; an evicted one holds its quota until its pods are gone."""

    WAITING = "waiting"
    RESERVED = "reserved"
    ADMITTED = "admitted"
    LEAVING = "leaving"
    INACTIVE = "inactive"


@dataclass(slots=True)
class WorkloadState:
    """A workload.

    Attributes:
        number: The number of its job in the simulation.
        queue: Its ClusterQueue; empty if its LocalQueue does not exist.
        ordered_at: The timestamp for its queue order.
        assigned: The pod sets with reserved quota, with reduced counts under partial admission.
        flavors: By pod set and resource, while it holds quota.
        longest_s: The maximum execution time; None is unlimited.
        spent_s: The execution time before the last admission.
        admitted_at: The time of the last admission.
        was_ready: Whether all its pods were ready since then.
        lost_at: The time when a pod was lost after that; None if none is missing.
        ready: The ready checks, with their additions to the pod sets.
        retries: The number of retries of each check.
        n_releases: The number of admissions.
        not_before: The end of its backoff.
        pods: The pod set of each gated pod, by uid; empty if the workload represents a job.
    """

    number: int
    namespace: str
    name: str
    uid: str
    local_queue: str
    queue: str
    priority: int
    created: float
    ordered_at: float
    pod_set_templates: list[PodSetTemplate]
    pod_sets: tuple[PodSet, ...]
    shape: str
    originals: dict[Path, Any] = field(default_factory=dict)
    longest_s: float | None = None
    assigned: tuple[PodSet, ...] = ()
    spent_s: float = 0.0
    admitted_at: float = 0.0
    was_ready: bool = False
    lost_at: float | None = None
    phase: Phase = Phase.WAITING
    holder: Holder | None = None
    flavors: dict[str, dict[str, str]] = field(default_factory=dict)
    checks: tuple[str, ...] = ()
    ready: dict[str, dict[str, Update]] = field(default_factory=dict)
    retries: dict[str, int] = field(default_factory=dict)
    requests: dict[str, str] = field(default_factory=dict)
    """The name of each check's ProvisioningRequest."""
    templates: set[str] = field(default_factory=set)
    """The PodTemplates of the ProvisioningRequests."""
    n_releases: int = 0
    n_requeued: int = 0
    not_before: float = 0.0
    message: str = ""
    pods: dict[str, str] = field(default_factory=dict)

    @property
    def gpus(self) -> float:
        """Requested GPUs."""
        return float(sum(each.requests.get(name, 0) for each in self.pod_sets for name in GPUS))

    @property
    def key(self) -> str:
        """Namespace and name."""
        return f"{self.namespace}/{self.name}"

    def pending(self) -> Pending:
        """Return its record for the queue."""
        return Pending(
            self.key,
            self.queue,
            self.namespace,
            self.pod_sets,
            self.uid,
            self.priority,
            self.ordered_at,
            shape=self.shape,
        )


def workload_name(job: Manifest) -> str:
    """Return the name of a job's Workload (pkg/controller/jobframework/workload_names.go)."""
    group, kind = kind_of(job)
    identity = "\n".join((kind, group, name_of(job), uid_of(job)))
    digest = hashlib.sha1(identity.encode(), usedforsecurity=False).hexdigest()[:_HASH]
    return f"{kind.lower()}-{name_of(job)}"[:_MAX_PREFIX] + f"-{digest}"


def workload_object(job: Manifest, unit: WorkloadState, priority_class: str) -> dict[str, Any]:
    """Return the Workload of a job."""
    reference = {
        "apiVersion": job["apiVersion"],
        "kind": job["kind"],
        "name": name_of(job),
        "uid": uid_of(job),
        "controller": True,
    }
    metadata: dict[str, Any] = {
        "name": unit.name,
        "namespace": unit.namespace,
        "labels": {"kueue.x-k8s.io/job-uid": uid_of(job)},
        "ownerReferences": [reference],
    }
    parameters = {key: value for key, value in annotations_of(job).items() if key.startswith(PARAMETERS_PREFIX)}
    if parameters:
        metadata["annotations"] = parameters
    if priority_class:
        metadata["labels"][PRIORITY_CLASS_LABEL] = priority_class
    return {
        "apiVersion": API,
        "kind": WORKLOAD,
        "metadata": metadata,
        "spec": {
            "active": True,
            "queueName": unit.local_queue,
            "priority": unit.priority,
            "podSets": [
                {"name": each.name, "count": each.count, "template": dict(each.template)} for each in unit.pod_sets
            ],
        },
    }


def set_status(
    store: ClusterApi, unit: WorkloadState, now: str, conditions: Iterable[tuple[str, bool, str, str]], **more: Any
) -> None:
    """Set conditions of a Workload (type, status, reason, message), and other fields of its status."""
    made = store.get(WORKLOAD, unit.namespace, unit.name)
    if made is None:
        return
    written = {
        kind: {
            "type": kind,
            "status": "True" if holds else "False",
            "reason": reason,
            "message": message,
            "lastTransitionTime": now,
        }
        for kind, holds, reason, message in conditions
    }
    kept = [each for each in nested(made, "status", "conditions") or () if each["type"] not in written]
    store.patch_status(WORKLOAD, unit.namespace, unit.name, {"conditions": [*kept, *written.values()], **more})


def owner_number(made: Manifest, units: Mapping[str, WorkloadState]) -> int:
    """Return the workload that owns an object; -1 if there is none."""
    for reference in made["metadata"].get("ownerReferences") or ():
        unit = units.get(f"{namespace_of(made)}/{reference['name']}") if reference.get("kind") == WORKLOAD else None
        if unit is not None:
            return unit.number
    return -1
