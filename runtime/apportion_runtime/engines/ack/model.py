"""How a simulation recognises and creates ACK, and how kube-queue expects workloads in short form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apportion_api.ack.names import QUEUE_GROUP, QUOTA_LABEL, TITLE, TREE_GROUP
from apportion_api.kubernetes.operators import RAY_SCHEDULER_LABEL
from apportion_runtime.admission.expansion import is_suspended, with_suspended
from apportion_runtime.admission.objects import kind_of
from apportion_runtime.engines.ack.engine import Ack
from apportion_runtime.engines.base.model import Model, of_kinds
from apportion_runtime.kube_queue import jobs
from apportion_runtime.sim.scenario.format import Manifest
from apportion_runtime.sim.scenario.workload_labels import WorkloadLabels, by

_QUEUED = frozenset(
    (("batch", "Job"), ("ray.io", "RayJob"), ("kubeflow.org", "PyTorchJob"), ("kubeflow.org", "MPIJob"))
)
"""Kinds with a short form that kube-queue supports."""


def _for_kube_queue(made: dict[str, Any]) -> dict[str, Any]:
    """Return a suspended job for kube-queue to dequeue; a RayJob's cluster is deleted with it, and is a gang."""
    if kind_of(made) not in _QUEUED:
        return made
    held = with_suspended(made, suspended=True)
    if made["kind"] != "RayJob":
        return held
    labels = {**made["metadata"]["labels"], RAY_SCHEDULER_LABEL: "kube-scheduler"}
    metadata = {**made["metadata"], "labels": labels}
    return {**held, "metadata": metadata, "spec": {**held["spec"], "shutdownAfterJobFinishes": True}}


def _queued(objects: Sequence[Manifest]) -> list[Manifest]:
    """Return the suspended jobs of a snapshot that kube-queue supports, in order of creation."""
    found = [made for made in objects if jobs.is_known(made) and is_suspended(made)]
    return sorted(found, key=lambda made: str(made["metadata"].get("creationTimestamp") or ""))


MODEL = Model(
    "ack",
    TITLE,
    of_kinds((TREE_GROUP, "ElasticQuotaTree"), (QUEUE_GROUP, "Queue")),
    made_by=Ack,
    queued=_queued,
    # A job's queue is its quota, which the job's namespace also selects.
    workload_labels=WorkloadLabels(
        finished=_for_kube_queue,
        queue_labels=by(QUOTA_LABEL),
        pod_labels=by(QUOTA_LABEL),
    ),
)
