"""Statuses that are calculated from cycle to cycle are those of the whole cluster, whatever changes."""

from __future__ import annotations

import random
from typing import Any

import pytest

from apportion_runtime.kube.cluster import key_of
from apportion_runtime.kube.object_store import ObjectStore
from apportion_runtime.kube.quantity_sums import texts
from apportion_runtime.kube.queue_status import RunningSums, group_sums, queue_sums
from apportion_runtime.kube.status_updates import StatusUpdate, StatusUpdates

from .api_server import merged
from .objects import added, node, pod, pod_group, priority_class, queue

STEPS = 40
Made = dict[str, Any]
_GPU_MEMORY = "nvidia.com/gpu.memory"


class Changes:
    """A cluster with random changes, as users, kubelets and controllers make them."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.store = ObjectStore()
        for made in (_node("n1"), priority_class("train", 50), queue("all", None, 8), queue("q0", "all", 8)):
            self.put(made)

    def put(self, made: Made) -> None:
        self.store.put(made["kind"], key_of(made), made)

    def set_status(self, one: StatusUpdate) -> None:
        before = self.store.of(one.kind)[one.namespace, one.name]
        self.put({**before, "status": merged(before.get("status") or {}, one.status)})

    def step(self) -> None:
        change = self.draw.choice(
            (self.put_pod, self.put_pod, self.put_group, self.put_queue, self.put_class, self.put_node, self.remove)
        )
        change()

    def put_pod(self) -> None:
        draw = self.draw
        annotations = draw.choice(
            ({}, {"gpu-fraction": "0.5"}, {"gpu-memory": "1024", "received-resource-type": "Fraction"})
        )
        made = pod(f"p{draw.randrange(6)}", "q0", draw.randrange(4), on=draw.choice((None, "n1")), **annotations)
        if (group := draw.choice((None, "g0", "g1", "g2"))) is not None:
            made["metadata"]["annotations"]["pod-group-name"] = group
        if draw.random() < 0.1:
            made["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "many"}
        if draw.random() < 0.3:
            made["spec"]["containers"][0]["resources"]["requests"]["memory"] = draw.choice(("1Gi", "1G"))
        self.put(made)

    def put_group(self) -> None:
        self.put_changed(pod_group(f"g{self.draw.randrange(3)}", f"q{self.draw.randrange(3)}", 1))

    def put_queue(self) -> None:
        name = self.draw.choice(("q0", "q1", "q2"))
        self.put_changed(queue(name, self.draw.choice((None, "all", "q0", "q1")), 8))

    def put_class(self) -> None:
        self.put(priority_class("train", self.draw.choice((50, 125))))

    def put_node(self) -> None:
        """Label a node whose pods may be older than it."""
        self.put(_node("n1", self.draw.choice(("4096", "8192", "unknown"))))

    def put_changed(self, made: Made) -> None:
        """Store an object with another spec; the status remains."""
        before = self.store.of(made["kind"]).get(key_of(made), {})
        self.put({**made, "status": before.get("status") or {}})

    def remove(self) -> None:
        one = self.draw.choice(self.store.objects())
        self.store.drop(one["kind"], key_of(one))


def _node(name: str, gpu_memory: str = "4096") -> Made:
    made = node(name, 8)
    return {**made, "metadata": {"name": name, "labels": {_GPU_MEMORY: gpu_memory}}}


def _updates(statuses: StatusUpdates, changes: Changes) -> dict[tuple[str, str], StatusUpdate]:
    return {(one.kind, one.name): one for one in statuses.of(changes.store.changes(statuses))}


@pytest.mark.parametrize("seed", range(20))
def test_kept_statuses_are_those_of_the_whole_cluster(seed: int) -> None:
    changes, kept = Changes(seed), StatusUpdates()
    n_updates = 0
    for _ in range(STEPS):
        changes.step()
        found = _updates(kept, changes)
        assert found == _updates(StatusUpdates(), changes)
        n_updates += len(found)
        if changes.draw.random() < 0.7:
            for update in found.values():
                changes.set_status(update)
            assert _updates(kept, changes) == {}
    assert n_updates > STEPS / 4


def test_order_of_objects_does_not_matter() -> None:
    annotations = {"gpu-memory": "1024", "received-resource-type": "Fraction", "pod-group-name": "g"}
    objects = [pod("p", "q", 0, on="n1", **annotations), pod_group("g", "q", 1), queue("q", None, 8), _node("n1")]
    for ordered in (objects, objects[::-1]):
        updates = {one.name: one.status for one in StatusUpdates().of([added(one) for one in ordered])}
        assert updates["q"]["allocated"] == {"nvidia.com/gpu": "250m"}


@pytest.mark.parametrize("seed", range(20))
def test_running_sums_are_those_of_all_pod_groups_by_name(seed: int) -> None:
    draw, kept, groups = random.Random(seed), RunningSums(), dict[tuple[str, str], Any]()
    # Without a second suffix and negative amounts, no order is needed.
    quantities = draw.choice((("0", "1Gi", "3Mi"), ("0", "2", "500m"), ("0", "1Gi", "1G", "-1Gi", "2")))
    for _ in range(STEPS):
        key = ("team", draw.choice("abcd"))
        if key in groups and draw.random() < 0.3:
            kept.drop(key)
            del groups[key]
        else:
            names = draw.sample(("memory", "cpu"), draw.randint(0, 2))
            groups[key] = group_sums({"requested": {name: draw.choice(quantities) for name in names}})
            kept.put(key, groups[key])
        assert list(map(texts, kept.total())) == list(map(texts, queue_sums([groups[key] for key in sorted(groups)])))
