"""Shortcuts of the core's searches change no decision and no number."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion_runtime.core import cycle as core_cycle
from apportion_runtime.core.actions import consolidation, preempt, reclaim
from apportion_runtime.core.cycle import cycle, run_actions
from apportion_runtime.core.node_ranking import NodeRankings
from apportion_runtime.core.nodes import NodeTable
from apportion_runtime.core.resources import GpuRequest
from apportion_runtime.core.session import Session
from apportion_runtime.core.snapshot import Node, Pod, PodGroup, Queue, QueueResource, Settings, Snapshot, SubGroup
from apportion_runtime.core.solver import scenario_simulation, victim_search
from apportion_runtime.core.status import PENDING, RUNNING
from apportion_runtime.core.sub_groups import SubGroupSet

from .core_rounds import cycles, outcome, with_twins
from .core_strategies import Cluster, clusters

pytestmark = pytest.mark.property

_FREE = QueueResource(-1.0, -1.0, 1.0)
_ONE_GPU = GpuRequest(1, 1.0)
_REQUEST = {"cpu": 1000.0, "memory": 1e9, "pods": 1.0}


def _without_shortcuts(cluster: Cluster) -> Session:
    with (
        patch.object(SubGroupSet, "is_flat", False),
        patch.object(NodeTable, "_change_status_in_place", lambda table, task, i: False),
        patch.object(scenario_simulation, "_has_no_node", lambda session, scenario, nodes: False),
        patch.object(NodeRankings, "for_task", lambda rankings, task: None),
        _without_bounds(),
    ):
        return cycle(*cluster)


@contextmanager
def _without_bounds() -> Iterator[None]:
    with ExitStack() as stack:
        for action in (consolidation, preempt, reclaim):
            stack.enter_context(patch.object(action, "may_free_enough_gpus", lambda session, job, victims: True))
        yield


def _gangs() -> Cluster:
    """Return a full cluster: one queue uses all of it in gangs of eight, and gangs of the other request its half."""
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


def test_gang_is_tried_once_its_first_pod_fits() -> None:
    """One attempt for the first pod, and one for all eight."""
    with patch.object(victim_search, "simulate", wraps=victim_search.simulate) as tried:
        session = cycle(*_gangs())
    assert len(session.decided.pipelines) == 24
    assert tried.call_count == 2 * 3
    assert outcome(session) == outcome(_without_shortcuts(_gangs()))


@given(cluster=clusters())
def test_shortcuts_do_not_affect_decisions(cluster: Cluster) -> None:
    assert outcome(cycle(*cluster)) == outcome(_without_shortcuts(cluster))


@pytest.mark.slow
@settings(settings.get_profile("thorough"))
@given(cluster=clusters())
def test_shortcuts_do_not_affect_decisions_in_many_clusters(cluster: Cluster) -> None:
    assert outcome(cycle(*cluster)) == outcome(_without_shortcuts(cluster))


def _first_reasons(session: Session) -> dict[str, object]:
    return {uid: job.fit_errors[:1] for uid, job in session.jobs.items()}


def _check_ending_early(cluster: Cluster) -> None:
    """Ending an action when no remaining job can be allocated changes no decision and no first reason."""
    expected = cycle(*cluster)
    reasons = _first_reasons(expected)
    for is_asked in (False, True):
        session = Session(*cluster)
        session.reasons.are_brief = True
        session.reasons.report_filter = lambda job, asked=is_asked: asked
        run_actions(session)
        if is_asked:
            assert _first_reasons(session) == reasons
        for each in (session, expected):
            for job in each.jobs.values():
                job.fit_errors = []
        assert outcome(session) == outcome(expected)


def _selecting_no_node(cluster: Cluster, *, every: bool) -> Cluster:
    """Return the cluster with a selector that matches no node in pending pods: every one, or every second."""
    snapshot, known = cluster
    pods = [
        replace(pod, node_selector={"no": "node"}) if pod.status == PENDING and (every or number % 2) else pod
        for number, pod in enumerate(snapshot.pods)
    ]
    return replace(snapshot, pods=tuple(pods)), known


def _decided(cluster: Cluster) -> list[object]:
    """Return the decisions of several cycles whose reasons are not recorded, and the statuses of all pods."""
    return [outcome(session)[:4] for _, session in cycles(cluster, is_brief=True)]


def _check_futile_searches(cluster: Cluster) -> None:
    with patch.object(core_cycle, "may_find_victims", lambda session, actions: True):
        expected = _decided(cluster)
    assert _decided(cluster) == expected


@given(cluster=clusters(), n=st.integers(0, 2), every=st.booleans())
def test_futile_searches_do_not_affect_decisions(cluster: Cluster, n: int, every: bool) -> None:
    _check_futile_searches(_selecting_no_node(with_twins(cluster, n), every=every))


@pytest.mark.slow
@settings(settings.get_profile("thorough"))
@given(cluster=clusters(), n=st.integers(0, 2), every=st.booleans())
def test_futile_searches_do_not_affect_decisions_in_many_clusters(cluster: Cluster, n: int, every: bool) -> None:
    _check_futile_searches(_selecting_no_node(with_twins(cluster, n), every=every))


@pytest.mark.parametrize("size", ["small", "large"])
def test_gang_that_selects_no_node_starts_no_search(size: str) -> None:
    snapshot, known = _gangs()
    nodes = [replace(node, labels={"size": "small"}) for node in snapshot.nodes]
    pods = [replace(pod, node_selector={"size": size}) if pod.status == PENDING else pod for pod in snapshot.pods]
    session = Session(replace(snapshot, nodes=tuple(nodes), pods=tuple(pods)), known)
    session.reasons.are_brief = True
    with patch.object(victim_search, "simulate", wraps=victim_search.simulate) as tried:
        run_actions(session)
    assert (tried.call_count > 0) == (size == "small")


@pytest.mark.parametrize("gpus", [8, 9])
def test_reclaim_needs_victims_with_enough_gpus_on_one_node(gpus: int) -> None:
    """The other queue has eight GPUs on each node; a pod of another scheduler has those of a larger node."""
    snapshot, known = _gangs()
    pods = [
        replace(pod, gpu=GpuRequest(gpus, 1.0)) if pod.name.endswith("-0") else pod
        for pod in snapshot.pods
        if pod.status == RUNNING or pod.name.endswith("-0")
    ]
    groups = [replace(group, root=SubGroup("", None, (SubGroup("default", 1),))) for group in snapshot.pod_groups]
    large = Node("large", {"cpu": 64e3, "memory": 1e12, "gpu": 9.0, "pods": 99.0}, n_gpus=9)
    pods.append(
        Pod("other", "other", "b", None, RUNNING, "large", request=_REQUEST, gpu=GpuRequest(9, 1.0), scheduler="other")
    )
    asked = replace(snapshot, nodes=(*snapshot.nodes, large), pods=tuple(pods), pod_groups=tuple(groups))
    with patch.object(reclaim, "solve", wraps=victim_search.solve) as searched:
        session = cycle(asked, known)
    assert (searched.call_count > 0) == (gpus == 8) == bool(session.decided.evictions)


@given(cluster=clusters(), n=st.integers(0, 4))
def test_early_exit_does_not_affect_decisions(cluster: Cluster, n: int) -> None:
    _check_ending_early(with_twins(cluster, n))


@pytest.mark.slow
@settings(settings.get_profile("thorough"))
@given(cluster=clusters(), n=st.integers(0, 4))
def test_early_exit_does_not_affect_decisions_in_many_clusters(cluster: Cluster, n: int) -> None:
    _check_ending_early(with_twins(cluster, n))
