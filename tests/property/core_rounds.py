"""Cycles of a random cluster in a session that is kept between them, and what each of them comes to."""

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


def cycles(cluster: Cluster, *, is_brief: bool) -> Iterator[tuple[Snapshot, Session]]:
    """Yield for each cycle its snapshot and its session; in between, decisions are carried out and a job may leave.

    Args:
        cluster: What the first cycle starts from.
        is_brief: Whether nobody asks why jobs wait, so that actions end early.
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
