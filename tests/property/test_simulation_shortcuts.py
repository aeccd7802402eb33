"""Simulations take the same course with and without the shortcuts: pods of one job, unchanged records, pending classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion_runtime.core.session import Session
from apportion_runtime.core.session_cache import SessionCache
from apportion_runtime.core.snapshot import Pod
from apportion_runtime.core.status import SUCCEEDED
from apportion_runtime.engines.kai.engine import Kai
from apportion_runtime.engines.kube_scheduler.class_cycle import ClassCycles
from apportion_runtime.engines.native.model import MODEL as NATIVE
from apportion_runtime.sim.api.events import EventQueue
from apportion_runtime.sim.api.object_store import ObjectStore
from apportion_runtime.sim.api.pod_templates import PodTemplates
from apportion_runtime.sim.api.scheduler_records import Records
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.controllers.job_groupings import JobGroupings

from . import test_simulation_chaos as chaos
from . import test_simulation_chaos_of_engines as chaos_of_engines

pytestmark = pytest.mark.property

_Patch = AbstractContextManager[Any]


def _planned_alone() -> _Patch:
    def join(events: EventQueue, at: float, kind: Callable[[list[Any]], Any], member: Any) -> None:
        events.plan(at, kind([member]))

    return patch.object(EventQueue, "join", join)


def _read_at_once() -> _Patch:
    def put_succeeded(records: Records, pod: Pod) -> None:
        records.set_pod(pod.in_state(SUCCEEDED, None, (), pod.nominated_node))

    return patch.object(Records, "put_succeeded", put_succeeded)


def _always_charged() -> _Patch:
    run = SessionCache.open

    def charged(cache: SessionCache, now: float, *, decides: bool = True) -> Session:
        return run(cache, now)

    return patch.object(SessionCache, "open", charged)


OFF: dict[str, Callable[[], _Patch]] = {
    "alike pods": lambda: patch.object(Kai, "create_like", lambda *_: None),
    "groups of Jobs": lambda: patch.object(JobGroupings, "_job_of", lambda *_: None),
    "groups of similar Jobs": lambda: patch.object(JobGroupings, "new_group", lambda *_: None),
    "cycles after binds": lambda: patch.object(SessionCache, "only_binds_changed", lambda *_: False),
    "joint events": _planned_alone,
    "templates of pods": lambda: patch.object(PodTemplates, "record_of", lambda *_: None),
    "outdated nodes": _always_charged,
    "patches of statuses": lambda: patch.object(ObjectStore, "set_status", ObjectStore.patch_status),
    "succeeded pods": _read_at_once,
}
"""Patches that disable each shortcut."""


@contextmanager
def _without(names: tuple[str, ...]) -> Iterator[None]:
    with ExitStack() as stack:
        for name in names:
            stack.enter_context(OFF[name]())
        yield


def _course(seed: int, kinds: tuple[str, ...]) -> tuple[str, ...]:
    """Return the history of a random cluster and its objects in the end, byte for byte."""
    with patch.object(chaos, "_KINDS", kinds):
        cluster: Cluster = chaos._cluster(seed)
    history, state = cluster.run(), cluster.cluster_state
    state.records.open(state.now)
    objects = {kind: state.store.list(kind) for kind in ("Job", "Pod", "PodGroup", "RayCluster")}
    return repr(history), repr(objects), repr(state.records.session_cache.snapshot(state.now).pods)


def _check(seed: int, kinds: tuple[str, ...], *names: str) -> None:
    expected = _course(seed, kinds)
    with _without(names):
        assert _course(seed, kinds) == expected


@settings(max_examples=8)
@given(seed=st.integers(0, 10_000), only_jobs=st.booleans())
def test_simulations_do_not_depend_on_shortcuts(seed: int, only_jobs: bool) -> None:
    _check(seed, ("Job",) if only_jobs else chaos._KINDS, *OFF)


@pytest.mark.slow
@pytest.mark.parametrize("name", OFF)
def test_simulations_do_not_depend_on_shortcuts_in_many_clusters(name: str) -> None:
    @settings(settings.get_profile("thorough"), max_examples=60)
    @given(seed=st.integers(0, 100_000), only_jobs=st.booleans())
    def check(seed: int, only_jobs: bool) -> None:
        _check(seed, ("Job",) if only_jobs else chaos._KINDS, name)

    check()


def _check_classes(seed: int) -> None:
    expected = repr(chaos_of_engines._cluster(NATIVE, seed).run())
    with patch.object(ClassCycles, "is_exact", False):
        assert repr(chaos_of_engines._cluster(NATIVE, seed).run()) == expected


@settings(max_examples=8)
@given(seed=st.integers(0, 10_000))
def test_kubernetes_does_not_depend_on_visits_of_classes(seed: int) -> None:
    _check_classes(seed)


@pytest.mark.slow
@settings(settings.get_profile("thorough"), max_examples=200)
@given(seed=st.integers(0, 100_000))
def test_kubernetes_does_not_depend_on_visits_of_classes_in_many_clusters(seed: int) -> None:
    _check_classes(seed)
