"""Retention of a RayJob's cluster, with the resources of its pods, after the job finishes.

A RayJob whose `shutdownAfterJobFinishes` is set keeps its cluster for `ttlSecondsAfterFinished`. A Job's pods end by
themselves and release their resources, however long the Job object is kept. Source: KubeRay 1.6,
ray-operator/controllers/ray/rayjob_controller.go.
"""

from __future__ import annotations

from dataclasses import dataclass

from apportion_runtime.admission.objects import Manifest, kind_of, nested
from apportion_runtime.sim.api.events import EngineEvent


@dataclass(frozen=True, slots=True)
class ClusterExpires(EngineEvent):
    """The cluster of a finished workload is deleted."""

    workload: int


def retention_s(workload: Manifest) -> float:
    """Return the time for which a workload's pods are kept after it finishes."""
    if kind_of(workload) != ("ray.io", "RayJob") or not nested(workload, "spec", "shutdownAfterJobFinishes"):
        return 0.0
    seconds = nested(workload, "spec", "ttlSecondsAfterFinished")
    return float(seconds) if isinstance(seconds, int) and seconds > 0 else 0.0
