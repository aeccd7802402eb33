"""kube-scheduler and Volcano select the same nodes without rankings of nodes, which examine only those that changed."""

from __future__ import annotations

import random
from dataclasses import asdict
from typing import Any

import pytest

from apportion_runtime.engines.base.model import Model
from apportion_runtime.engines.kube_scheduler.node_ranking import NodeRankings
from apportion_runtime.engines.native.model import MODEL as NATIVE
from apportion_runtime.engines.volcano.model import MODEL as VOLCANO
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.history import History
from apportion_runtime.sim.scenario.format import Incident, NodeShape, Pool, Scenario, Timing, Work
from apportion_runtime.sim.scenario.workload_manifests import Size, WorkloadFields, manifest_of

pytestmark = pytest.mark.property
_GPU = "nvidia.com/gpu"
_VOLCANO = """
actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins:
  - {name: priority}
  - {name: gang}
  - {name: capacity, enableHierarchy: true}
  - {name: predicates}
  - {name: nodeorder}
  - {name: binpack}
"""
_CONFIGURATION = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "volcano-scheduler-configmap", "namespace": "volcano-system"},
    "data": {"volcano-scheduler.conf": _VOLCANO},
}


def _class(name: str, value: int) -> dict[str, Any]:
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}


def _shape(rng: random.Random, zone: str) -> NodeShape:
    resources = {"cpu": str(rng.choice((16, 32))), "memory": "128Gi", "pods": str(rng.choice((4, 20))), _GPU: "4"}
    return NodeShape({"zone": zone}, resources)


def _work(rng: random.Random, model: Model, number: int) -> Work:
    short = WorkloadFields(
        rng.choice(("Job", "Job", "PyTorchJob", "Deployment")), f"w{number:03}", f"ns{rng.randint(0, 1)}", "",
        rng.choice(("high", "low", "")), Size(rng.choice(("1", "4")), "2Gi", rng.choice((0, 1, 2, 4))), rng.randint(1, 9),
        workload_labels=model.workload_labels,
    )  # fmt: skip
    return Work(manifest_of(short), arrives_s=rng.uniform(0, 900), work_s=rng.uniform(100, 900), lifetime_s=1500.0)


def _history(model: Model, seed: int, n_nodes: int, n_works: int) -> History:
    rng = random.Random(seed)
    pools = tuple(Pool(f"gpu-{zone}", _shape(rng, zone), n_nodes, n_nodes, n_nodes) for zone in "ab")
    incidents = tuple(
        Incident(rng.uniform(0, 1500), rng.choice(("fails", "drains", "joins")), f"gpu-a-{rng.randint(0, 3):04}")
        for _ in range(6)
    )
    works = tuple(_work(rng, model, number) for number in range(n_works))
    scenario = Scenario(pools=pools, works=works, incidents=incidents, timing=Timing(period_s=1.0), until_s=4000.0)
    return Cluster([_class("high", 100), _class("low", 10), _CONFIGURATION], scenario, model).run()


@pytest.mark.parametrize("model", [NATIVE, VOLCANO], ids=lambda model: model.name)
@pytest.mark.parametrize(("seed", "n_nodes", "n_works"), [(1, 3, 25), (2, 5, 40), (3, 52, 50)])
def test_rankings_do_not_affect_a_simulation(
    model: Model, seed: int, n_nodes: int, n_works: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranked = _history(model, seed, n_nodes, n_works)
    monkeypatch.setattr(NodeRankings, "of", lambda self, pod, profile: None)
    plain = _history(model, seed, n_nodes, n_works)
    assert ranked.facts == plain.facts
    assert asdict(ranked) == asdict(plain)
    assert ranked.stays
