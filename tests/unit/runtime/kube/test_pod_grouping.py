"""Pods that are examined from cycle to cycle are those of the whole cluster that may have to be grouped, whatever changes."""

from __future__ import annotations

import random

import pytest

from apportion_runtime.kube.pod_grouper import PodGrouper
from apportion_runtime.kube.pod_grouping import GroupedPods, GroupingScope
from apportion_runtime.kube.shard_scope import shard_engine

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
