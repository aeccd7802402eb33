"""Kubernetes' own workloads: pods, Jobs, Deployments, and similar kinds."""

from __future__ import annotations

from typing import Any

from apportion_api.kubernetes.names import JOB_INDEX_LABEL, JOB_NAME_LABEL
from apportion_runtime.admission.expansion.expansion import (
    Ending,
    Expansion,
    PodReplacement,
    Slot,
    child,
    defaulted,
    slot,
)
from apportion_runtime.admission.objects import Manifest, annotations_of, labels_of, name_of, nested, whole


def expand_pod(workload: Manifest) -> Expansion:
    """Return the pod itself, which is never recreated."""
    only = Slot("", defaulted(workload["spec"]), labels_of(workload), annotations_of(workload), None)
    return Expansion((only,), Ending.EACH, PodReplacement.NEVER)


def expand_job(workload: Manifest) -> Expansion:
    """Return a slot for each completion; the Job's parallelism is the number of slots with a pod at a time."""
    name = name_of(workload)
    at_once = 1 if (declared := whole(workload, "spec", "parallelism")) is None else declared
    wanted = at_once if (declared := whole(workload, "spec", "completions")) is None else declared
    template = nested(workload, "spec", "template") or {}
    any_slot = slot("", template, ("Job", name), {JOB_NAME_LABEL: name})
    spec, labels, annotations, owner = any_slot.spec, any_slot.labels, any_slot.annotations, any_slot.owner
    slots = tuple(Slot(str(i), spec, {**labels, JOB_INDEX_LABEL: str(i)}, annotations, owner) for i in range(wanted))
    return Expansion(slots, Ending.EACH, PodReplacement.AT_ONCE, at_once=at_once)


def job_of(cron_job: Manifest, number: int) -> dict[str, Any]:
    """Return the Job that a CronJob creates at a scheduled time; `number` identifies the time."""
    template = nested(cron_job, "spec", "jobTemplate") or {}
    metadata = template.get("metadata") or {}
    made = child(("batch/v1", "Job"), f"{name_of(cron_job)}-{number}", cron_job, template.get("spec") or {})
    made["metadata"]["labels"] = dict(metadata.get("labels") or {})
    made["metadata"]["annotations"] = dict(metadata.get("annotations") or {})
    return made


def expand_replicas(workload: Manifest) -> Expansion:
    """Return a slot for each replica of a Deployment, with its ReplicaSet, or of a ReplicaSet or StatefulSet."""
    kind, name = str(workload.get("kind")), name_of(workload)
    replicas = 1 if (declared := whole(workload, "spec", "replicas")) is None else declared
    template = nested(workload, "spec", "template") or {}
    children: tuple[dict[str, Any], ...] = ()
    owner = (kind, name)
    if kind == "Deployment":
        owner = ("ReplicaSet", f"{name}-rs")
        labels = (template.get("metadata") or {}).get("labels") or {}
        children = (child(("apps/v1", owner[0]), owner[1], workload, {"replicas": replicas}, labels=labels),)
    slots = tuple(slot(str(i), template, owner) for i in range(replicas))
    replacing = PodReplacement.SAME_NAME if kind == "StatefulSet" else PodReplacement.AT_ONCE
    return Expansion(slots, Ending.NEVER, replacing, children)
