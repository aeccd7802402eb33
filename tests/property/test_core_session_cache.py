"""A reused session decides like a new one, regardless of the changes in between."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from apportion_runtime.core.cycle import cycle, run_actions
from apportion_runtime.core.resources import GpuRequest
from apportion_runtime.core.session import Session
from apportion_runtime.core.session_cache import ClusterInfo, SessionCache
from apportion_runtime.core.snapshot import Node, Pod, PodGroup, Queue, QueueResource, Settings, SubGroup
from apportion_runtime.core.status import NAMES, PENDING, RELEASING, RUNNING, SUCCEEDED
from apportion_runtime.core.task import NO_NODE

pytestmark = pytest.mark.property
_FREE = QueueResource(-1.0, -1.0, 1.0)
_SIZES = (
    GpuRequest(1, 1.0), GpuRequest(2, 1.0), GpuRequest(1, 0.5), GpuRequest(1, 0.7), GpuRequest(1, 0.1),
    GpuRequest(1, 0.0, 20_000),
)  # fmt: skip


def _fixtures(rng: random.Random) -> ClusterInfo:
    nodes = tuple(
        Node(
            f"node-{n}",
            {"cpu": 64_000.0, "memory": 5e11, "gpu": 4.0, "pods": 110.0},
            gpu_memory=80_000,
            n_gpus=4,
            labels={"zone": "ab"[n % 2]},
        )
        for n in range(rng.randint(2, 5))
    )
    queues = [Queue("top", None, _FREE, _FREE, QueueResource(4.0 * len(nodes), -1.0, 1.0))]
    queues += [
        Queue(f"q{i}", "top", _FREE, _FREE, QueueResource(float(rng.randint(0, 6)), -1.0, 1.0), created=float(i))
        for i in range(3)
    ]
    return ClusterInfo(nodes, tuple(queues))


class _World:
    """A cluster with random events."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.session_cache = SessionCache(Settings(), _fixtures(self.rng))
        self.n = 0
        self.now = 100.0

    def arrive(self) -> None:
        rng = self.rng
        self.n += 1
        name = f"g{self.n:03}"
        size = rng.randint(1, 4)
        priority = rng.choice((50, 50, 75, 125))
        root = SubGroup("", None, (SubGroup("default", rng.randint(1, size)),))
        self.session_cache.put_group(
            PodGroup(name, name, "ns", f"q{rng.randint(0, 3)}", priority, priority < 100, self.now, root)
        )
        gpu = rng.choice(_SIZES)
        selector = {"zone": "a"} if rng.random() < 0.2 else {}
        for i in range(size):
            self.session_cache.put_pod(
                Pod(
                    f"{name}-{i}", f"{name}-{i}", "ns", name, request={"cpu": 1000.0, "memory": 1e9, "pods": 1.0},
                    gpu=gpu, created=self.now, node_selector=selector,
                )
            )  # fmt: skip

    def leave(self) -> None:
        gone = self.rng.choice(list(self.session_cache.groups()))
        self.session_cache.drop_group(gone)

    def other(self) -> None:
        self.n += 1
        node = self.rng.choice(self.session_cache.cluster_info.nodes).name
        self.session_cache.put_pod(
            Pod(f"other-{self.n}", "other", "kube-system", None, RUNNING, node, request={"cpu": 500.0, "pods": 1.0},
                scheduler="default-scheduler")
        )  # fmt: skip

    def toggle_node(self) -> None:
        known = self.session_cache.cluster_info
        i = self.rng.randrange(len(known.nodes))
        node = replace(known.nodes[i], unschedulable=not known.nodes[i].unschedulable)
        self.session_cache.set_cluster_info(replace(known, nodes=(*known.nodes[:i], node, *known.nodes[i + 1 :])))

    def end_some(self) -> None:
        for group in list(self.session_cache.groups()):
            for pod in list(self.session_cache.pods_of(group).values()):
                if pod.status == RELEASING and self.rng.random() < 0.7:
                    self.session_cache.put_pod(replace(pod, status=PENDING, node=None, gpu_groups=()))
                elif pod.status == RUNNING and self.rng.random() < 0.1:
                    self.session_cache.put_pod(replace(pod, status=SUCCEEDED, node=None, gpu_groups=()))

    def apply(self, session: Session) -> None:
        for task in session.decided.binds:
            job = session.jobs[task.job]
            self.session_cache.put_group(replace(job.group, last_start=job.last_start))
            self.session_cache.put_pod(
                replace(task.pod, status=RUNNING, node=session.nodes.names[task.node], gpu_groups=task.gpu_groups)
            )
        for task, _, _ in session.decided.evictions:
            self.session_cache.put_pod(replace(task.pod, status=RELEASING))


def _decided(session: Session) -> dict[str, Any]:
    names = session.nodes.names
    return {
        "binds": [(t.uid, names[t.node], t.gpu_groups) for t in session.decided.binds],
        "waits": [(t.uid, names[t.node]) for t in session.decided.pipelines],
        "evictions": [(t.uid, names[n], str(why)) for t, n, why in session.decided.evictions],
        "shares": {q.name: (q.fair, q.allocated, q.allocated_np, q.request) for q in session.shares.queues.values()},
        "pods": {u: (NAMES[t.status], t.node != NO_NODE) for j in session.jobs.values() for u, t in j.tasks.items()},
        "notes": {uid: [str(e) for e in job.fit_errors] for uid, job in session.jobs.items()},
    }


def _check_shares(world: _World) -> None:
    """A session in which no action will run has the shares of a new session."""
    anew = Session(world.session_cache.snapshot(world.now), world.session_cache.settings)
    again = world.session_cache.open(world.now, decides=False)
    assert _decided(again)["shares"] == _decided(anew)["shares"]


@pytest.mark.parametrize("is_brief", [False, True], ids=["all reasons", "no reasons"])
@pytest.mark.parametrize("seed", range(5))
def test_reopened_session_equals_a_new_session(seed: int, is_brief: bool) -> None:
    """No decision, share or reason depends on leftovers of previous cycles."""
    world = _World(seed)
    things = [world.arrive] * 6 + [world.leave, world.other, world.toggle_node]
    n_bound = 0
    for step in range(25):
        for _ in range(world.rng.randint(0, 3)):
            thing = world.rng.choice(things)
            if thing != world.leave or world.session_cache.groups():
                thing()
        world.end_some()
        world.now += 10.0
        if world.rng.random() < 0.5:
            _check_shares(world)
            world.end_some()
        anew = cycle(world.session_cache.snapshot(world.now), world.session_cache.settings)
        again = world.session_cache.open(world.now)
        again.reasons.are_brief = is_brief
        again.reasons.report_filter = (lambda job: False) if is_brief else None
        run_actions(again)
        left_out = {"notes"} if is_brief else set()
        found, expected = _decided(again), _decided(anew)
        assert {key: found[key] for key in found.keys() - left_out} == {
            key: expected[key] for key in expected.keys() - left_out
        }, f"step {step}"
        n_bound += len(again.decided.binds)
        world.apply(again)
    assert n_bound > 10
