"""Properties after a cycle, for any cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings

from .core_invariants import (
    Outcome,
    evictions_have_a_reason,
    gangs_start_whole,
    guarantees_bound_what_cannot_be_taken_back,
    limits_hold,
    minimum_runtimes_hold,
    no_node_is_over_capacity,
    nodes_hold_what_they_say,
    pods_stand_where_they_say,
    queues_hold_what_their_pods_hold,
    run,
    shares_fit_where_guarantees_do,
)
from .core_strategies import Cluster, clusters

pytestmark = pytest.mark.property

RULES: tuple[Callable[[Outcome], Iterator[str]], ...] = (
    nodes_hold_what_they_say,
    pods_stand_where_they_say,
    no_node_is_over_capacity,
    gangs_start_whole,
    queues_hold_what_their_pods_hold,
    limits_hold,
    guarantees_bound_what_cannot_be_taken_back,
    evictions_have_a_reason,
    minimum_runtimes_hold,
    shares_fit_where_guarantees_do,
)


def _wrong(cluster: Cluster) -> list[str]:
    outcome = run(*cluster)
    return [f"{rule.__name__}: {what}" for rule in RULES for what in rule(outcome)]


@given(cluster=clusters())
def test_invariants_hold_after_a_cycle(cluster: Cluster) -> None:
    assert _wrong(cluster) == []


@pytest.mark.slow
@settings(settings.get_profile("thorough"))
@given(cluster=clusters())
def test_invariants_hold_after_a_cycle_in_many_clusters(cluster: Cluster) -> None:
    assert _wrong(cluster) == []
