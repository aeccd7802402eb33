"""The records of a Job's pods and of pod groups of one spec are those of reading each object by itself."""

from __future__ import annotations

from apportion_runtime.core.snapshot import PodGroup
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.scenario.reader import read_scenario

from .test_cluster import QUEUES

_SCENARIO = """
nodes: [{pool: gpu, count: 1, gpus: 4, cpu: 32, memory: 128Gi}]
workloads:
  - {name: a, kind: Job, queue: a, priority: train, pods: 3, gpus: 1, duration: 100s}
  - {name: b, kind: Job, queue: a, priority: train, pods: 2, gpus: 1, at: 1s, duration: 100s}
  - {name: c, kind: Job, queue: b, priority: build, pods: 2, gpus: 0.5, at: 2s, duration: 100s}
"""


def _arrived() -> Cluster:
    """Return the cluster in which every workload has arrived, and no cycle has run since the last one did."""
    cluster = Cluster(QUEUES, read_scenario(_SCENARIO, lambda name: []))
    while len(cluster.workloads.running) < 3:
        assert cluster.step()
    return cluster


def test_pods_of_a_job_have_the_records_of_their_objects() -> None:
    state = _arrived().cluster_state
    waiting = [pod for pod in state.pods.values() if not pod.is_bound]
    assert [pod.name for pod in waiting] == ["b-1", "c-0", "c-1"]
    for pod in waiting:
        made = state.store.get("Pod", pod.namespace, pod.name)
        assert made is not None
        assert pod.record == state.records.read_pod(made)


def test_pod_groups_of_one_spec_have_the_records_of_their_objects() -> None:
    state = _arrived().cluster_state
    groups = {group.uid: group for group in state.records.session_cache.groups().values()}
    assert len(groups) == 3
    for made in state.store.list("PodGroup"):
        known = groups[made["metadata"]["name"]]
        # With a status, the object is read by itself.
        read = state.records.put_group({**made, "status": {}})
        assert isinstance(read, PodGroup)
        assert read == known
