"""The decisions of a cycle as a document; `docs/snapshot.md` describes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from apportion_runtime.core.explain.evictions import Eviction, Side, evictions
from apportion_runtime.core.explain.fair_share import FairShare
from apportion_runtime.core.explain.pending import PendingJob, pending_jobs
from apportion_runtime.core.queue_share import QueueShare
from apportion_runtime.core.session import Session
from apportion_runtime.core.shares import RESOURCES
from apportion_runtime.core.status import NAMES, PIPELINED
from apportion_runtime.core.task import NO_NODE, Task
from apportion_runtime.snapshots.codec import key_of
from apportion_runtime.snapshots.document import API_VERSION
from apportion_runtime.snapshots.quantities import time_text

KIND = "Decisions"


def decisions_document(session: Session) -> dict[str, Any]:
    """Return the decisions of a cycle and their reasons, every list sorted by name."""
    binds = sorted((_placed(session, task) for task in session.decided.binds), key=_name)
    # A pipelined pod may have been evicted from its node later, or pipelined on another.
    waiting = {task.uid: task for task in session.decided.pipelines if task.status == PIPELINED}.values()
    pipelines = sorted((_placed(session, task) for task in waiting), key=_name)
    evicted = [_evicted(made) for made in sorted(evictions(session), key=lambda made: made.name)]
    pending = [
        pending_document(job) for job in sorted(pending_jobs(session), key=lambda job: (job.namespace, job.name))
    ]
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "now": time_text(session.snapshot.now),
        "actions": list(session.settings.actions),
        "binds": binds,
        "pipelines": pipelines,
        "evictions": evicted,
        "pending": pending,
        "queues": [_queue(session, name) for name in sorted(session.shares.queues)],
    }


def pending_document(job: PendingJob) -> dict[str, Any]:
    """Return why a job is pending."""
    return {
        "job": job.name,
        "namespace": job.namespace,
        "queue": job.queue,
        "pending": job.n_pending,
        "running": job.n_running,
        "reasons": [
            {"reason": type(reason).__name__, "message": reason.text, "details": plain(reason)}
            for reason in job.reasons
        ],
        "noted": job.noted,
    }


def job_document(session: Session, job: PendingJob) -> dict[str, Any]:
    """Return everything about one job: the nodes of its pods, its pending reasons, and its evictions."""
    tasks = sorted(session.jobs[job.job].tasks.values(), key=lambda task: task.pod.name)
    mine = sorted((m for m in evictions(session) if m.pod in session.jobs[job.job].tasks), key=lambda made: made.name)
    return {
        "apiVersion": API_VERSION,
        "kind": "JobExplanation",
        **pending_document(job),
        "pods": [
            {
                "pod": task.pod.name,
                "status": NAMES[task.status],
                "node": session.nodes.names[task.node] if task.node != NO_NODE else None,
            }
            for task in tasks
        ],
        "evictions": [_evicted(made) for made in mine],
    }


def queue_document(session: Session, share: FairShare) -> dict[str, Any]:
    """Return the explanation of a queue's fair share."""
    return {
        "apiVersion": API_VERSION,
        "kind": "QueueShareExplanation",
        **_queue(session, share.queue),
        "levels": [plain(level) for level in share.levels],
    }


def plain(value: Any) -> Any:
    """Return a record of an explanation as plain data, its fields in camel case."""
    if is_dataclass(value) and not isinstance(value, type):
        return {key_of(type(value), f.name): plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, frozenset | set):
        return sorted(plain(item) for item in value)
    if isinstance(value, np.generic):
        return value.item()
    return value


def _name(made: Mapping[str, Any]) -> tuple[str, str]:
    return made["namespace"], made["pod"]


def _placed(session: Session, task: Task) -> dict[str, Any]:
    job = session.jobs[task.job]
    made: dict[str, Any] = {
        "pod": task.pod.name,
        "namespace": task.pod.namespace,
        "job": job.name,
        "queue": job.queue,
        "node": session.nodes.names[task.node] if task.node != NO_NODE else None,
    }
    if task.gpu_groups:
        made["gpuGroups"] = list(task.gpu_groups)
    return made


def _evicted(made: Eviction) -> dict[str, Any]:
    namespace, _, name = made.name.rpartition("/")
    return {
        "pod": name,
        "namespace": namespace,
        "job": made.job,
        "queue": made.queue,
        "node": made.node,
        "action": made.action,
        "forJob": made.for_job,
        "forQueue": made.for_queue,
        "rule": made.rule,
        "because": made.because,
        "movedTo": made.moved_to,
        "victim": _side(made.victim),
        "beneficiary": _side(made.beneficiary),
    }


def _side(side: Side | None) -> dict[str, Any] | None:
    if side is None:
        return None
    return {
        "queue": side.queue,
        **{
            resource: {
                "quota": side.quota[r],
                "fairShare": side.fair[r],
                "before": side.before[r],
                "after": side.after[r],
            }
            for r, resource in enumerate(RESOURCES)
        },
    }


def _queue(session: Session, name: str) -> dict[str, Any]:
    queue: QueueShare = session.shares.queues[name]
    return {
        "queue": name,
        "parent": queue.parent or None,
        "priority": queue.priority,
        **{
            resource: {
                "quota": queue.deserved[r],
                "limit": queue.limit[r],
                "weight": queue.weight[r],
                "fairShare": queue.fair[r],
                "allocated": queue.allocated[r],
                "allocatedNonPreemptible": queue.allocated_np[r],
                "requested": queue.request[r],
            }
            for r, resource in enumerate(RESOURCES)
        },
    }
