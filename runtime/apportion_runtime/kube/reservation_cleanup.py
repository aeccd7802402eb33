"""Shared devices at the end of their use: unused reservation pods, labels of pods that were not bound, lost devices.

Source: pkg/binder/binding/resourcereservation/resource_reservation.go (syncForPods).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import NamedTuple

from apportion_runtime.core.session import Session
from apportion_runtime.kube.cluster import Cluster, Manifest
from apportion_runtime.kube.cycle_bindings import evict_pod
from apportion_runtime.kube.cycle_result import CycleResult, name_of
from apportion_runtime.kube.errors import Refused, Rejection, Unreachable
from apportion_runtime.kube.gang_reservations import GangReservations
from apportion_runtime.kube.gpu_sharing import unshare_patch
from apportion_runtime.kube.log import Decision
from apportion_runtime.kube.resources import POD
from apportion_runtime.kube.write_pool import Priority, WritePool, results

_UNRESERVED = "reservation-lost"
"""The action of evictions because a reservation pod is gone."""


class SharingScope(NamedTuple):
    """The shared devices that a scheduler manages.

    Attributes:
        reservations: The gangs that wait for shared devices.
        session: The cycle, whose nodes are those of the scheduler.
        is_own: Whether the scheduler manages a pod.
    """

    reservations: GangReservations
    session: Session
    is_own: Callable[[Manifest], bool]


def clean_reservations(cluster: Cluster, pool: WritePool, scope: SharingScope, result: CycleResult) -> Collection[str]:
    """Delete the reservation pods that no pod needs, and remove pending pods from groups of devices.

    Returns the nodes with a reservation pod that could not be deleted: their kubelets regard its device as allocated.

    Args:
        cluster: The cluster.
        pool: The threads that write.
        scope: What this scheduler manages.
        result: Receives the writes that were rejected.

    Raises:
        NotLeader: If this scheduler lost its lease.
    """
    blocked: set[str] = set()
    unused = [partial(_delete, cluster, pod, result, blocked) for pod in scope.reservations.take_unused(scope.session)]
    stale = [partial(_unshare, cluster, pod, result) for pod in scope.reservations.take_stale(scope.is_own)]
    results([pool.submit(Priority.GROUP, write) for write in (*unused, *stale)])
    return blocked


def evict_unreserved(cluster: Cluster, pool: WritePool, scope: SharingScope, result: CycleResult) -> None:
    """Evict the running pods whose reservation pod is gone; arguments as for `clean_reservations`."""
    pods = scope.reservations.take_unreserved(scope.is_own)
    results([pool.submit(Priority.EVICT, partial(evict_pod, cluster, pod, result, _UNRESERVED)) for pod in pods])
    evicted = [pod for pod in pods if name_of(pod) in result.evicted]
    for pod in evicted:
        why = "the reservation pod of its shared GPU no longer exists, so the GPU may be allocated to another pod"
        pool.note(("evicted", pod["metadata"]["uid"]), partial(cluster.explain_eviction, pod, why))
        pool.note(
            ("event", pod["metadata"]["uid"]), partial(cluster.record, pod, "ReservationLost", why, is_warning=True)
        )
        line = f"evicted {name_of(pod)}: {why}"
        fields = {"action": _UNRESERVED, "beneficiary": None, "rule": why}
        result.decisions.append(Decision(line, decision="evict", **fields, pods=[name_of(pod)]))


def _delete(cluster: Cluster, reservation: Manifest, result: CycleResult, blocked: set[str]) -> None:
    try:
        cluster.delete(reservation)
    except (Refused, Unreachable) as failed:
        result.refused.append(f"{name_of(reservation)}: {failed}")
        blocked.add(reservation["spec"]["nodeName"])


def _unshare(cluster: Cluster, pod: Manifest, result: CycleResult) -> None:
    metadata = pod["metadata"]
    try:
        cluster.merge(POD, metadata["namespace"], metadata["name"], unshare_patch(pod))
    except Unreachable as failed:
        result.refused.append(f"{name_of(pod)}: {failed}")
    except Refused as refused:
        if refused.rejection not in (Rejection.GONE, Rejection.CONFLICT):
            result.refused.append(f"{name_of(pod)}: {refused}")
