"""Cycles of a random cluster in a session that is kept between them, and what each of them comes to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from apportion_runtime.core.cycle import run_actions
from apportion_runtime.core.session import Session
from apportion_runtime.core.session_cache import ClusterInfo, SessionCache
from apportion_runtime.core.snapshot import Pod, Snapshot
from apportion_runtime.core.status import PENDING, RELEASING, RUNNING

from .core_strategies import Cluster

N_CYCLES = 3
_BETWEEN_CYCLES_S = 30.0


def outcome(session: Session) -> tuple[object, ...]:
    """What was decided, why jobs wait, and every number that a later action would have started from."""
    decided, nodes = session.decided, session.nodes
    return (
        [(task.uid, task.node, task.gpu_groups) for task in (*decided.binds, *decided.pipelines)],
        [(task.uid, node, str(why)) for task, node, why in decided.evictions],
        [str(taking) for taking in decided.eviction_sets],
        {job.uid: (job.fit_errors, {t.uid: t.status for t in job.tasks.values()}) for job in session.jobs.values()},
        {name: (queue.allocated, queue.allocated_np) for name, queue in session.shares.queues.items()},
        (nodes.idle.tolist(), nodes.releasing.tolist(), nodes.used.tolist()),
    )


def session_cache_of(cluster: Cluster) -> SessionCache:
    """A session cache with the records of a cluster."""
    snapshot, settings = cluster
    info = ClusterInfo(
        snapshot.nodes,
        snapshot.queues,
        snapshot.topologies,
        snapshot.claims,
        snapshot.devices,
        snapshot.device_classes,
    )
    cache = SessionCache(settings, info)
    for group in snapshot.pod_groups:
        cache.put_group(group)
    for pod in snapshot.pods:
        cache.put_pod(pod)
    return cache


def cycles(cluster: Cluster, *, is_brief: bool) -> Iterator[tuple[Snapshot, Session]]:
    """Yield for each cycle its snapshot and its session; in between, decisions are carried out and a job may leave.

    Args:
        cluster: What the first cycle starts from.
        is_brief: Whether nobody asks why jobs wait, so that actions end early.
    """
    cache, rng, now = session_cache_of(cluster), Random(0), cluster[0].now
    for _ in range(N_CYCLES):
        snapshot = cache.snapshot(now)
        session = cache.open(now)
        session.reasons.are_brief = is_brief
        session.reasons.report_filter = (lambda job: False) if is_brief else None
        yield snapshot, run_actions(session)
        _carry_out(cache, session)
        if cache.groups() and rng.random() < 0.5:
            cache.drop_group(rng.choice(list(cache.groups())))
        now += _BETWEEN_CYCLES_S


def _carry_out(cache: SessionCache, session: Session) -> None:
    """Have bound pods run and evicted ones leave; those that were leaving wait again."""
    left = [pod for group in cache.groups() for pod in cache.pods_of(group).values() if pod.status == RELEASING]
    for pod in left:
        cache.put_pod(replace(pod, status=PENDING, node=None, gpu_groups=(), numa_placement=()))
    for job in session.jobs.values():
        times = (job.last_start, job.last_eviction, job.stale_since)
        if times != (job.group.last_start, job.group.last_eviction, job.group.stale_since):
            start, eviction, stale = times
            cache.put_group(replace(job.group, last_start=start, last_eviction=eviction, stale_since=stale))
    for task in session.decided.binds:
        node = session.nodes.names[task.node]
        cache.put_pod(replace(task.pod, status=RUNNING, node=node, gpu_groups=task.gpu_groups))
    for task, _, _ in session.decided.evictions:
        if task.uid in cache.pods_of(task.job):
            cache.put_pod(replace(cache.pods_of(task.job)[task.uid], status=RELEASING))


def with_twins(cluster: Cluster, n: int) -> Cluster:
    """Return the cluster with `n` more of each job of one pod that waits, each younger than the one before."""
    snapshot, known = cluster
    by_group: dict[str, list[Pod]] = {}
    for pod in snapshot.pods:
        by_group.setdefault(pod.group or "", []).append(pod)
    groups, pods = list(snapshot.pod_groups), list(snapshot.pods)
    for number in range(n):
        for group in snapshot.pod_groups:
            own = by_group.get(group.uid, [])
            if len(own) != 1 or own[0].status != PENDING or own[0].claims:
                continue
            name = f"{group.name}-{number}"
            groups.append(replace(group, uid=name, name=name, created=group.created + 10.0 + number))
            pods.append(replace(own[0], uid=f"{name}-0", name=f"{name}-0", group=name))
    return replace(snapshot, pod_groups=tuple(groups), pods=tuple(pods)), known
