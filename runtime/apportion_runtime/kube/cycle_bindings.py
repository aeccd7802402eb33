"""The bindings of a cycle and what follows from them: events, and gangs that are taken back."""

from __future__ import annotations

import time
from collections.abc import Collection
from functools import partial

from apportion_api.counted_nouns import counted
from apportion_runtime.core.job import Job
from apportion_runtime.core.session import Session
from apportion_runtime.core.status import BINDING
from apportion_runtime.kube.backoffs import Backoffs
from apportion_runtime.kube.bind_retries import BindRetries
from apportion_runtime.kube.cluster import Cluster, Key, Manifest
from apportion_runtime.kube.cycle_result import CycleResult, name_of
from apportion_runtime.kube.errors import Refused, Unreachable
from apportion_runtime.kube.gang_binding import GangBinding, Placement, bind_gangs
from apportion_runtime.kube.gang_reservations import GangReservations
from apportion_runtime.kube.gpu_reservation import ReservationFailure
from apportion_runtime.kube.log import Decision
from apportion_runtime.kube.resources import POD, POD_GROUP
from apportion_runtime.kube.write_pool import Priority, WritePool, results


def bind_decided(
    cluster: Cluster,
    pool: WritePool,
    session: Session,
    result: CycleResult,
    *,
    rejected: Backoffs[Key],
    retries: BindRetries,
    reservations: GangReservations | None,
    blocked: Collection[str] = (),
) -> None:
    """Bind the pods that a cycle has decided to bind, those that waited for a shared device, and those whose bind failed.

    Args:
        cluster: The cluster.
        pool: The threads that write.
        session: The cycle.
        result: Receives what was bound.
        rejected: Receives the pod groups whose binding is rejected.
        retries: The binds that failed in earlier cycles; receives those that fail now.
        reservations: The gangs that wait for shared devices; None if pods do not share devices.
        blocked: Nodes with a device that is free in the cycle, but still allocated on the node; gangs with pods on them
            are bound in a later cycle.

    Raises:
        NotLeader: If this scheduler lost its lease.
    """
    gangs: dict[str, list[Placement]] = {
        job: [*placements] for job, placements in retries.due(cluster, session).items()
    }
    for task in session.decided.binds:
        # A later action may have chosen the pod as a victim: it is then pipelined at best.
        if task.status != BINDING:
            continue
        pod = cluster.get(POD, task.pod.namespace, task.pod.name)
        if pod is not None and pod["metadata"]["uid"] == task.uid:
            gangs.setdefault(task.job, []).append(Placement(task, pod, session.nodes.names[task.node]))
    failed: list[GangBinding] = []
    if reservations is not None:
        for job in [job for job, placements in gangs.items() if any(one.task.received_fraction for one in placements)]:
            retries.drop(job)
            reservations.hold(job, gangs.pop(job))
        for job in [job for job, placements in gangs.items() if any(one.node in blocked for one in placements)]:
            retries.add(gangs.pop(job))
        settled = reservations.settle(cluster, pool, session, blocked)
        failed = settled.failed
        result.unreserved += settled.postponed
        for job, ready in settled.ready.items():
            gangs.setdefault(job, []).extend(ready)
    for gang in (*failed, *bind_gangs(cluster, pool, gangs, session.jobs)):
        if gang.rejected is None:
            retries.add(one for one in gang.failed if reservations is None or not reservations.holds(one.task.uid))
        else:
            retries.drop(gang.job.uid)
            if reservations is not None:
                reservations.drop(gang.unbound)
        _conclude(cluster, pool, gang, rejected, result)


def group_of(job: Job) -> Key:
    """Return the namespace and the name of a job's pod group."""
    namespace, _, name = job.name.rpartition("/")
    return namespace or job.group.namespace, name


def _conclude(
    cluster: Cluster, pool: WritePool, gang: GangBinding, rejected: Backoffs[Key], result: CycleResult
) -> None:
    """Report the binds of a gang, and take it back if it is incomplete."""
    bound = [name_of(one.pod) for one in gang.bound]
    result.bound += bound
    result.latencies_s += [time.time() - one.task.pod.created for one in gang.bound if one.task.pod.created]
    namespace, group_name = group_of(gang.job)
    name = f"{namespace}/{group_name}"
    if bound:
        nodes = sorted({one.node for one in gang.bound})
        more = f" and {len(nodes) - 3} more" if len(nodes) > 3 else ""
        line = f"bound {counted(len(bound), 'pod')} of {name} to {', '.join(nodes[:3])}{more}"
        result.decisions.append(
            Decision(line, decision="bind", podGroup=name, queue=gang.job.queue, pods=len(bound), nodes=nodes)
        )
    result.refused += [f"{name}: {failure}" for failure in gang.failures]
    if gang.rejected is None:
        for placement in gang.bound:
            _report_bound(cluster, pool, placement)
        return
    why, event = gang.rejected, "BindingRejected"
    if gang.unreserved is not None:
        result.unreserved.append(ReservationFailure(gang.unreserved.cause, f"{name}: {why}"))
        event = "ReservationFailed"
    delay_s = rejected.reject((namespace, group_name), why)
    taken = [cluster.get(POD, task.pod.namespace, task.pod.name) for task in gang.taken_back]
    # A pod that waits for a shared device counts as bound in the cycle, but is not.
    back = [one for one in taken if one is not None and one["spec"].get("nodeName")]
    results([pool.submit(Priority.BIND, partial(evict_pod, cluster, one, result, "rollback")) for one in back])
    evicted = f"{counted(len(back), 'bound pod')} of the gang evicted; " if back or gang.unreserved is None else ""
    line = f"{name}: {why}; {evicted}next attempt in {delay_s:g} s"
    fields = {"podGroup": name, "queue": gang.job.queue, "pods": len(back)}
    if gang.unreserved is None:
        result.decisions.append(Decision(line, decision="rollback", **fields))
    else:
        result.decisions.append(Decision(line, decision="reservation-failed", **fields, cause=gang.unreserved.cause))
    for one in back:
        pool.note(("evicted", one["metadata"]["uid"]), partial(cluster.explain_eviction, one, why))
    group = cluster.get(POD_GROUP, namespace, group_name)
    if group is not None:
        pool.note(("bind", name), lambda: cluster.record(group, event, line, is_warning=True))


def _report_bound(cluster: Cluster, pool: WritePool, placement: Placement) -> None:
    pod = placement.pod
    text = f"Successfully assigned pod {name_of(pod)} to node {placement.node}"
    pool.note(("bound", pod["metadata"]["uid"]), partial(cluster.record, pod, "Scheduled", text))


def evict_pod(cluster: Cluster, pod: Manifest, result: CycleResult, action: str) -> None:
    """Evict a pod, and count it under an action, or record why the API server rejected it."""
    try:
        cluster.evict(pod)
        result.evicted.append(name_of(pod))
        result.actions.append(action)
    except (Refused, Unreachable) as failed:
        result.refused.append(f"{name_of(pod)}: {failed}")
