"""Invariants of Kubernetes and Volcano: no pod is lost, no node overcommitted, no quota or queue over its limit."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from apportion_runtime.engines.base.model import Model
from apportion_runtime.engines.native.model import MODEL as NATIVE
from apportion_runtime.engines.volcano.model import MODEL as VOLCANO
from apportion_runtime.sim.api.events import ObjectDeleted
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.invariants import broken
from apportion_runtime.sim.scenario.format import Demand, Incident, NodeShape, Pool, Scaling, Scenario, Timing, Work
from apportion_runtime.sim.scenario.workload_manifests import Size, WorkloadFields, manifest_of
from apportion_runtime.snapshots.pod_requests import pod_requests

pytestmark = pytest.mark.property
_KINDS = ("Pod", "Job", "Deployment", "RayCluster", "PyTorchJob", "MPIJob", "LeaderWorkerSet")
_GPU = "nvidia.com/gpu"
_QUOTA = 5
_BOUND = 6
_SCHEDULING = "scheduling.volcano.sh/v1beta1"


def _shape(zone: str) -> NodeShape:
    return NodeShape({"zone": zone}, {"cpu": "32", "memory": "128Gi", "pods": "20", _GPU: "4"})


def _class(name: str, value: int) -> dict[str, Any]:
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}


def _named(api: str, kind: str, name: str, namespace: str = "", **more: Any) -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **more}


_CLASSES = (_class("high", 100), _class("low", 10))
_AUTOSCALER = _named(
    "autoscaling/v2", "HorizontalPodAutoscaler", "served", "ns0",
    spec={
        "scaleTargetRef": {"kind": "Deployment", "name": "served"}, "minReplicas": 1, "maxReplicas": 6,
        "metrics": [{"type": "Pods", "pods": {"metric": {"name": "m"}, "target": {"averageValue": "80"}}}],
    },
)  # fmt: skip
_NATIVE = (
    *_CLASSES,
    _AUTOSCALER,
    _named("v1", "ResourceQuota", "gpus", "ns0", spec={"hard": {f"requests.{_GPU}": str(_QUOTA), "pods": "9"}}),
)
_CONF = """
actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins:
  - {name: priority}
  - {name: gang}
  - {name: conformance}
  - {name: capacity, enableHierarchy: true}
  - {name: predicates}
  - {name: nodeorder}
