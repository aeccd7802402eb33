"""The models of what becomes of running work, and engines without one."""

from __future__ import annotations

import pytest

from apportion_compiler.engines.registry import ENGINES
from apportion_review.fates.cluster_state import cluster_states
from apportion_review.fates.engine_fates import engine_fates, has_fates


@pytest.mark.parametrize("engine", ENGINES)
def test_empty_cluster_has_no_fates(engine: str) -> None:
    assert has_fates(engine)
    found = engine_fates(engine, *cluster_states([], [], now=None))
    assert (found.engine, found.rows) == (engine, ())


def test_unknown_engine_has_no_fates() -> None:
    assert not has_fates("nomad")
