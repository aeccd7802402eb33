"""Pods that are packed use as few nodes as possible, and pods that are spread use all nodes alike."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion_policy import BINPACK, SPREAD, Placement

from .shared_clusters import N_NODES, UNITS_PER_NODE, Jobs, Team, simulated

pytestmark = pytest.mark.property

ENGINES = ("kai", "koordinator", "volcano", "yunikorn")


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=2)
@given(n_jobs=st.integers(1, N_NODES * UNITS_PER_NODE), is_packed=st.booleans())
def test_pods_are_packed_or_spread(engine: str, n_jobs: int, is_packed: bool) -> None:
    strategy = BINPACK if is_packed else SPREAD
    team = Team("team", N_NODES * UNITS_PER_NODE, jobs=(Jobs(n_jobs),))
    cluster = simulated(engine, (team,), placement=Placement(gpu=strategy, cpu=strategy))
    cluster.run()
    on_node = Counter(pod.record.node for pod in cluster.cluster.cluster_state.pods.values() if pod.is_bound)
    full, rest = divmod(n_jobs, UNITS_PER_NODE)
    packed = [UNITS_PER_NODE] * full + [rest] * bool(rest)
    spread = [(n_jobs + node) // N_NODES for node in range(N_NODES)]
    assert sorted(on_node.values()) == sorted(packed if is_packed else filter(None, spread))
