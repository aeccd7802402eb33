"""The scenarios of seeds 000 and 001 run as under the real KAI Scheduler: see seeds/README.md."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.conformance.seed_live_run import live_cycles
from tests.conformance.seed_scenarios import (
    DecidedScenario,
    changes_of,
    cluster_of,
    comparable,
    cycles_of,
    decided_scenarios,
    states_of,
)

_SCENARIOS = pytest.mark.parametrize("decided", tuple(decided_scenarios()), ids=lambda decided: decided.example)


@_SCENARIOS
def test_recorded_scenario_is_that_of_the_example(decided: DecidedScenario) -> None:
    assert comparable(decided.scenario) == comparable(changes_of(decided.example))


@_SCENARIOS
def test_simulated_cluster_decides_as_kai(decided: DecidedScenario) -> None:
    """The same pods run after each change, on the same nodes and devices, and the same ones are evicted, at the same time."""
    found = list(cycles_of(cluster_of(decided.example).run()))
    assert [cycle.at_s for cycle in found] == [cycle.at_s for cycle in decided.cycles]
    assert list(states_of(decided.scenario, found)) == list(states_of(decided.scenario, decided.cycles))


@_SCENARIOS
def test_live_scheduler_decides_as_kai(decided: DecidedScenario) -> None:
    found = states_of(decided.scenario, live_cycles(decided.scenario))
    assert list(found) == list(states_of(decided.scenario, decided.cycles))


def test_scenarios_under_kai_share_devices_and_evict() -> None:
    n_bound: Counter[str] = Counter()
    n_shared: Counter[str] = Counter()
    n_evicted: Counter[str] = Counter()
    for one in decided_scenarios():
        for cycle in one.cycles:
            n_bound[one.example] += len(cycle.bound)
            n_shared[one.example] += sum(len(place) > 1 for place in cycle.bound.values())
            n_evicted[one.example] += len(cycle.evicted)
    assert n_bound == {"seed-000-kai-ray": 13, "seed-001-kai-vllm": 11}
    assert n_shared == {"seed-000-kai-ray": 9, "seed-001-kai-vllm": 0}
    assert n_evicted == {"seed-000-kai-ray": 5, "seed-001-kai-vllm": 4}
