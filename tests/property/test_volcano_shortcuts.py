"""Simulations of Volcano take the same course with and without each shortcut of its actions, on clusters full of waiting work."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from apportion_runtime.engines.kube_scheduler.nodes import NodeState
from apportion_runtime.engines.volcano import eviction_actions, victims
from apportion_runtime.engines.volcano.amounts import Amounts
from apportion_runtime.engines.volcano.capacity import Capacity
from apportion_runtime.engines.volcano.future_places import FuturePlaces, ShapePlaces
from apportion_runtime.engines.volcano.job_index import JobIndex
from apportion_runtime.engines.volcano.jobs import Job, Task
from apportion_runtime.engines.volcano.model import MODEL as VOLCANO
from apportion_runtime.engines.volcano.node_ranking import is_candidate
from apportion_runtime.engines.volcano.reclaim_rules import reclaimable
from apportion_runtime.engines.volcano.running_tasks import RunningTasks
from apportion_runtime.engines.volcano.session import Session
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.scenario.format import Incident, NodeShape, Pool, Scenario, Work
from apportion_runtime.sim.scenario.workload_manifests import Size, WorkloadFields, manifest_of

from . import test_simulation_chaos_of_engines as chaos_of_engines

pytestmark = pytest.mark.property

_GPU = "nvidia.com/gpu"
_API = "scheduling.volcano.sh/v1beta1"
_DEVICES, _N_NODES, _N_QUEUES = 4, 5, 6
_N_STEPS = 700
_CONFIGURATIONS = (
    """
actions: "enqueue, allocate, backfill, preempt, reclaim"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}, {name: capacity, enableHierarchy: true}, {name: nodeorder}]
""",
    """
actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins: [{name: priority}, {name: conformance}]
- plugins: [{name: capacity, enableHierarchy: true}, {name: predicates}, {name: nodeorder}, {name: binpack}]
""",
    """
actions: "enqueue, preempt, allocate, reclaim, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}]
- plugins: [{name: capacity}, {name: predicates}, {name: resource-strategy-fit}]
""",
    """
actions: "reclaim, allocate, reclaim, allocate, backfill, preempt"
tiers:
- plugins: [{name: gang}, {name: priority}]
- plugins:
  - {name: predicates}
  - {name: capacity, enableHierarchy: true}
  - {name: nodeorder, arguments: {mostrequested.weight: 1}}
