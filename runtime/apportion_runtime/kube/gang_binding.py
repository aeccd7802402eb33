"""Bindings of a cycle: all pods of a gang, or none.

Binds are sent in parallel. After a permanent rejection, the remaining binds of that gang are not sent; if the gang lacks
pods that it requires, those of its pods that have not started are evicted, and their owners recreate them.

Source: KAI's binder (pkg/binder/controllers/bindrequest_controller.go) repeats each bind up to a limit and leaves the
others of the gang bound, until the stale gang action evicts them after the grace period.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from apportion_runtime.core.job import Job
from apportion_runtime.core.status import BINDING, BOUND
from apportion_runtime.core.task import Task
from apportion_runtime.kube.cluster import Cluster, Manifest
from apportion_runtime.kube.errors import Origin, Refused, Rejection, Unreachable
from apportion_runtime.kube.gpu_reservation import ReservationFailure
from apportion_runtime.kube.gpu_sharing import Share, write_share
from apportion_runtime.kube.write_pool import Priority, WritePool, results


@dataclass(frozen=True, slots=True)
class Placement:
    """A pod and its node.

    Attributes:
        task: The pod in the session.
        pod: The pod as it is stored.
        node: The node.
        share: What it gets of shared devices, if it shares any.
        devices: The names of these devices for the device plugin, once they are reserved.
    """

    task: Task
    pod: Manifest
    node: str
    share: Share | None = None
    devices: tuple[str, ...] = ()


@dataclass(slots=True)
class GangBinding:
    """The result of the binds of one gang.

    Attributes:
        job: The gang.
        bound: Pods that are bound.
        unbound: Pods whose bind was rejected, or not sent after the rejection.
        failed: Pods whose bind failed, but may succeed when it is repeated.
        failures: The failures, each as a sentence with the pod.
        rejected: Why the gang cannot be bound, as a clause, after a permanent rejection or a failed reservation.
        unreserved: The failed reservation of a GPU, if there was one; no bind was sent then.
        taken_back: Pods that must be evicted because the gang is incomplete.
    """

    job: Job
    bound: list[Placement] = field(default_factory=list)
    unbound: list[Placement] = field(default_factory=list)
    failed: list[Placement] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    rejected: str | None = None
    unreserved: ReservationFailure | None = None
    taken_back: tuple[Task, ...] = ()


def bind_gangs(
    cluster: Cluster, pool: WritePool, gangs: Mapping[str, Sequence[Placement]], jobs: Mapping[str, Job]
) -> list[GangBinding]:
    """Bind pods, and return the result of each gang.

    Args:
        cluster: The cluster.
        pool: The threads that write.
        gangs: The placements of each job.
        jobs: The jobs of the session.

    Raises:
        NotLeader: If this scheduler lost its lease; binds that were already sent are completed.
    """
    made = [GangBinding(jobs[job]) for job in gangs]
    writes = [
        pool.submit(Priority.BIND, partial(_bind, cluster, gang, placement))
        for gang, placements in zip(made, gangs.values(), strict=True)
        for placement in placements
    ]
    results(writes)
    for gang in made:
        take_back(gang)
    return made


def take_back(gang: GangBinding) -> None:
    """Mark the bound pods of a rejected gang for eviction if the gang lacks pods that it requires."""
    if gang.rejected is not None and not _is_satisfied(gang):
        gang.taken_back = tuple(_not_started(gang))


def as_bound(pod: Manifest, node: str) -> Manifest:
    """Return a pod as if it were bound to a node."""
    return {**pod, "spec": {**pod["spec"], "nodeName": node}}


def _bind(cluster: Cluster, gang: GangBinding, placement: Placement) -> None:
    name = placement.pod["metadata"]["name"]
    if gang.rejected is not None:
        gang.unbound.append(placement)
        return
    try:
        if placement.share is not None:
            write_share(cluster, placement.pod, placement.share, placement.devices)
        cluster.bind(placement.pod, placement.node)
    except Refused as refused:
        gang.unbound.append(placement)
        gang.failures.append(f"binding of pod {name} to node {placement.node}: {refused}")
        is_permanent = refused.rejection is Rejection.PERMANENT and refused.origin is not Origin.ACCOUNT
        if not is_permanent and refused.rejection is not Rejection.GONE:
            gang.failed.append(placement)
        if is_permanent and gang.rejected is None:
            gang.rejected = f"the API server rejected the binding of pod {name}: {refused}"
    except Unreachable as unreachable:
        # It may be bound: the cache assumes so until the next cycle has verified it.
        gang.failed.append(placement)
        gang.failures.append(f"binding of pod {name} to node {placement.node}: {unreachable}")
    else:
        gang.bound.append(placement)


def _is_satisfied(gang: GangBinding) -> bool:
    unbound = Counter(placement.task.pod_set for placement in gang.unbound)
    return all(part.n_used - unbound[name] >= part.min_available for name, part in gang.job.pod_sets.items())


def _not_started(gang: GangBinding) -> Iterator[Task]:
    unbound = {placement.task.uid for placement in gang.unbound}
    for task in gang.job.tasks.values():
        if task.status in (BINDING, BOUND) and task.uid not in unbound:
            yield task
