"""Cycles of a random cluster in a reused session, with the outcome of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from apportion_runtime.core.cycle import run_actions
from apportion_runtime.core.rounds import carry_out, session_cache_of
from apportion_runtime.core.session import Session
from apportion_runtime.core.snapshot import Pod, Snapshot
from apportion_runtime.core.status import PENDING

from .core_strategies import Cluster

N_CYCLES = 3
_BETWEEN_CYCLES_S = 30.0


def outcome(session: Session) -> tuple[object, ...]:
    """Return the decisions, the reasons of pending jobs, and every number that a later action would start from."""
    decided, nodes = session.decided, session.nodes
    return (
        [(task.uid, task.node, task.gpu_groups) for task in (*decided.binds, *decided.pipelines)],
        [(task.uid, node, str(why)) for task, node, why in decided.evictions],
        [str(taking) for taking in decided.eviction_sets],
        {job.uid: (job.fit_errors, {t.uid: t.status for t in job.tasks.values()}) for job in session.jobs.values()},
        {name: (list(queue.allocated), list(queue.allocated_np)) for name, queue in session.shares.queues.items()},
        (nodes.idle.tolist(), nodes.releasing.tolist(), nodes.used.tolist()),
    )


def cycles(cluster: Cluster, *, is_brief: bool) -> Iterator[tuple[Snapshot, Session]]:
    """Yield the snapshot and the session of each cycle; in between, decisions are applied and a job may end.

    Args:
        cluster: The initial cluster.
        is_brief: Whether reasons of pending jobs are not requested, so that actions end early.
    """
    cache, rng, now = session_cache_of(*cluster), Random(0), cluster[0].now
    for _ in range(N_CYCLES):
        snapshot = cache.snapshot(now)
        session = cache.open(now)
        session.reasons.are_brief = is_brief
        session.reasons.report_filter = (lambda job: False) if is_brief else None
        yield snapshot, run_actions(session)
        carry_out(cache, session)
        if cache.groups() and rng.random() < 0.5:
            cache.drop_group(rng.choice(list(cache.groups())))
        now += _BETWEEN_CYCLES_S


def with_twins(cluster: Cluster, n: int) -> Cluster:
    """Return the cluster with `n` copies of each pending job, each younger than the previous one."""
    snapshot, known = cluster
    by_group: dict[str, list[Pod]] = {}
    for pod in snapshot.pods:
        by_group.setdefault(pod.group or "", []).append(pod)
    groups, pods = list(snapshot.pod_groups), list(snapshot.pods)
    for number in range(n):
        for group in snapshot.pod_groups:
            own = by_group.get(group.uid, [])
            if not own or any(pod.status != PENDING or pod.claims for pod in own):
                continue
            name = f"{group.name}-{number}"
            groups.append(replace(group, uid=name, name=name, created=group.created + 10.0 + number))
            pods += (replace(pod, uid=f"{name}-{i}", name=f"{name}-{i}", group=name) for i, pod in enumerate(own))
    return replace(snapshot, pod_groups=tuple(groups), pods=tuple(pods)), known
