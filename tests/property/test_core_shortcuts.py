"""What the core leaves out of a search to be quick changes no decision and no number."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given, settings

from apportion_runtime.core.cycle import cycle
from apportion_runtime.core.nodes import NodeTable
from apportion_runtime.core.ranking import Rankings
from apportion_runtime.core.resources import GpuRequest
from apportion_runtime.core.session import Session
from apportion_runtime.core.snapshot import Node, Pod, PodGroup, Queue, QueueResource, Settings, Snapshot, SubGroup
from apportion_runtime.core.solver import search
from apportion_runtime.core.status import PENDING, RUNNING
from apportion_runtime.core.sub_groups import SubGroupSet

from .core_strategies import Cluster, clusters

pytestmark = pytest.mark.property

_FREE = QueueResource(-1.0, -1.0, 1.0)
_ONE_GPU = GpuRequest(1, 1.0)
_REQUEST = {"cpu": 1000.0, "memory": 1e9, "pods": 1.0}


def _outcome(session: Session) -> tuple[object, ...]:
    """What was decided, why jobs wait, and every number that a later action would have started from."""
    decided, nodes = session.decided, session.nodes
    return (
        [(task.uid, task.node, task.gpu_groups) for task in (*decided.binds, *decided.pipelines)],
        [(task.uid, node, str(why)) for task, node, why in decided.evictions],
        [str(taking) for taking in decided.takings],
        {job.uid: (job.fit_errors, {t.uid: t.status for t in job.tasks.values()}) for job in session.jobs.values()},
        {name: (queue.allocated, queue.allocated_np) for name, queue in session.shares.queues.items()},
        (nodes.idle.tolist(), nodes.releasing.tolist(), nodes.used.tolist()),
    )


def _without_shortcuts(cluster: Cluster) -> Session:
    with (
        patch.object(SubGroupSet, "is_flat", False),
        patch.object(NodeTable, "_turn", lambda table, task, i: False),
        patch.object(search, "_has_no_node", lambda session, scenario, nodes: False),
        patch.object(Rankings, "for_task", lambda rankings, task: None),
    ):
        return cycle(*cluster)


def _gangs() -> Cluster:
    """A full cluster: one queue holds all of it in gangs of eight, and gangs of the other ask for their half."""
    nodes = tuple(
        Node(f"n{i}", {"cpu": 64e3, "memory": 1e12, "gpu": 8.0, "pods": 99.0}, n_gpus=8, gpu_memory=80_000)
        for i in range(6)
    )
    queues = tuple(Queue(name, None, _FREE, _FREE, QueueResource(24.0, -1.0, 1.0)) for name in ("has", "wants"))
    groups: list[PodGroup] = []
    pods: list[Pod] = []
    for number in range(9):
        runs = number < len(nodes)
        name = f"gang-{number}"
        groups.append(
            PodGroup(name, name, "a", queues[not runs].name, 50, True, float(number), SubGroup("", None, (SubGroup("default", 8),)))
        )  # fmt: skip
        at = nodes[number].name if runs else None
        pods += (
            Pod(f"{name}-{i}", f"{name}-{i}", "a", name, RUNNING if runs else PENDING, at, request=_REQUEST, gpu=_ONE_GPU)
            for i in range(8)
        )  # fmt: skip
    return Snapshot(nodes, queues, tuple(groups), tuple(pods), now=100.0), Settings()


def test_a_gang_whose_first_pod_found_room_is_tried_as_a_whole() -> None:
    """One try for the first pod, and one for all eight."""
    with patch.object(search, "_simulate", wraps=search._simulate) as tried:
        session = cycle(*_gangs())
    assert len(session.decided.pipelines) == 24
    assert tried.call_count == 2 * 3
    assert _outcome(session) == _outcome(_without_shortcuts(_gangs()))


@given(cluster=clusters())
def test_shortcuts_change_nothing(cluster: Cluster) -> None:
    assert _outcome(cycle(*cluster)) == _outcome(_without_shortcuts(cluster))


@pytest.mark.slow
@settings(settings.get_profile("thorough"))
@given(cluster=clusters())
def test_shortcuts_change_nothing_in_many_clusters(cluster: Cluster) -> None:
    assert _outcome(cycle(*cluster)) == _outcome(_without_shortcuts(cluster))
