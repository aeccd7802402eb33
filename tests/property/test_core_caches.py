"""Values that the core caches between decisions or cycles equal recomputed ones (docs/scheduler.md, "Caches")."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from apportion_runtime.core import allocation, pending_classes, session_cache
from apportion_runtime.core.actions import allocate
from apportion_runtime.core.cycle import cycle
from apportion_runtime.core.explain.node_reasons import NodeReasons
from apportion_runtime.core.job import Job
from apportion_runtime.core.job_order import JobOrder
from apportion_runtime.core.node_ranking import NodeRankings
from apportion_runtime.core.nodes import NodeTable
from apportion_runtime.core.order_tree import OrderedQueue
from apportion_runtime.core.pending_classes import ClassOutcomes, PendingClasses
from apportion_runtime.core.plugins.predicates import Predicates
from apportion_runtime.core.queue_jobs import QueueJobs
from apportion_runtime.core.queue_keys import QueueKeys
from apportion_runtime.core.queue_share import QueueShare
from apportion_runtime.core.queue_totals import QueueTotals
from apportion_runtime.core.running_totals import RunningTotal
from apportion_runtime.core.session import Session
from apportion_runtime.core.session_cache import SessionCache
from apportion_runtime.core.shared_gpus import SharedGpus
from apportion_runtime.core.shares import Shares
from apportion_runtime.core.solver import failure_cache
from apportion_runtime.core.solver import scenario_simulation as simulation
from apportion_runtime.core.solver.search_state import SearchState
from apportion_runtime.core.solver.simulation_order import simulation_order, waiting_jobs
from apportion_runtime.core.task import Task

from .core_rounds import cycles, outcome, with_twins
from .core_strategies import Cluster, clusters

pytestmark = pytest.mark.property

# Shrinking a cluster takes minutes without output. The slow tests shrink the failures of these.
_FEW = settings(max_examples=12, phases=(Phase.explicit, Phase.reuse, Phase.generate))

_Patch = AbstractContextManager[Any]


class _Reads:
    """The number of reads of a disabled cache."""

    n = 0


def _forgetting(owner: object, name: str, forget: Callable[..., object]) -> _Patch:
    """Make a function, method or property clear its cache before it runs."""
    kept = vars(owner)[name]
    run = kept.fget if isinstance(kept, property) else kept
    assert run is not None

    def anew(*args: Any, **named: Any) -> Any:
        _Reads.n += 1
        forget(*args)
        return run(*args, **named)

    return patch.object(owner, name, property(anew) if isinstance(kept, property) else anew)


def _forgotten(**attributes: object) -> Callable[..., None]:
    """Return a function that resets attributes of its first argument."""

    def forget(owner: object, *_: object) -> None:
        for name, value in attributes.items():
            setattr(owner, name, value)

    return forget


def _masks(predicates: Predicates, task: Task) -> None:
    """Compare each cached mask with the recomputed one; masks are also keys, so cached ones are retained."""
    for key, kept in list(predicates._masks.items()):
        if isinstance(key, tuple) and len(key) > 2 and key == _mask_key(task):
            assert np.array_equal(kept, predicates._mask(task))
    if task.mask is not None:
        assert np.array_equal(task.mask, predicates._mask(task))


def _mask_key(task: Task) -> object:
    pod = task.pod
    return (
        task.kind, task.needs_gpu, pod.legacy_mig, pod.gpu.memory > 0, tuple(sorted(pod.node_selector.items())),
        pod.node_affinity, pod.tolerations,
    )  # fmt: skip


def _all_unclassified(_: PendingClasses, session: Session) -> None:
    session.active_jobs.unclassified = dict.fromkeys((*session.active_jobs.unclassified, *session.jobs))


def _all_active(session: Session) -> None:
    jobs = session.jobs
    session.active_jobs.pending = {uid: job for uid, job in jobs.items() if job.n_pending}


def _all_running_totals(totals: RunningTotal) -> None:
    totals._valid, totals._total = 0, None


def _shared_of_all() -> _Patch:
    read = NodeTable._read_shared

    def anew(nodes: NodeTable) -> object:
        _Reads.n += 1
        changed = nodes.changed
        nodes.changed, nodes._shared_at = list(range(len(nodes))), 0
        kept = read(nodes)
        nodes.changed, nodes._shared_at = changed, len(changed)
        return kept

    return patch.object(NodeTable, "_read_shared", anew)


def _divided(shares: Shares, *_: object) -> None:
    shares._divisions.clear()
    shares._asking = set(shares.queues)


def _never(owner: object, name: str, result: object) -> _Patch:
    """Make a function that takes a shortcut, if it can, return that it cannot."""

    def disabled(*_: object) -> object:
        _Reads.n += 1
        return result

    return patch.object(owner, name, disabled)


def _added_in_order() -> _Patch:
    return _never(QueueTotals, "_is_exact", False)


def _new_placing(order: JobOrder) -> None:
    order._pool.clear()
    order._kept.clear()


@contextmanager
def _each_search_anew() -> Iterator[None]:
    """Disable reuse of the order of victims and of the list of pending jobs between attempts.

    The engine itself skips scenarios that failed before (solvers/scenario_fingerprint.go).
    """

    def anew(session: Session, waiting: object, *others: Any) -> JobOrder:
        return simulation_order(session, waiting_jobs(session), *others)

    with (
        patch.object(SearchState, "order_of_victims", lambda state: state.victim_search.victims()),
        patch.object(simulation, "simulation_order", anew),
        _forgetting(simulation, "_place_all", lambda *_: None),
    ):
        yield


@contextmanager
def _all(*patches: _Patch) -> Iterator[None]:
    with ExitStack() as stack:
        for each in patches:
            stack.enter_context(each)
        yield


def _always_changed() -> _Patch:
    return patch.object(OrderedQueue, "is_changed", property(lambda queue: True, lambda queue, value: None))


OFF: dict[str, Callable[[], _Patch]] = {
    "active jobs": lambda: _forgetting(Session, "pending_jobs", _all_active),
    "confirmed binds": lambda: _never(Job, "confirm_binds", False),
    "bounds of queues": lambda: _forgetting(Shares, "is_bounded", lambda shares, _: shares._bounds.clear()),
    "class outcomes": lambda: _forgetting(ClassOutcomes, "_outcome", lambda left, _: left._outcomes.clear()),
    "exact fractions": lambda: _forgetting(QueueTotals, "_count", _forgotten(_orders_fractions=True)),
    "exact totals": _added_in_order,
    "fits empty node": lambda: _forgetting(
        Predicates, "fits_empty_node", lambda predicates, _: predicates._fits_empty.clear()
    ),
    "alike pods": lambda: _never(allocation, "place_alike", 0),
    "job key": lambda: _forgetting(Job, "order_key", _forgotten(_order_key=None)),
    "job quantities": lambda: _forgetting(Job, "allocated_quantities", _forgotten(_allocated_quantities=None)),
    "job readiness": lambda: _forgetting(Job, "is_ready", _forgotten(_is_ready=None)),
    "job requests": lambda: _forgetting(failure_cache, "_pending", _forgotten(asked=None)),
    "job signature": lambda: _all(
        _forgetting(failure_cache, "signature", _forgotten(constraints=None)),
        _forgetting(pending_classes, "signature", _forgotten(constraints=None)),
    ),
    "known requests": lambda: _forgetting(SessionCache, "put_pod", lambda cache, _: cache._known_requests.clear()),
    "masks": lambda: _forgetting(Predicates, "mask", _masks),
    "node entries": lambda: _forgetting(session_cache, "refill", lambda nodes, i, _: nodes.legacy_mig.add(i)),
    "changed node entries": lambda: _never(session_cache, "refill_some", False),
    "node ranking": lambda: _forgetting(NodeRankings, "for_task", lambda rankings, _: rankings._known.clear()),
    "node reasons": lambda: _all(
        _forgetting(NodeReasons, "_what_lacks", lambda reasons, _: reasons._kept.clear()),
        _forgetting(NodeReasons, "_static", lambda reasons, *_: reasons._codes.clear()),
    ),
    "accepted requests": lambda: _forgetting(NodeTable, "accept", lambda nodes, *_: nodes._accepted.clear()),
    "only pending job": lambda: _never(allocate, "_only_job", None),
    "pending classes": lambda: _forgetting(PendingClasses, "refresh", _all_unclassified),
    "queue jobs": lambda: _all(
        _forgetting(QueueJobs, "waiting", _forgotten(_waiting=None)),
        _forgetting(QueueJobs, "running", _forgotten(_running=None)),
    ),
    "queue keys": lambda: _all(
        _forgetting(QueueKeys, "with_request", lambda keys, share, _: share.keys.clear()),
        _forgetting(QueueKeys, "as_victim", lambda keys, share, _: _forgotten(victim_key=None)(share)),
        _forgetting(QueueKeys, "_of_victims", lambda keys, queue, _: _forgotten(key=None)(queue)),
        _always_changed(),
    ),
    "queue nodes": lambda: _forgetting(JobOrder, "cleared", _new_placing),
    "queue share": lambda: _forgetting(QueueShare, "allocatable", _forgotten(_allocatable=None)),
    "division": lambda: _forgetting(Shares, "divide", _divided),
    "recent shapes": lambda: _forgetting(Session, "open_task", lambda session, _: session._recent_shapes.clear()),
    "running totals": lambda: _all(_added_in_order(), _forgetting(RunningTotal, "total", _all_running_totals)),
    "search state": _each_search_anew,
    "shared devices": lambda: _forgetting(SharedGpus, "_rooms_by_id", _forgotten(_rooms=None)),
    "shared devices of nodes": _shared_of_all,
    "too large": lambda: _forgetting(
        Predicates, "_may_be_unresolvable", lambda predicates, _: predicates._too_large.clear()
    ),
}
"""Patches that disable each cache of the core."""


def _decided(cluster: Cluster) -> list[tuple[object, ...]]:
    return [outcome(session) for is_brief in (False, True) for _, session in cycles(cluster, is_brief=is_brief)]


def _check(cluster: Cluster, *names: str) -> None:
    expected = _decided(cluster)
    with _all(*(OFF[name]() for name in names)):
        assert _decided(cluster) == expected


@_FEW
@given(cluster=clusters(), n=st.integers(0, 3))
def test_decisions_do_not_depend_on_caches(cluster: Cluster, n: int) -> None:
    _check(with_twins(cluster, n), *OFF)


@pytest.mark.slow
@pytest.mark.parametrize("name", OFF)
def test_decisions_do_not_depend_on_caches_in_many_clusters(name: str) -> None:
    _Reads.n = 0

    @settings(settings.get_profile("thorough"), max_examples=40)
    @given(cluster=clusters(), n=st.integers(0, 3))
    def check(cluster: Cluster, n: int) -> None:
        _check(with_twins(cluster, n), name)

    check()
    assert _Reads.n > 0


def _texts_and_amounts(session: Session) -> tuple[object, ...]:
    """Return the outcome with texts instead of reasons, and with the amounts of queues."""
    places, evictions, *_, nodes = outcome(session)
    errors = {uid: [(error.reason, error.messages) for error in job.fit_errors] for uid, job in session.jobs.items()}
    statuses = {uid: {t.uid: t.status for t in job.tasks.values()} for uid, job in session.jobs.items()}
    queues = session.shares.queues.values()
    shares = {queue.name: (queue.fair, queue.allocated, queue.allocated_np, queue.request) for queue in queues}
    return places, evictions, errors, statuses, shares, nodes


def _check_kept_sessions(cluster: Cluster) -> None:
    for snapshot, session in cycles(cluster, is_brief=False):
        assert _texts_and_amounts(session) == _texts_and_amounts(cycle(snapshot, cluster[1]))


@_FEW
@given(cluster=clusters(), n=st.integers(0, 2))
def test_incremental_session_decides_as_a_new_session(cluster: Cluster, n: int) -> None:
    _check_kept_sessions(with_twins(cluster, n))


@pytest.mark.slow
@settings(settings.get_profile("thorough"), max_examples=300)
@given(cluster=clusters(), n=st.integers(0, 2))
def test_incremental_session_decides_as_a_new_session_in_many_clusters(cluster: Cluster, n: int) -> None:
    _check_kept_sessions(with_twins(cluster, n))
