"""Jobs of several roles or replicas: Kubeflow's training operator and Trainer, JobSets, LeaderWorkerSets.

Source: the training operator 1.9 (pkg/common/util/labels.go), JobSet v1alpha2, LeaderWorkerSet v1, Trainer v1alpha1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from apportion_api.kubernetes.operators import (
    JOB_NAME_LABEL,
    JOB_ROLE_LABEL,
    JOBSET_INDEX_LABEL,
    JOBSET_JOB_LABEL,
    LWS_GROUP_LABEL,
    LWS_SIZE_ANNOTATION,
    LWS_WORKER_LABEL,
    REPLICA_INDEX_LABEL,
    REPLICA_TYPE_LABEL,
)
from apportion_runtime.admission.expansion.expansion import Ending, Expansion, PodReplacement, Slot, child, slot
from apportion_runtime.admission.grouping.kubeflow import ROLES
from apportion_runtime.admission.objects import (
    Manifest,
    labels_of,
    name_of,
    nested,
    text,
    whole,
)

_FIRST_ROLES = ("master", "launcher", "chief")
_LWS_NAME = "leaderworkerset.sigs.k8s.io/name"


def expand_training_job(workload: Manifest) -> Expansion:
    """Return the pods of all roles; masters and launchers have the role that the engine starts first."""
    kind, name = str(workload.get("kind")), name_of(workload)
    roles: Mapping[str, Any] = nested(workload, "spec", ROLES[kind]) or {}
    return Expansion(tuple(_of_roles(kind, name, roles)), Ending.TOGETHER, PodReplacement.SAME_NAME)


def _of_roles(kind: str, name: str, roles: Mapping[str, Any]) -> Iterator[Slot]:
    for role in sorted(roles, key=lambda role: (role.lower() not in _FIRST_ROLES, role)):
        called = role.lower()
        for i in range(whole(roles, role, "replicas") or 0):
            labels = {JOB_NAME_LABEL: name, REPLICA_TYPE_LABEL: called, REPLICA_INDEX_LABEL: str(i)}
            if called in _FIRST_ROLES:
                labels[JOB_ROLE_LABEL] = "launcher" if called == "launcher" else "master"
            template = roles[role].get("template") or {}
            yield slot(f"{called}-{i}", template, (kind, name), labels, is_worker=called != "launcher")


def expand_jobset(workload: Manifest) -> Expansion:
    """Return a Job for each replica of each replicated job, with its pods."""
    name = name_of(workload)
    children: list[dict[str, Any]] = []
    slots: list[Slot] = []
    for replicated in nested(workload, "spec", "replicatedJobs") or ():
        called = text(replicated, "name")
        replicas = 1 if (declared := whole(replicated, "replicas")) is None else declared
        job = nested(replicated, "template", "spec") or {}
        pods = 1 if (declared := whole(job, "parallelism")) is None else declared
        for i in range(replicas):
            key = f"{called}-{i}"
            labels = {JOBSET_JOB_LABEL: called, JOBSET_INDEX_LABEL: str(i)}
            children.append(child(("batch/v1", "Job"), f"{name}-{key}", workload, job, labels=labels))
            slots += (
                slot(f"{key}-{n}", job.get("template") or {}, ("Job", f"{name}-{key}"), labels) for n in range(pods)
            )
    return Expansion(tuple(slots), Ending.TOGETHER, PodReplacement.WHEN_GONE, tuple(children))


def expand_train_job(workload: Manifest) -> Expansion:
    """Return the JobSet that Trainer creates for a TrainJob with uniform nodes, and its Jobs and pods."""
    trainer = nested(workload, "spec", "trainer") or {}
    container = {
        "name": "node",
        "image": trainer.get("image") or "",
        "resources": trainer.get("resourcesPerNode") or {},
    }
    pod_spec = {"containers": [container]}
    metadata = {"labels": nested(workload, "spec", "labels") or {}}
    job = {"parallelism": whole(trainer, "numNodes") or 1, "template": {"metadata": metadata, "spec": pod_spec}}
    spec = {"replicatedJobs": [{"name": "node", "replicas": 1, "template": {"spec": job}}]}
    jobset = child(
        ("jobset.x-k8s.io/v1alpha2", "JobSet"), name_of(workload), workload, spec, labels=labels_of(workload)
    )
    made = expand_jobset(jobset)
    return replace(made, children=(jobset, *made.children))


def expand_leader_worker_set(workload: Manifest) -> Expansion:
    """Return the leader and the workers of each replica."""
    name = name_of(workload)
    template = nested(workload, "spec", "leaderWorkerTemplate") or {}
    size = 1 if (declared := whole(template, "size")) is None else declared
    replicas = 1 if (declared := whole(workload, "spec", "replicas")) is None else declared
    workers = template.get("workerTemplate") or {}
    leader = template.get("leaderTemplate") or workers
    children = [child(("apps/v1", "StatefulSet"), name, workload, {"replicas": replicas})]
    slots: list[Slot] = []
    for group in range(replicas):
        for index in range(size):
            labels = {_LWS_NAME: name, LWS_GROUP_LABEL: str(group), LWS_WORKER_LABEL: str(index)}
            made = slot(
                f"{group}" if index == 0 else f"{group}-{index}",
                leader if index == 0 else workers,
                ("StatefulSet", name),
                labels,
            )
            slots.append(replace(made, annotations={**made.annotations, LWS_SIZE_ANNOTATION: str(size)}))
    return Expansion(tuple(slots), Ending.NEVER, PodReplacement.SAME_NAME, tuple(children))
