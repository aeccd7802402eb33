"""Records that are kept from cycle to cycle decide as a snapshot of the whole cluster does, whatever changes."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import pytest

from apportion_runtime.core.cycle import cycle
from apportion_runtime.core.explain.evictions import evictions
from apportion_runtime.core.session import Session
from apportion_runtime.core.status import BINDING
from apportion_runtime.snapshots.document_loader import LocatedObject
from apportion_runtime.snapshots.faults import ObjectLocation
from apportion_runtime.snapshots.kubernetes.reader import read_cluster

from .memory_cluster import Memory, run_cycle
from .objects import INFERENCE, NOW, TRAIN, node, pod, pod_group, queue

STEPS = 25
Made = dict[str, Any]
Placed = set[tuple[str, str]]


def _decisions(session: Session) -> tuple[Placed, set[str]]:
    bound = {
        (task.pod.name, session.nodes.names[task.node]) for task in session.decided.binds if task.status == BINDING
    }
    return bound, {told.name for told in evictions(session)}


def _of_snapshot(cluster: Memory, now: float) -> tuple[Placed, set[str]]:
    """Return the decisions on everything that the cluster has at this moment."""
    found = [LocatedObject(copy.deepcopy(dict(one)), ObjectLocation(0, 0)) for one in cluster.objects()]
    read = read_cluster(found, [], now=now, shard=None)
    return _decisions(cycle(read.snapshot, read.settings))


class Changes:
    """Random changes of a cluster, as users, kubelets and controllers make them."""

    def __init__(self, cluster: Memory, seed: int) -> None:
        self.cluster = cluster
        self.draw = random.Random(seed)
        self.count = 0

    def of(self, kind: str) -> list[Made]:
        return [dict(one) for one in self.cluster.objects() if one["kind"] == kind]

    def put(self, made: Made) -> None:
        self.cluster.held[self.cluster._key(made)] = made

    def remove(self, made: Made) -> None:
        del self.cluster.held[self.cluster._key(made)]

    def any_of(self, kind: str, wanted: Callable[[Made], bool] = lambda made: True) -> Made | None:
        found = [one for one in self.of(kind) if wanted(one)]
        return copy.deepcopy(self.draw.choice(found)) if found else None

    def add_gang(self) -> None:
        self.count += 1
        name, size = f"{self.draw.choice('abc')}-{self.count}", self.draw.randint(1, 4)
        group = pod_group(name, self.draw.choice(("nlp", "vision")), self.draw.randint(1, size))
        group["spec"]["priorityClassName"] = self.draw.choice(("train", "train", "inference"))
        # A pod may exist before its group.
        if self.draw.random() < 0.8:
            self.put(group)
        for number in range(size):
            gpus = self.draw.choice((0, 1, 1, 2))
            self.put(pod(f"{name}-{number}", "nlp", gpus, **{"pod-group-name": name}))

    def add_group(self) -> None:
        known = {made["metadata"]["name"] for made in self.of("PodGroup")}
        for made in self.of("Pod"):
            name = made["metadata"]["annotations"]["pod-group-name"]
            if name not in known:
                self.put(pod_group(name, "vision", 1))
                return

    def start_pods(self) -> None:
        for made in self.of("Pod"):
            if made["spec"].get("nodeName") and made["status"]["phase"] == "Pending":
                self.put({**made, "status": {"phase": "Running"}})

    def end_pod(self) -> None:
        if (made := self.any_of("Pod")) is None:
            return
        match self.draw.randrange(4):
            case 0:
                self.remove(made)
            case 1:
                self.put({**made, "status": {"phase": self.draw.choice(("Succeeded", "Failed"))}})
            case 2:
                made["metadata"]["deletionTimestamp"] = "2025-11-21T08:00:00Z"
                self.put(made)
            case _:
                # Recreated under its name.
                made["metadata"]["uid"] += "x"
                made["spec"].pop("nodeName", None)
                self.put({**made, "status": {"phase": "Pending"}})

    def move_pod(self) -> None:
        made, group = self.any_of("Pod"), self.any_of("PodGroup")
        if made is not None and group is not None:
            made["metadata"]["annotations"]["pod-group-name"] = group["metadata"]["name"]
            self.put(made)

    def change_group(self) -> None:
        if (made := self.any_of("PodGroup")) is None:
            return
        if self.draw.random() < 0.4:
            self.remove(made)
            return
        made["spec"]["minMember"] = self.draw.randint(1, 4)
        made["spec"]["queue"] = self.draw.choice(("nlp", "vision"))
        self.put(made)

    def change_node(self) -> None:
        made = self.any_of("Node")
        assert made is not None
        match self.draw.randrange(4):
            case 0:
                made["status"]["conditions"][0]["lastHeartbeatTime"] = f"{self.count}"
            case 1:
                made["spec"]["unschedulable"] = not made["spec"].get("unschedulable", False)
            case 2:
                made["status"]["allocatable"]["nvidia.com/gpu"] = str(self.draw.randint(2, 6))
            case _:
                self.count += 1
                made = node(f"n{self.count}", self.draw.randint(1, 4))
        self.put(made)

    def remove_node(self) -> None:
        if len(self.of("Node")) > 2 and (made := self.any_of("Node")) is not None:
            self.remove(made)

    def change_queue(self) -> None:
        made = self.any_of("Queue", lambda made: "parentQueue" in made["spec"])
        assert made is not None
        made["spec"]["resources"]["gpu"]["quota"] = self.draw.randint(0, 8)
        self.put(made)

    def make(self) -> None:
        usual = [self.add_gang] * 3 + [self.end_pod] * 3 + [self.start_pods] * 3
        rare = [self.add_group, self.move_pod, self.change_group, self.change_node, self.change_queue, self.remove_node]
        for change in self.draw.choices(usual + rare, k=self.draw.randint(0, 4)):
            change()


@pytest.mark.parametrize("seed", range(30))
def test_kept_records_decide_as_a_snapshot_of_the_cluster(seed: int) -> None:
    cluster = Memory(
        *(node(f"n{n}", 4) for n in range(3)),
        TRAIN,
        INFERENCE,
        queue("all", None, 12),
        queue("nlp", "all", 6),
        queue("vision", "all", 6, 8),
    )
    changes = Changes(cluster, seed)
    for step in range(STEPS):
        now = NOW + 10.0 * step
        changes.make()
        bound, evicted = _of_snapshot(cluster, now)
        before = {m["metadata"]["name"]: m["spec"].get("nodeName") for m in changes.of("Pod")}
        cluster.evicted.clear()
        result = run_cycle(cluster, now)
        placed = {
            (m["metadata"]["name"], m["spec"]["nodeName"])
            for m in changes.of("Pod")
            if m["spec"].get("nodeName") and before[m["metadata"]["name"]] is None
        }
        assert (step, placed, set(result.evicted)) == (step, bound, evicted)
        assert result.refused == []
        # As its controllers would: an evicted pod is recreated.
        for name in cluster.evicted:
            changes.put(pod(f"{name}r", "nlp", 1, **{"pod-group-name": f"{name.rpartition('-')[0]}"}))
