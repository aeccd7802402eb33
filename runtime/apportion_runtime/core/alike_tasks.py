"""Placing pods of one job that are alike, without a separate operation for each.

For whole devices, a pod of the same shape and constraints as the first is placed by the same ranking of nodes; only the
node that the pod before it was placed on is ranked again. The status of all is changed at the end, which nothing reads
in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from apportion_runtime.core.node_entry import Entry
from apportion_runtime.core.node_ranking import best_of
from apportion_runtime.core.nodes import Indices, NodeTable
from apportion_runtime.core.status import ALLOCATED
from apportion_runtime.core.task import REGULAR, Task

if TYPE_CHECKING:
    from apportion_runtime.core.session import Session
    from apportion_runtime.core.statement import Statement


def place_alike(session: Session, statement: Statement, nodes: Indices, tasks: Sequence[Task]) -> int:
    """Place the first of some pods of a job as long as each fits without waiting, and return how many were placed."""
    first, predicates, table = tasks[0], session.predicates, session.nodes
    if not _is_plain(first) or predicates.blocked(first) is not None:
        return 0
    ranking = session.rankings.for_task(first)
    if ranking is None:
        return 0
    job, mask = session.jobs[first.job], predicates.mask(first)
    placed: list[tuple[Task, int]] = []
    # Without limits and quotas, nothing reads the queue's charges in between.
    is_bounded = session.shares.is_bounded(job)
    for task in tasks:
        if task is not first and not _is_alike(task, first):
            break
        best = best_of(ranking, nodes, table.all)
        if best is None or not best[1]:
            break
        if is_bounded and predicates.over_capacity(task, job, best[0]) is not None:
            break
        task.mask = mask
        _charge(table, task, best[0])
        if is_bounded and session.keeps_shares:
            session.shares.charge(job, task, 1)
        placed.append((task, best[0]))
        ranking.update(table)
    if placed:
        if not is_bounded and session.keeps_shares:
            session.shares.charge_alike(job, first, len(placed))
        statement.note_allocated(job, placed)
    return len(placed)


def _charge(table: NodeTable, task: Task, i: int) -> None:
    task.received_fraction = False
    charged = task.accepted * table.tracked[i]
    table.entries[i][task.uid] = Entry(ALLOCATED, charged, (), 0, shares=False, accepted=task.accepted)
    table.used[i] += charged
    table.idle[i] -= charged
    table.changed.append(i)
    table.note_placed(task, i)


def _is_plain(task: Task) -> bool:
    pod = task.pod
    depends = pod.claims or pod.missing_claims or pod.missing_config_maps or pod.legacy_mig
    return task.kind == REGULAR and not (depends or task.claims or task.numa or task.wants_devices)


def _is_alike(task: Task, first: Task) -> bool:
    """Return whether the same nodes suit a pod as another; pods of one template share their constraints."""
    pod, other = task.pod, first.pod
    return (
        task.shape == first.shape
        and task.accepted is first.accepted
        and pod.node_selector is other.node_selector
        and pod.node_affinity is other.node_affinity
        and pod.tolerations is other.tolerations
        and pod.gpu is other.gpu
        and pod.nominated_node is None
        and _is_plain(task)
    )
