"""Pods that are examined from cycle to cycle are those of the whole cluster that may have to be grouped, whatever changes."""

from __future__ import annotations

import random

import pytest

from apportion_runtime.kube.cycle_result import CycleResult
from apportion_runtime.kube.pod_grouper import PodGrouper
from apportion_runtime.kube.pod_grouping import GroupedPods, GroupingScope, group_pods
from apportion_runtime.kube.shard_scope import shard_engine
from apportion_runtime.kube.write_pool import WritePool

from .memory_cluster import Memory
from .objects import pod, pod_group

STEPS = 60
OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": "uid-job"}


def _change(cluster: Memory, draw: random.Random) -> None:
    name, group = f"p{draw.randrange(6)}", f"g{draw.randrange(3)}"
    match draw.randrange(5):
        case 0:
            cluster.held.pop(("PodGroup", "team", group), None)
        case 1:
            cluster.held.pop(("Pod", "team", name), None)
        case 2:
            cluster.create(pod_group(group, "nlp", 1))
        case _:
            made = pod(name, "nlp", 1, **draw.choice(({}, {"pod-group-name": group})))
            made["status"]["phase"] = draw.choice(("Pending", "Pending", "Succeeded"))
            made["spec"]["schedulerName"] = draw.choice(("kai-scheduler", "kai-scheduler", "other"))
            made["metadata"]["ownerReferences"] = draw.choice(([], [OWNER]))
            cluster.held["Pod", "team", name] = made


@pytest.mark.parametrize("seed", range(20))
def test_kept_pods_are_those_of_the_whole_cluster(seed: int) -> None:
    cluster, kept, draw = Memory(), GroupedPods(), random.Random(seed)
    scopes = [GroupingScope(name, shard_engine(cluster, None)) for name in ("kai-scheduler", "other")]
    n_found = 0
    for _ in range(STEPS):
        for _ in range(draw.randrange(3)):
            _change(cluster, draw)
        scope = draw.choices(scopes, (9, 1))[0]
        grouper = PodGrouper(cluster, scope.scheduler)
        found = {one["metadata"]["name"]: one for one in kept.due(cluster, grouper, scope)}
        assert found == {one["metadata"]["name"]: one for one in GroupedPods().due(cluster, grouper, scope)}
        n_found += len(found)
    assert n_found > 5


def test_group_that_does_not_exist_is_read_once_while_a_pod_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, kept, read = Memory(pod("a", "nlp", 1, **{"pod-group-name": "mistyped"})), GroupedPods(), list[str]()

    def is_stored(kind: str, namespace: str, name: str) -> bool:
        read.append(name)
        return False

    monkeypatch.setattr(cluster, "is_stored", is_stored)
    scope = GroupingScope("kai-scheduler", shard_engine(cluster, None))
    pool = WritePool(1, read.append)
    for _ in range(3):
        (ungrouped,) = group_pods(cluster, pool, scope, kept, CycleResult()).values()
        assert ungrouped.why.startswith("pod group `mistyped` does not exist")
    assert read == ["mistyped"]
    cluster.create(pod_group("mistyped", "nlp", 1))
    assert not group_pods(cluster, pool, scope, kept, CycleResult())
    cluster.held.pop(("PodGroup", "team", "mistyped"))
    assert group_pods(cluster, pool, scope, kept, CycleResult())
    pool.stop()
    assert read == ["mistyped", "mistyped"]