""",
)

_Patch = AbstractContextManager[Any]


@contextmanager
def _forgetful() -> Iterator[None]:
    on = RunningTasks.on

    def read_again(running: RunningTasks, node: NodeState) -> Any:
        running._known.clear()
        return on(running, node)

    def is_first_victim(capacity: Capacity, reclaimer: str, request: Amounts, victim: Task) -> bool:
        return bool(reclaimable(capacity, reclaimer, request, (victim,)))

    with (
        patch.object(RunningTasks, "on", read_again),
        patch.object(victims, "is_first_victim", is_first_victim),
        patch.object(ShapePlaces, "_score", lambda _, node, score: score(node)),
        patch.object(eviction_actions, "candidate_nodes", _candidates),
    ):
        yield


def _candidates(session: Session, task: Task) -> Iterator[NodeState]:
    return (node for node, status in session.filtered(task, session.nodes.all) if is_candidate(status))


OFF: dict[str, Callable[[], _Patch]] = {
    "places of a shape": lambda: patch.object(FuturePlaces, "of", lambda *_: None),
    "jobs beyond their minimum": lambda: patch.object(JobIndex, "has_surplus", lambda *_: True),
    "queues that may reclaim": lambda: patch.object(eviction_actions, "_may_reclaim", lambda *_: True),
    "nodes without victims": lambda: patch.object(eviction_actions, "has_victim", lambda *_: True),
    "known fit errors": lambda: patch.object(Job, "fit_error", Job._new_fit_error),
    "known pods, victims and scores": _forgetful,
}
"""Patches that disable each shortcut."""


@contextmanager
def _without(names: tuple[str, ...]) -> Iterator[None]:
    with ExitStack() as stack:
        for name in names:
            stack.enter_context(OFF[name]())
        yield


def _object(kind: str, name: str, api: str = _API, namespace: str = "", **more: Any) -> dict[str, Any]:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, "namespace": namespace}, **more}


def _objects(rng: random.Random, configuration: str) -> list[dict[str, Any]]:
    is_tree, has_bounds = "enableHierarchy" in configuration, rng.random() < 0.5
    found = [
        _object("PriorityClass", name, "scheduling.k8s.io/v1", value=value) for name, value in (("high", 9), ("low", 1))
    ]
    data = {"volcano-scheduler.conf": configuration}
    found.append(_object("ConfigMap", "volcano-scheduler-configmap", "v1", "volcano-system", data=data))
    if is_tree:
        found += [_object("Queue", f"d{i}", spec={"parent": "root", "deserved": {_GPU: 7}}) for i in range(3)]
    for i in range(_N_QUEUES):
        spec: dict[str, Any] = {"deserved": {_GPU: rng.randint(1, 4)}}
        if is_tree:
            spec["parent"] = f"d{i % 3}"
        if has_bounds and i % 2:
            spec["capability"] = {_GPU: rng.randint(4, 12), "cpu": 1000, "memory": "1000Gi"}
        if i == 1:
            spec["guarantee"] = {"resource": {_GPU: 1}}
        if i == 2:
            spec["reclaimable"] = False
        if rng.random() < 0.2:
            spec["priority"] = 5
        found.append(_object("Queue", f"q{i}", spec=spec))
    return found


def _work(rng: random.Random, number: int) -> Work:
    kind, n_pods = rng.choice(("Job", "Job", "Job", "Pod", "PyTorchJob", "RayCluster")), rng.choice((1, 1, 2, 3, 4, 6))
    short = WorkloadFields(
        kind, f"w{number:03}", "ns", f"q{min(_N_QUEUES - 1, int(rng.expovariate(0.6)))}", rng.choice(("high", "low", "")),
        Size(rng.choice(("1", "4", "8")), "2Gi", rng.choice((0, 1, 1, 2))), n_pods, rng.choice((None, n_pods, 1, 2)),
        workload_labels=VOLCANO.workload_labels,
    )  # fmt: skip
    runs_s = rng.uniform(100, 900)
    return Work(
        manifest_of(short),
        arrives_s=rng.uniform(0, 1500),
        work_s=None if kind == "RayCluster" else runs_s,
        lifetime_s=runs_s if kind == "RayCluster" else None,
        checkpoint_s=rng.choice((None, 0.0, 200.0)),
    )


def _cluster(seed: int) -> Cluster:
    rng = random.Random(seed)
    if rng.random() < 0.2:
        return chaos_of_engines._cluster(VOLCANO, seed)
    n_pods, grows = rng.choice(("6", "110")), rng.random() < 0.2
    shape = NodeShape({"zone": "a"}, {"cpu": "32", "memory": "128Gi", "pods": n_pods, _GPU: str(_DEVICES)})
    incidents = tuple(
        Incident(rng.uniform(0, 1500), rng.choice(("fails", "drains", "joins")), f"gpu-{rng.randint(0, 4):04}")
        for _ in range(rng.choice((0, 4)))
    )
    scenario = Scenario(
        pools=(Pool("gpu", shape, _N_NODES, _N_NODES - 2 * grows, _N_NODES),),
        works=tuple(_work(rng, number) for number in range(50)),
        incidents=incidents,
        until_s=4000.0,
    )
    refusing, refuses = random.Random(seed), rng.random() < 0.3
    return Cluster(
        _objects(rng, rng.choice(_CONFIGURATIONS)),
        scenario,
        VOLCANO,
        may_evict=lambda _: not refuses or refusing.random() < 0.8,
    )


def _course(seed: int) -> tuple[str, str]:
    """Return the history of a random cluster and its objects after some steps, byte for byte."""
    cluster = _cluster(seed)
    for _ in range(_N_STEPS):
        if not cluster.step():
            break
    objects = {kind: cluster.cluster_state.store.list(kind) for kind in ("Job", "Pod", "PodGroup")}
    return repr(cluster.finish()), repr(objects)


def _check(seed: int, *names: str) -> None:
    expected = _course(seed)
    with _without(names):
        assert _course(seed) == expected


@settings(max_examples=6)
@given(seed=st.integers(0, 10_000))
# Two actions `allocate` in a cycle: all pods of a role that failed in the first have its reason after the second.
@example(seed=464)
def test_volcano_does_not_depend_on_shortcuts(seed: int) -> None:
    _check(seed, *OFF)


@pytest.mark.slow
@pytest.mark.parametrize("name", OFF)
def test_volcano_does_not_depend_on_shortcuts_in_many_clusters(name: str) -> None:
    @settings(settings.get_profile("thorough"), max_examples=3)
    @given(seed=st.integers(0, 100_000))
    def check(seed: int) -> None:
        _check(seed, name)

    check()
