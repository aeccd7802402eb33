"""Invariants under ACK: no quota exceeds its max, accounts are consistent, no gang is partly started."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from apportion_runtime.engines.ack.engine import Ack
from apportion_runtime.engines.ack.model import MODEL as ACK
from apportion_runtime.sim.api.events import ObjectDeleted
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.invariants import broken
from apportion_runtime.sim.scenario.format import Incident, NodeShape, Pool, Scenario, Timing, Work
from apportion_runtime.sim.scenario.workload_manifests import Size, WorkloadFields, manifest_of
from apportion_runtime.snapshots.pod_requests import pod_requests

pytestmark = pytest.mark.property
_KINDS = ("Job", "Job", "RayJob", "RayJob", "PyTorchJob", "MPIJob", "Pod", "Deployment")
_GPU = "nvidia.com/gpu"
_SHAPE = NodeShape({}, {"cpu": "32", "memory": "128Gi", "pods": "20", _GPU: "4"})
_SPACES = ("a", "b", "interns", "other", "nowhere")


def _node(name: str, least: int, most: int, *children: dict[str, Any], jobs: int = 50) -> dict[str, Any]:
    made: dict[str, Any] = {
        "name": name,
        "min": {"cpu": least * 8, _GPU: least},
        "max": {"cpu": most * 8, _GPU: most, "kube-queue/max-jobs": jobs},
    }
    return {**made, "children": list(children)} if children else {**made, "namespaces": [name]}


def _queue(path: str, policy: str) -> dict[str, Any]:
    notes = {"kube-queue/quota-fullname": path}
    metadata = {"name": f"own-{policy.lower()}", "namespace": "kube-queue", "annotations": notes}
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "Queue",
        "metadata": metadata,
        "spec": {"queuePolicy": policy},
    }


def _class(name: str, value: int) -> dict[str, Any]:
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}


_OBJECTS = (
    {
        "apiVersion": "scheduling.sigs.k8s.io/v1beta1",
        "kind": "ElasticQuotaTree",
        "metadata": {"name": "elasticquotatree", "namespace": "kube-system"},
        "spec": {
            "root": _node(
                "root", 16, 16,
                _node("team", 12, 14, _node("a", 6, 10), _node("b", 4, 8), _node("interns", 0, 8, jobs=2)),
                _node("other", 4, 16),
            )
        },
    },
    _queue("root/team/a", "Block"),
    _queue("root/team/b", "Priority"),
    _class("high", 100),
    _class("low", 10),
)  # fmt: skip


def _work(rng: random.Random, number: int) -> Work:
    kind = rng.choice(_KINDS)
    labels = {"quota.scheduling.alibabacloud.com/preemptible": "false"} if rng.random() < 0.2 else {}
    short = WorkloadFields(
        kind, f"w{number:02}", rng.choice(_SPACES), "", rng.choice(("high", "low", "")),
        Size("1", "2Gi", rng.choice((0, 1, 1, 2))), rng.randint(1, 5), None, Size("1", "1Gi"), labels=labels,
        workload_labels=ACK.workload_labels,
    )  # fmt: skip
    services = kind == "Deployment"
    return Work(
        manifest_of(short),
        arrives_s=rng.uniform(0, 2500),
        work_s=None if services else rng.uniform(100, 1500),
        lifetime_s=rng.uniform(500, 3000) if services else None,
        startup_s=rng.choice((0.0, 60.0)),
        checkpoint_s=rng.choice((None, 0.0, 200.0)),
        cancelled_s=rng.choice((None, None, 900.0)),
    )


def _cluster(seed: int) -> Cluster:
    rng = random.Random(seed)
    works = tuple(_work(rng, number) for number in range(24))
    nodes = [f"gpu-{i:04}" for i in range(4)]
    incidents = [
        Incident(rng.uniform(0, 4000), rng.choice(("fails", "drains", "joins")), rng.choice(nodes)) for _ in range(5)
    ]
    for work in rng.sample(works, 10):
        metadata = work.manifest["metadata"]
        named = ("", metadata["namespace"], metadata["name"])
        priority = rng.choice((None, 5, 50))
        incidents.append(Incident(work.arrives_s + rng.uniform(0, 200), "priority", object=named, priority=priority))
    grows = rng.random() < 0.5
    scenario = Scenario(
        pools=(Pool("gpu", _SHAPE, 3, 2 if grows else 3, 4 if grows else 3, scale_up_s=120, idle_s=300),),
        works=works,
        incidents=tuple(incidents),
        timing=Timing(period_s=rng.choice((1.0, 15.0)), node_lost_s=100.0, requeue_s=rng.choice((None, 120.0))),
        until_s=8000.0,
    )
    refusing = random.Random(seed + 1)
    return Cluster(_OBJECTS, scenario, ACK, may_evict=lambda _: refusing.random() < 0.7)


def _wrong(cluster: Cluster) -> Iterator[str]:
    """Yield violations of quotas and queues, computed from the objects."""
    engine, cluster_state = cluster.engine, cluster.cluster_state
    assert isinstance(engine, Ack)
    used: dict[str, Counter[str]] = {path: Counter() for path in engine.tree.quotas}
    for pod in cluster_state.pods.values():
        made = cluster_state.store.get("Pod", pod.namespace, pod.name)
        assert made is not None
        path = engine.tree.quota_of(made)
        if pod.is_bound and path is not None:
            for each in engine.tree.upward(path):
                used[each.path].update(pod_requests(made["spec"]))
    for path, quota in engine.tree.quotas.items():
        if any(used[path][name] > quota.maximum.get(name, 10**18) for name in ("cpu", _GPU)):
            yield f"{path} uses {dict(used[path])} and may use {quota.maximum}"
        known = {name: amount for name, amount in engine.scheduler.members.used[path].items() if amount}
        if known != {name: amount for name, amount in used[path].items() if amount}:
            yield f"{path} uses {dict(used[path])}, and the scheduler believes {known}"
    queued = {number for queue in engine.queue.job_queues.queues.values() for number in queue.units}
    for number, running in cluster.workloads.running.items():
        if not running.outcome and number in queued and not running.is_suspended:
            yield f"workload {number} is in a queue, and runs"
    for path, amounts in engine.queue.job_queues.accounts.used.items():
        if any(amount < 0 for amount in amounts.values()):
            yield f"kube-queue's account of {path} is {amounts}"
    for path, count in engine.queue.asked.items():
        asked = sum(
            unit.demand.get(_GPU, 0)
            for queue in engine.queue.job_queues.queues.values()
            for unit in queue.units.values()
            if any(each.path == path for each in engine.tree.upward(unit.quota))
        )
        if asked != count:
            yield f"the jobs in the queues of {path} ask for {asked} devices, and {count} are noted"


@pytest.mark.parametrize("seed", [1, 2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 10))])
def test_invariants_hold_after_every_event(seed: int) -> None:
    """Nodes fail, drain and come back; evictions are refused; jobs jump; objects are deleted mid-flight."""
    cluster = _cluster(seed)
    rng = random.Random(seed)
    n_events = 0
    while cluster.step():
        n_events += 1
        cluster_state = cluster.cluster_state
        found = broken(cluster_state, cluster.workloads.running, cluster.engine.starts_together)
        assert found == [], f"event {n_events} at {cluster_state.elapsed_s}"
        assert list(_wrong(cluster)) == [], f"event {n_events} at {cluster_state.elapsed_s}"
        if n_events % 25 == 0:
            there = cluster_state.store.list(rng.choice(("Pod", "Pod", "Job", "RayJob", "Deployment")))
            if there:
                made = rng.choice(there)
                metadata = made["metadata"]
                cluster_state.events.plan(
                    cluster_state.now, ObjectDeleted(made["kind"], metadata["namespace"], metadata["name"])
                )
    history = cluster.finish()
    assert n_events > 100
    assert sum(facts.started_s is not None for facts in history.workloads) >= 5, "nodes leave before others start"
    engine = cluster.engine
    assert isinstance(engine, Ack)
    if not cluster.workloads.running:
        assert all(not any(amounts.values()) for amounts in engine.queue.job_queues.accounts.used.values()), (
            "everything is given back"
        )


def test_simulation_is_deterministic() -> None:
    """The result depends only on the scenario."""
    facts = [json.dumps([fact.document() for fact in _cluster(2).run().facts]) for _ in range(2)]
    assert facts[0] == facts[1]
