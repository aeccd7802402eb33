"""Successive cycles of one cluster, with their decisions carried out in between as on a real cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from apportion_runtime.core.cycle import run_actions
from apportion_runtime.core.search_limit import SearchLimit, SearchLimitExceededError
from apportion_runtime.core.session import Session
from apportion_runtime.core.session_cache import ClusterInfo, SessionCache
from apportion_runtime.core.snapshot import Settings, Snapshot
from apportion_runtime.core.status import PENDING, RELEASING, RUNNING


def session_cache_of(snapshot: Snapshot, settings: Settings) -> SessionCache:
    """Return a session cache with the records of a snapshot."""
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


def rounds(
    snapshot: Snapshot, settings: Settings, n: int, interval_s: float, limit: SearchLimit | None = None
) -> Iterator[Session]:
    """Yield the session of each of `n` cycles; bound pods run in the next one, and evicted ones wait again after it.

    Stops early if the passage of time changes nothing: no job is pending, and no gang runs with fewer pods than its
    minimum. With a limit, it also stops after the cycle whose searches exceed it; that cycle has the decisions made
    before.
    """
    cache, now = session_cache_of(snapshot, settings), snapshot.now
    for _ in range(n):
        session = cache.open(now)
        session.search_limit = limit
        try:
            run_actions(session)
        except SearchLimitExceededError:
            yield session
            return
        yield session
        decided = session.decided
        has_decided = bool(decided.binds or decided.pipelines or decided.evictions)
        if not has_decided and not session.pending_jobs() and not any(job.is_stale for job in session.jobs.values()):
            return
        carry_out(cache, session)
        now += interval_s


def carry_out(cache: SessionCache, session: Session) -> None:
    """Set bound pods to running and evicted ones to releasing; those that were releasing become pending again."""
    left = [pod for group in cache.groups() for pod in cache.pods_of(group).values() if pod.status == RELEASING]
    for pod in left:
        cache.put_pod(replace(pod, status=PENDING, node=None, gpu_groups=(), numa_placement=()))
    for job in session.jobs.values():
        if job.has_new_times:
            start, eviction, stale = job.last_start, job.last_eviction, job.stale_since
            cache.put_group(replace(job.group, last_start=start, last_eviction=eviction, stale_since=stale))
    for task in session.decided.binds:
        node = session.nodes.names[task.node]
        cache.put_pod(replace(task.pod, status=RUNNING, node=node, gpu_groups=task.gpu_groups))
    for task, _, _ in session.decided.evictions:
        if task.uid in cache.pods_of(task.job):
            cache.put_pod(replace(cache.pods_of(task.job)[task.uid], status=RELEASING))
