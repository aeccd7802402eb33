"""The latest end of running work: the deadlines that Kubernetes and the operators of workloads enforce.

A snapshot has no other information about the end of a workload, and no end is estimated.

Source: batch/v1 JobSpec.activeDeadlineSeconds, v1 PodSpec.activeDeadlineSeconds, kubeflow.org/v1 runPolicy, ray.io/v1
RayJobSpec, trainer.kubeflow.org; Kueue v0.18.3 `kueue.x-k8s.io/max-exec-time-seconds`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apportion_api.kueue.names import MAX_TIME_LABEL
from apportion_runtime.admission.objects import kind_of, labels_of, nested
from apportion_runtime.sim.scenario.format import Manifest
from apportion_runtime.snapshots.quantities import parse_time

_DEADLINE = "activeDeadlineSeconds"
_ROLES = "kubeflow.org"


def ends_at(owners: Sequence[Manifest], pods: Sequence[Manifest]) -> float | None:
    """Return the latest end of work, in seconds since the epoch; None without a deadline.

    Args:
        owners: The known objects that own the pods.
        pods: The pods; their deadlines count only if all of them have one.
    """
    found = [at for owner in owners for at in _of_owner(owner, pods)]
    of_pods = [_after(nested(pod, "status", "startTime"), nested(pod, "spec", _DEADLINE)) for pod in pods]
    bounded = [at for at in of_pods if at is not None]
    if bounded and len(bounded) == len(pods):
        found.append(max(bounded))
    return min(found, default=None)


def _of_owner(owner: Manifest, pods: Sequence[Manifest]) -> Iterator[float]:
    path = ("spec", "runPolicy", _DEADLINE) if kind_of(owner)[0] == _ROLES else ("spec", _DEADLINE)
    started = nested(owner, "status", "startTime")
    since = [text for pod in pods if (text := nested(pod, "status", "startTime"))]
    for begun, seconds in (
        (started, nested(owner, *path)),
        (max(map(str, since), default=None), labels_of(owner).get(MAX_TIME_LABEL)),
    ):
        at = _after(begun, seconds)
        if at is not None:
            yield at


def _after(started: object, seconds: object) -> float | None:
    """Return a time some seconds after another; None if either is unknown."""
    try:
        return None if started is None or seconds is None else parse_time(str(started)) + float(str(seconds))
    except ValueError:
        return None