"""
_BOUNDS: tuple[dict[str, Any], ...] = (
    {"capability": {_GPU: str(_BOUND)}}, {}, {"guarantee": {"resource": {_GPU: "2"}}}
)  # fmt: skip
_VOLCANO = (
    *_CLASSES,
    _AUTOSCALER,
    _named("v1", "ConfigMap", "volcano-scheduler-configmap", "volcano-system", data={"volcano-scheduler.conf": _CONF}),
    _named(_SCHEDULING, "Queue", "top", spec={"deserved": {_GPU: "8"}}),
    *(
        _named(_SCHEDULING, "Queue", f"q{i}", spec={"parent": "top", "deserved": {_GPU: str(2 * i)}, **bound})
        for i, bound in enumerate(_BOUNDS)
    ),
)


def _work(rng: random.Random, model: Model, number: int) -> Work:
    kind = "Deployment" if number == 0 else rng.choice(_KINDS)
    served = number == 0
    short = WorkloadFields(
        kind, "served" if served else f"w{number:02}", f"ns{0 if served else rng.randint(0, 1)}",
        "" if model is NATIVE else f"q{rng.randint(0, 2)}", rng.choice(("high", "low", "")),
        Size("1", "2Gi", rng.choice((0, 1, 1, 2))), rng.randint(1, 4), rng.choice((None, 1, 2)),
        rng.choice((None, Size("1", "1Gi"))), workload_labels=model.workload_labels,
    )  # fmt: skip
    arrives = rng.uniform(0, 3000)
    services = kind in ("Deployment", "LeaderWorkerSet", "RayCluster")
    scales = kind == "Deployment" and not served and rng.random() < 0.5
    return Work(
        manifest_of(short),
        arrives_s=arrives,
        work_s=None if services else rng.uniform(100, 1500),
        lifetime_s=rng.uniform(500, 3000) if services else None,
        startup_s=rng.choice((0.0, 60.0)),
        checkpoint_s=rng.choice((None, 0.0, 200.0)),
        scalings=(Scaling(arrives + 300, rng.randint(0, 5)),) if scales else (),
        demand=(Demand(arrives, 60.0), Demand(arrives + 300, rng.uniform(100, 900))) if served else (),
    )


def _cluster(model: Model, seed: int) -> Cluster:
    rng = random.Random(seed)
    grows = rng.random() < 0.5
    pools = [
        Pool(f"gpu-{zone}", _shape(zone), 2, 1 if grows else 2, 3 if grows else 2, scale_up_s=120, idle_s=300)
        for zone in "ab"
    ]
    nodes = [f"gpu-{zone}-{i:04}" for zone in "ab" for i in range(3)]
    incidents = [
        Incident(rng.uniform(0, 4000), rng.choice(("fails", "drains", "joins")), rng.choice(nodes)) for _ in range(6)
    ]
    scenario = Scenario(
        pools=tuple(pools),
        works=tuple(_work(rng, model, number) for number in range(14)),
        incidents=tuple(incidents),
        timing=Timing(period_s=rng.choice((1.0, 15.0)), node_lost_s=100.0),
        until_s=8000.0,
    )
    refusing = random.Random(seed + 1)
    objects = _NATIVE if model is NATIVE else _VOLCANO
    return Cluster(objects, scenario, model, may_evict=lambda _: refusing.random() < 0.7)


def _over_bounds(cluster: Cluster, model: Model) -> Iterator[str]:
    """Yield namespaces or queues above their quota or limit."""
    cluster_state = cluster.cluster_state
    held: Counter[str] = Counter()
    for pod in cluster_state.pods.values():
        made = cluster_state.store.get("Pod", pod.namespace, pod.name)
        assert made is not None
        gpus = pod_requests(made["spec"]).get(_GPU, 0)
        if model is NATIVE:
            held[pod.namespace] += gpus
        elif pod.is_bound and not pod.leaving:
            held[cluster_state.history.workloads[pod.workload].queue] += gpus
    name, bound = ("ns0", _QUOTA) if model is NATIVE else ("q0", _BOUND)
    if held[name] > bound:
        yield f"{name} holds {held[name]} devices and may hold {bound}"


@pytest.mark.parametrize("model", [NATIVE, VOLCANO], ids=lambda model: model.name)
@pytest.mark.parametrize("seed", range(3))
def test_invariants_hold_after_every_event(model: Model, seed: int) -> None:
    """Nodes fail, drain and come back; evictions are refused; objects are deleted mid-flight."""
    cluster = _cluster(model, seed)
    rng = random.Random(seed)
    n_events = 0
    while cluster.step():
        n_events += 1
        cluster_state = cluster.cluster_state
        found = broken(cluster_state, cluster.workloads.running, cluster.engine.starts_together)
        assert found == [], f"event {n_events} at {cluster_state.elapsed_s}"
        assert list(_over_bounds(cluster, model)) == []
        if n_events % 25 == 0:
            there = cluster_state.store.list(rng.choice(("Pod", "Pod", "Pod", "Job", "RayCluster", "Deployment")))
            if there:
                metadata = rng.choice(there)["metadata"]
                kind = rng.choice(there)["kind"]
                cluster_state.events.plan(
                    cluster_state.now, ObjectDeleted(kind, metadata.get("namespace", ""), metadata["name"])
                )
    history = cluster.finish()
    assert n_events > 100
    assert sum(facts.started_s is not None for facts in history.workloads) >= 2


@pytest.mark.parametrize("model", [NATIVE, VOLCANO], ids=lambda model: model.name)
def test_simulation_is_deterministic(model: Model) -> None:
    """The result depends only on the scenario."""
    facts = [json.dumps([fact.document() for fact in _cluster(model, 3).run().facts]) for _ in range(2)]
    assert facts[0] == facts[1]
