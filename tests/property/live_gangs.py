"""A random cluster of gangs for the live scheduler: pods with whole and shared GPUs, failing writes, lost nodes, restarts."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from tests.unit.runtime.kube.objects import INFERENCE, NOW, TRAIN, node, pod, pod_group, queue
from tests.unit.runtime.kube.sharing_pods import DEVICE, RESERVED, sharing

from apportion_runtime.kube.backoffs import Backoffs
from apportion_runtime.kube.bind_retries import BindRetries
from apportion_runtime.kube.cluster import Manifest, key_of
from apportion_runtime.kube.cycle_result import CycleResult
from apportion_runtime.kube.gang_reservations import GangReservations
from apportion_runtime.kube.gpu_reservation import ReservationSettings
from apportion_runtime.kube.scheduler import Rejections, Scheduling, run_cycle
from apportion_runtime.kube.victim_evictions import ProtectedVictims

from .live_cluster import OrderedWrites, StoredCluster

N_GPUS = 4
TEAM = "team"
_GRACE_S = 30


class _Cluster(StoredCluster):
    """A cluster whose evicted pods are deleted after their grace period."""

    now = NOW

    def evict(self, pod: Manifest, *, dry_run: bool = False) -> None:
        if dry_run:
            return
        self.fail("evict", pod["metadata"]["name"], is_budget=True)
        ends = datetime.fromtimestamp(self.now + _GRACE_S, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.save({**pod, "metadata": {**pod["metadata"], "deletionTimestamp": ends}})


class Gangs:
    """A cluster that changes at random, with the scheduler of its pods.

    Attributes:
        cluster: The cluster.
        minima: The number of pods that each gang requires.
        quiet_rounds: The number of rounds since pods were evicted.
    """

    def __init__(self, seed: int) -> None:
        self.cluster = _Cluster(seed)
        self.minima: dict[str, int] = {}
        self.quiet_rounds = 0
        self._draw = random.Random(seed)
        self._clock_s = 0.0
        self._pods: dict[str, dict[str, Any]] = {}
        nodes = (node(f"n{number}", N_GPUS) for number in range(self._draw.randint(1, 3)))
        queues = (queue(name, None, self._draw.choice((2, 4, 8))) for name in "ab")
        for made in (TRAIN, INFERENCE, *nodes, *queues):
            self.cluster.save(copy.deepcopy(made))
        self.restart()

    def restart(self) -> None:
        """Start another scheduler."""

        def clock() -> float:
            return self._clock_s

        self._pool = OrderedWrites()
        self._scheduling = Scheduling(
            self.cluster,
            self._pool,
            rejections=Rejections(Backoffs[Any](10, 300, clock), ProtectedVictims(Backoffs(10, 300, clock))),
            retries=BindRetries(clock),
            reservations=GangReservations(ReservationSettings("registry.example/reservation:v1"), clock),
        )

    def change(self) -> None:
        """Add gangs, delete pods and nodes, and choose which writes fail."""
        draw = self._draw
        for _ in range(draw.randint(0, 2)):
            self._add_gang()
        if draw.random() < 0.2 and (pods := list(self.pods())):
            self._recreate(draw.choice(pods))
        nodes = self.cluster.objects("Node")
        if draw.random() < 0.1 and len(nodes) > 1:
            self.cluster.store.drop("Node", key_of(draw.choice(nodes)))
        if draw.random() < 0.1:
            self.restart()
        self.cluster.failing = draw.choice((0.0, 0.0, 0.2, 0.5))

    def run(self, *, is_prompt: bool = False) -> CycleResult:
        """Run a cycle; other components react, all of them if prompt."""
        self.cluster.round += 1
        self._collect_garbage()
        result = run_cycle(self._scheduling, self.cluster.now)
        self._pool.write_notes()
        self.quiet_rounds = 0 if result.evicted else self.quiet_rounds + 1
        self._react(is_prompt=is_prompt)
        elapsed_s = 6.0 if is_prompt else self._draw.choice((0.5, 1.0, 1.0, 5.0, 20.0))
        self._clock_s += elapsed_s
        self.cluster.now += elapsed_s
        return result

    def pods(self, namespace: str = TEAM) -> Iterator[Manifest]:
        """Yield the pods of the gangs, or those that reserve devices."""
        yield from (one for one in self.cluster.objects("Pod") if one["metadata"]["namespace"] == namespace)

    def _add_gang(self) -> None:
        draw, name = self._draw, f"g{len(self.minima)}"
        size, in_queue, priority = draw.randint(1, 4), draw.choice("ab"), draw.choice(("train", "train", "inference"))
        self.minima[name] = draw.randint(1, size)
        group = pod_group(name, in_queue, self.minima[name])
        group["spec"]["priorityClassName"] = priority
        self.cluster.save(group)
        for number in range(size):
            of = {"pod-group-name": name}
            if draw.random() < 0.4:
                fraction = draw.choice(("0.3", "0.5", "0.7"))
                made = sharing(f"{name}-{number}", fraction, queue=in_queue, priority=priority, **of)
            else:
                made = pod(f"{name}-{number}", in_queue, draw.choice((1, 1, 2)), priority=priority, **of)
            del made["metadata"]["uid"]
            self._pods[made["metadata"]["name"]] = made
            self.cluster.save(copy.deepcopy(made))

    def _recreate(self, one: Manifest) -> None:
        self.cluster.store.drop("Pod", key_of(one))
        if one["metadata"]["namespace"] == TEAM:
            self.cluster.save(copy.deepcopy(self._pods[one["metadata"]["name"]]))

    def _collect_garbage(self) -> None:
        for one in self.cluster.objects("Pod"):
            name = one["spec"].get("nodeName")
            if name and self.cluster.get("Node", "", name) is None:
                self._recreate(one)

    def _react(self, *, is_prompt: bool) -> None:
        """Delete evicted pods and create them anew, start bound ones, and report reserved devices."""
        for one in (*self.pods(), *self.pods(RESERVED)):
            if "deletionTimestamp" in one["metadata"]:
                if is_prompt or self._draw.random() < 0.5:
                    self._recreate(one)
            elif one["metadata"]["namespace"] == RESERVED:
                if DEVICE not in one["metadata"].get("annotations", ()) and (is_prompt or self._draw.random() < 0.6):
                    device = {DEVICE: f"GPU-{one['metadata']['name']}"}
                    annotations = {**one["metadata"].get("annotations", {}), **device}
                    self.cluster.save({**one, "metadata": {**one["metadata"], "annotations": annotations}})
            elif one["spec"].get("nodeName") and (is_prompt or self._draw.random() < 0.3):
                self.cluster.save({**one, "status": {**one["status"], "phase": "Running"}})
