"""Random clusters on a real API server: the live scheduler runs the same pods on the same nodes as KAI Scheduler did.

They are the 200 clusters of tests/conformance/kai_convergence, except four in which pods are evicted: three depend on random uids,
and one is the difference that kai_convergence_runs.EXPLAINED lists. Those without evictions are slow tests. All of them run without a
control plane in tests/conformance/test_kai_convergence.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from tests.conformance.kai_convergence_runs import EXPLAINED, RecordedCluster, recorded_clusters

from apportion_runtime.kube.api_writer import ApiWriter, SingleScheduler
from apportion_runtime.kube.cluster_records import ClusterRecords
from apportion_runtime.kube.connection import connect
from apportion_runtime.kube.live_cluster import LiveCluster
from apportion_runtime.kube.object_cache import ObjectCache
from apportion_runtime.kube.scheduler import Scheduling, run_cycle
from apportion_runtime.kube.status_updates import StatusUpdates
from apportion_runtime.kube.write_pool import WritePool

from .kubectl import Kubectl, Object
from .namespaces import delete_with_namespaces, namespace
from .recorded_clusters import COLLECTIONS, NAMESPACE, RecordedShards, recorded_placements, shard_of

pytestmark = pytest.mark.e2e

UID_DEPENDENT = frozenset((34, 86, 384))
"""Clusters whose outcome depends on the uids of pods.

Of pods created in the same second, the scheduler evicts the one with the greatest uid, as KAI does; the API server draws
them at random.
"""
_N_EVICTING = 12
"""The number of cycles that were recorded of the clusters in which pods are evicted, and only of those."""
_EVICTIONS = "evictions"
_OTHERS = ("others-1", "others-2", "others-3", "others-4")
GROUPS = (_EVICTIONS, *(pytest.param(name, marks=pytest.mark.slow) for name in _OTHERS))
_LISTED_S = 120


def clusters_of(group: str) -> list[RecordedCluster]:
    """Return the clusters of a group, which run at the same time, each as a shard."""
    compared = [one for one in recorded_clusters() if one.seed not in UID_DEPENDENT and one.seed not in EXPLAINED]
    if group == _EVICTIONS:
        return [one for one in compared if len(one.running) == _N_EVICTING]
    others = [one for one in compared if len(one.running) != _N_EVICTING]
    return others[_OTHERS.index(group) :: len(_OTHERS)]


@pytest.fixture(params=GROUPS)
def clusters(request: pytest.FixtureRequest) -> Sequence[RecordedCluster]:
    return clusters_of(request.param)


@pytest.fixture
def on(kubectl: Kubectl, clusters: Sequence[RecordedCluster]) -> Iterator[RecordedShards]:
    made: list[Object] = [namespace(NAMESPACE)]
    try:
        assert kubectl.create(*made).accepted
        kubectl.must("wait", "--for=create", "serviceaccount/default", f"--namespace={NAMESPACE}", "--timeout=100s")
        yield RecordedShards(connect(str(kubectl.kubeconfig)), clusters)
    finally:
        for path in COLLECTIONS:
            kubectl.must("delete", "--raw", path)
        kubectl.must("delete", "priorityclasses", "--ignore-not-found", *clusters[0].cluster["classes"])
        delete_with_namespaces(kubectl, made)


def test_groups_hold_every_other_cluster_once() -> None:
    groups = [[one.seed for one in clusters_of(name)] for name in (_EVICTIONS, *_OTHERS)]
    assert [len(seeds) for seeds in groups] == [38, 40, 40, 39, 39]
    seeds = {one.seed for one in recorded_clusters()}
    assert {seed for group in groups for seed in group} == seeds - UID_DEPENDENT - EXPLAINED.keys()


def test_the_same_pods_run_as_under_kai(
    kubectl: Kubectl, clusters: Sequence[RecordedCluster], on: RecordedShards
) -> None:
    ((interval_s, n_cycles),) = {(one.interval_s, len(one.running)) for one in clusters}
    on.create()
    on.pass_time(0)
    failures: list[str] = []
    connection = connect(str(kubectl.kubeconfig))
    cache = ObjectCache(connection, on_fault=failures.append)
    cache.start(_LISTED_S)
    live = LiveCluster(cache, ApiWriter(connection, SingleScheduler()))
    kept = {shard_of(one): (ClusterRecords(), StatusUpdates()) for one in clusters}
    try:
        for cycle in range(n_cycles):
            leaving = on.terminating()
            pool = WritePool(8, failures.append)
            try:
                for shard, (records, statuses) in kept.items():
                    scheduling = Scheduling(live, pool, shard=shard, records=records, statuses=statuses)
                    result = run_cycle(scheduling, on.now)
                    assert (result.refused, result.faults) == ([], ())
            finally:
                pool.stop()
            on.carry_out(leaving)
            on.pass_time(interval_s)
            on.wait_for_watches(cache)
            assert failures == []
            wanted = {shard_of(one): recorded_placements(one, cycle) for one in clusters}
            assert on.placements() == wanted, f"after cycle {cycle}"
    finally:
        cache.stop()
