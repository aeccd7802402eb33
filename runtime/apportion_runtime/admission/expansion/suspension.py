"""Suspension of workloads: the field of each kind that keeps its operator from creating pods.

Source: batch/v1 Job, ray.io/v1 RayJob and RayCluster, jobset.x-k8s.io/v1alpha2, kubeflow.org/v1 (runPolicy),
trainer.kubeflow.org/v1alpha1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apportion_runtime.admission.expansion.observed import OBSERVED
from apportion_runtime.admission.objects import Manifest, kind_of, nested

_SPEC = ("spec", "suspend")
_RUN_POLICY = ("spec", "runPolicy", "suspend")
_SUSPEND: Mapping[tuple[str, str], tuple[str, ...]] = {
    OBSERVED: _SPEC,
    ("batch", "Job"): _SPEC,
    ("ray.io", "RayJob"): _SPEC,
    ("ray.io", "RayCluster"): _SPEC,
    ("jobset.x-k8s.io", "JobSet"): _SPEC,
    ("trainer.kubeflow.org", "TrainJob"): _SPEC,
    **{("kubeflow.org", kind): _RUN_POLICY for kind in ("PyTorchJob", "TFJob", "XGBoostJob", "JAXJob", "MPIJob")},
}


def can_suspend(workload: Manifest) -> bool:
    """Return whether the kind of a workload can be suspended."""
    return kind_of(workload) in _SUSPEND


def is_suspended(workload: Manifest) -> bool:
    """Return whether a workload is suspended."""
    path = _SUSPEND.get(kind_of(workload))
    return path is not None and bool(nested(workload, *path))


def with_suspended(workload: Manifest, *, suspended: bool) -> dict[str, Any]:
    """Return a workload suspended, or resumed. Raises `KeyError` for a kind that cannot be suspended."""
    return _with(workload, _SUSPEND[kind_of(workload)], suspended)


def _with(made: Mapping[str, Any], path: tuple[str, ...], value: bool) -> dict[str, Any]:  # noqa: FBT001
    first, *rest = path
    return {**made, first: _with(made.get(first) or {}, tuple(rest), value) if rest else value}
