"""Decisions do not depend on the order of a cluster's objects."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion_runtime.core.cycle import cycle
from apportion_runtime.core.session import Session
from apportion_runtime.core.snapshot import Snapshot
from apportion_runtime.core.task import Task

from .core_strategies import QUARTERS, Cluster, clusters

pytestmark = pytest.mark.property


def _decisions(session: Session) -> tuple[object, ...]:
    """Return the decisions and the final node of every pod."""

    def placed(task: Task) -> tuple[object, ...]:
        return task.uid, task.status, session.nodes.names[task.node] if task.node >= 0 else None, task.gpu_groups

    decided = session.decided
    return (
        [placed(task) for task in decided.binds],
        [placed(task) for task in decided.pipelines],
        # The order in which a stale gang's pods are evicted is arbitrary.
        sorted((task.uid, node, str(why)) for task, node, why in decided.evictions),
        {task.uid: placed(task) for job in session.jobs.values() for task in job.tasks.values()},
    )


def _outcome(session: Session) -> tuple[object, ...]:
    """Return the placements, the pods that share a device, and the evicted pods, without their order.

    Among queues of equal rank the engine takes the first it meets in a map, and a device that becomes shared is named by
    when that happens.
    """
    decided = session.decided
    tasks = sorted((task for job in session.jobs.values() for task in job.tasks.values()), key=lambda task: task.uid)
    sharing: dict[str, list[str]] = {}
    for task in tasks:
        for group in task.gpu_groups if task.node >= 0 else ():
            sharing.setdefault(group, []).append(task.uid)
    return (
        {task.uid for task in decided.binds},
        {task.uid for task in decided.pipelines},
        sorted((task.uid, node, str(why)) for task, node, why in decided.evictions),
        [(task.uid, task.status, session.nodes.names[task.node] if task.node >= 0 else None) for task in tasks],
        sorted(sharing.values()),
    )


def _numbers(session: Session) -> tuple[object, ...]:
    """Return every number that a later action would start from."""
    nodes = session.nodes
    return (
        {name: (queue.fair, queue.allocated, queue.allocated_np) for name, queue in session.shares.queues.items()},
        nodes.idle.tolist(),
        nodes.releasing.tolist(),
        nodes.used.tolist(),
    )


@given(cluster=clusters())
def test_cycle_is_deterministic(cluster: Cluster) -> None:
    once, again = cycle(*cluster), cycle(*cluster)
    assert _decisions(once) == _decisions(again)
    assert _numbers(once) == _numbers(again)


@st.composite
def _shuffled(draw: st.DrawFn) -> tuple[Cluster, Snapshot]:
    # A limit is compared with a sum of floats, which the engine adds up in the order of a map.
    snapshot, how = draw(clusters(QUARTERS))
    # If only some jobs may be moved, the engine takes the first in map order, the core the first listed.
    how = replace(how, max_consolidation_preemptees=-1)
    return (snapshot, how), replace(
        snapshot,
        nodes=tuple(draw(st.permutations(snapshot.nodes))),
        queues=tuple(draw(st.permutations(snapshot.queues))),
        pods=tuple(draw(st.permutations(snapshot.pods))),
    )


@given(both=_shuffled())
def test_object_order_does_not_affect_decisions(both: tuple[Cluster, Snapshot]) -> None:
    """Every pod has the same node, and the same pods are evicted; the order of both is not compared."""
    (snapshot, how), shuffled = both
    assert _outcome(cycle(snapshot, how)) == _outcome(cycle(shuffled, how))


@pytest.mark.slow
@settings(settings.get_profile("thorough"))
@given(both=_shuffled())
def test_object_order_does_not_affect_decisions_in_many_clusters(both: tuple[Cluster, Snapshot]) -> None:
    (snapshot, how), shuffled = both
    assert _outcome(cycle(snapshot, how)) == _outcome(cycle(shuffled, how))


def _n_differing(n_examples: int) -> int:
    """Return how many of the clusters are decided differently if their jobs are listed in another order."""
    found: list[bool] = []

    @settings(settings.get_profile("thorough"), max_examples=n_examples)
    @given(cluster=clusters(QUARTERS), data=st.data())
    def check(cluster: Cluster, data: st.DataObject) -> None:
        snapshot, how = cluster[0], replace(cluster[1], max_consolidation_preemptees=-1)
        shuffled = replace(snapshot, pod_groups=tuple(data.draw(st.permutations(snapshot.pod_groups))))
        found.append(_outcome(cycle(snapshot, how)) != _outcome(cycle(shuffled, how)))

    check()
    return sum(found)


def test_job_order_rarely_affects_decisions() -> None:
    """As in the engine, which adds jobs to its heaps of queues in map order and re-sorts only their first element."""
    assert _n_differing(20) <= 1


@pytest.mark.slow
def test_job_order_rarely_affects_decisions_in_many_clusters() -> None:
    assert _n_differing(2_000) <= 4
