"""The live scheduler, the simulation and the real KAI Scheduler end with the same running pods: see kai_convergence/README.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise

import pytest
from tests.conformance.kai_convergence_runs import EXPLAINED, RecordedCluster, recorded_clusters, simulated_run
from tests.conformance.live_run import live_run


def differences(clusters: Iterable[RecordedCluster]) -> Iterator[tuple[int, str]]:
    """Yield each cycle after which other pods run, or on other nodes, than after the real scheduler's, and its cluster."""
    for one in clusters:
        for which, run in (("simulated", simulated_run(one)), ("live", live_run(one))):
            for cycle, (found, wanted) in enumerate(zip(run, one.running, strict=True)):
                if found != wanted:
                    unlike = f"KAI {sorted(wanted - found)}, {which} {sorted(found - wanted)}"
                    yield one.seed, f"cluster {one.seed}, cycle {cycle}: {unlike}"


def test_same_pods_run_in_sample_of_clusters() -> None:
    assert list(differences(list(recorded_clusters())[::25])) == []


@pytest.mark.slow
def test_same_pods_run_in_all_clusters() -> None:
    found = list(differences(recorded_clusters()))
    assert [told for seed, told in found if seed not in EXPLAINED] == []
    assert {seed for seed, _ in found} == EXPLAINED.keys()


def test_record_has_two_hundred_clusters_with_binds_and_evictions() -> None:
    clusters = list(recorded_clusters())
    assert len({one.seed for one in clusters}) == 200
    happens: Counter[str] = Counter()
    for one in clusters:
        assert one.running[-1] == one.running[-2], f"cluster {one.seed} is not at rest"
        initially = {
            (f"{name}-{number}", pod["node"])
            for name, gang in one.cluster["gangs"].items()
            for number, pod in enumerate(gang["pods"])
            if "node" in pod
        }
        states = (initially, *one.running)
        happens["started"] += any(after - before for before, after in pairwise(states))
        happens["evicted"] += any(before - after for before, after in pairwise(states))
        happens["started later"] += any(after - before for before, after in pairwise(one.running))
    assert happens == {"started": 142, "evicted": 42, "started later": 40}
