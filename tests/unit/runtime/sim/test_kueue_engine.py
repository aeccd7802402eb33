"""Small clusters under Kueue: suspension, admission, preemption and provisioning."""

from __future__ import annotations

import json
import random

import pytest

from apportion_runtime.engines.kueue.usage_tree import UsageTree
from apportion_runtime.sim.api.events import ObjectDeleted
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.engine import UnreadableError
from apportion_runtime.sim.invariants import broken

from .kueue_clusters import (
    GPU,
    HIGH,
    cluster_of,
    configuration_of,
    engine_of,
    facts_of,
    groups_of,
    job_of,
    moments_of,
    object_of,
    queue_of,
)


def test_reclaimed_job_is_requeued_as_a_whole() -> None:
    cluster = cluster_of(
        [job_of("borrower", "b", "0s", 8, checkpoint="5m"), job_of("owner", "a", "2m", 2)],
        *queue_of("a", 4),
        *queue_of("b", 4),
    )
    history = cluster.run()
    taken = [(each.pod, each.rule, history.workloads[each.for_workload].name) for each in history.taken]
    assert taken == [(f"borrower-{i}", "InCohortReclamation", "owner") for i in range(8)]
    (preempted,) = facts_of(history, "borrower", "preempted")
    assert "due to reclamation within the cohort; preemptor path: /all/a; preemptee path: /all/b" in preempted.why
    assert moments_of(history, "owner", "admitted") == [150.0], "when the grace of what leaves is over"
    assert moments_of(history, "borrower", "admitted") == [0.0, 752.0], "when the owner has done its work"
    assert [fact.why for fact in facts_of(history, "borrower", "finished")] == ["succeeded"]
    (borrower,) = [facts for facts in history.workloads if facts.name == "borrower"]
    assert borrower.n_evictions == 1


def test_job_is_admitted_as_a_whole() -> None:
    history = cluster_of([job_of("first", "a", "0s", 3), job_of("second", "a", "1m", 2)], *queue_of("a", 4)).run()
    (waiting,) = facts_of(history, "second", "waiting")
    assert waiting.why == (
        "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor gpu, 1 more needed"
    )
    assert not [fact for fact in facts_of(history, "second", "bound") if fact.at_s < 602.0]
    assert moments_of(history, "second", "admitted") == moments_of(history, "first", "finished")


@pytest.mark.parametrize(("strategy", "admitted"), [("BestEffortFIFO", 120.0), ("StrictFIFO", 602.0)])
def test_best_effort_and_strict_fifo(strategy: str, admitted: float) -> None:
    jobs = [job_of("running", "a", "0s", 2), job_of("large", "a", "1m", 4), job_of("small", "a", "2m", 1)]
    history = cluster_of(jobs, *queue_of("a", 4, queueingStrategy=strategy)).run()
    first = min(moments_of(history, "small", "admitted")[0], moments_of(history, "large", "admitted")[0])
    assert first == admitted
    assert (moments_of(history, "small", "admitted")[0] == admitted) is (strategy == "BestEffortFIFO")


def test_higher_priority_preempts_within_its_queue() -> None:
    jobs = [job_of("low", "a", "0s", 4), job_of("high", "a", "1m", 4, priority="high")]
    classes = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1}
    history = cluster_of(jobs, *queue_of("a", 4), HIGH, classes).run()
    assert {each.rule for each in history.taken} == {"InClusterQueue"}
    assert moments_of(history, "high", "admitted") == [90.0]
    assert len(moments_of(history, "low", "admitted")) == 2


def test_quota_of_finished_pods_is_released() -> None:
    jobs = [job_of("three", "a", "0s", 3, parallelism=2), job_of("one", "a", "1m", 1)]
    history = cluster_of(jobs, *queue_of("a", 2)).run()
    assert moments_of(history, "one", "admitted") == [602.0], (
        "when the third of three pods is the only one that is left"
    )
    assert moments_of(history, "three", "finished") == [1204.0]


def test_jobs_without_queue_stay_suspended_if_managed() -> None:
    config = configuration_of(manageJobsWithoutQueueName=True)
    cluster = cluster_of([job_of("loose", "", "0s", 1)], *queue_of("a", 2), config, until="1h")
    history = cluster.run()
    assert [fact.what for fact in history.facts if fact.workload == "loose"] == ["arrived", "waiting"]
    job = cluster.cluster_state.store.get("Job", "ns", "loose")
    assert job is not None
    assert job["spec"]["suspend"] is True
    unmanaged = cluster_of([job_of("loose", "", "0s", 1)], *queue_of("a", 2)).run()
    assert [fact.why for fact in facts_of(unmanaged, "loose", "finished")] == ["succeeded"]


def test_unsupported_kind_is_refused() -> None:
    history = cluster_of([job_of("serve", "a", "0s", 1, kind="RayService", lifetime="1h")], *queue_of("a", 2)).run()
    (refused,) = facts_of(history, "serve", "refused")
    assert refused.why.startswith(
        "the Kueue integration of RayService is not simulated; simulated kinds are Deployment, JAXJob, Job"
    )


def test_queue_with_missing_references_admits_nothing() -> None:
    objects = queue_of("a", 2, admissionChecksStrategy={"admissionChecks": [{"name": "gone"}]})
    history = cluster_of([job_of("w", "a", "0s", 1)], *objects, until="1h").run()
    (waiting,) = facts_of(history, "w", "waiting")
    assert (
        "a is inactive: Can't admit new workloads: references missing or inactive AdmissionCheck(s): gone"
        in waiting.why
    )
    history = cluster_of([job_of("w", "nowhere", "0s", 1)], *queue_of("a", 2), until="1h").run()
    assert [fact.why for fact in facts_of(history, "w", "waiting")] == ["LocalQueue nowhere doesn't exist"]


def test_invalid_work_is_refused_and_unknown_class_waits() -> None:
    history = cluster_of([job_of("w", "a", "0s", 1, priority="none")], *queue_of("a", 2), until="1h").run()
    assert [fact.why for fact in facts_of(history, "w", "waiting")] == [
        'WorkloadPriorityClass.kueue.x-k8s.io "none" not found'
    ]
    job = {"metadata": {"name": "w", "namespace": "ns", "labels": {"kueue.x-k8s.io/queue-name": "a"}}}
    template = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "much"}}}]}}
    manifest = {"apiVersion": "batch/v1", "kind": "Job", **job, "spec": {"template": template}}
    history = cluster_of([{"manifest": manifest}], *queue_of("a", 2)).run()
    assert [fact.why for fact in facts_of(history, "w", "refused")] == [
        "`much` is not a quantity such as 500m, 2 or 16Gi"
    ]


def test_previous_api_version_is_read() -> None:
    spec = {"cohort": "c", "namespaceSelector": {}, "resourceGroups": groups_of(2)}
    old = [
        object_of("ClusterQueue", "a", spec, api="kueue.x-k8s.io/v1beta1"),
        object_of("LocalQueue", "a", {"clusterQueue": "a"}, "ns", api="kueue.x-k8s.io/v1beta1"),
        {**configuration_of(fairSharing={"enable": False}), "apiVersion": "config.kueue.x-k8s.io/v1beta1"},
    ]
    cluster = cluster_of([job_of("w", "a", "0s", 2)], *old)
    assert engine_of(cluster).configured.rules.strategies is None
    assert cluster.engine.parents == {"a": "c", "c": None}
    assert moments_of(cluster.run(), "w", "admitted") == [0.0]


def test_ignored_fields_are_reported() -> None:
    topology = object_of("ResourceFlavor", "racks", {"nodeLabels": {"x": "y"}, "topologyName": "t"})
    other = object_of("AdmissionCheck", "budget", {"controllerName": "acme.example/budget"})
    cluster = cluster_of(
        [], *queue_of("a", 2), topology, other, configuration_of(waitForPodsReady={"blockAdmission": True})
    )
    said = {fault.address: fault.message for fault in cluster.cluster_state.records.faults}
    assert said == {
        "resourceflavor racks": "spec.topologyName is not simulated: pods are placed without topology awareness",
        "admissioncheck budget": "its controller acme.example/budget is not simulated: workloads that require this check stay pending",
        "configuration configuration": "waitForPodsReady.blockAdmission is not simulated: workloads are admitted without waiting for the pods of other workloads",
    }


def test_cohort_cycle_is_refused() -> None:
    loop = [object_of("Cohort", "x", {"parentName": "y"}), object_of("Cohort", "y", {"parentName": "x"})]
    with pytest.raises(UnreadableError, match="cohort x is its own ancestor"):
        cluster_of([], *queue_of("a", 2), *loop)
    with pytest.raises(UnreadableError, match="ClusterQueue a: `many` is not a quantity"):
        cluster_of([], *queue_of("a", 2, resourceGroups=groups_of("many")))


def test_pods_ready_timeout_and_deactivation() -> None:
    ready = {"timeout": "5m", "requeuingStrategy": {"backoffLimitCount": 2, "backoffBaseSeconds": 60}}
    jobs = [job_of("w", "a", "0s", 9)]
    cluster = cluster_of(jobs, *queue_of("a", 9), configuration_of(waitForPodsReady=ready), until="2h")
    history = cluster.run()
    # Eight of its nine pods have a place; 30 seconds of grace, and twice as long until it is tried again.
    assert moments_of(history, "w", "admitted") == [0.0, 360.0, 780.0]
    assert moments_of(history, "w", "deactivated") == [1080.0]
    assert not cluster.cluster_state.pods


def test_ray_job_has_a_pod_set_for_each_group() -> None:
    jobs = [
        job_of("job", "a", "0s", 2, kind="RayJob", head={"cpu": 1}),
        job_of("cluster", "b", "0s", 1, kind="RayCluster", head={"cpu": 1}, duration="1h")
        | {"load": [{"at": "20m", "replicas": 3, "group": "workers"}]},
    ]
    cluster = cluster_of(jobs, *queue_of("a", 2), *queue_of("b", 4))
    while cluster.step() and cluster.cluster_state.elapsed_s < 1.0:
        pass
    made = {
        each["metadata"]["ownerReferences"][0]["name"]: each for each in cluster.cluster_state.store.list("Workload")
    }
    assert [(each["name"], each["count"]) for each in made["job"]["spec"]["podSets"]] == [("head", 1), ("workers", 2)]
    history = cluster.run()
    assert moments_of(history, "cluster", "admitted") == [0.0, 1230.0]
    assert sum(fact.at_s == 1230.0 for fact in facts_of(history, "cluster", "bound")) == 4


def _random_cluster(seed: int) -> Cluster:
    rng = random.Random(seed)
    kinds = ("Job", "Job", "JobSet", "RayCluster", "RayJob", "PyTorchJob")
    jobs = []
    for number in range(16):
        kind = rng.choice(kinds)
        work = (
            {"duration": f"{rng.randint(60, 900)}s", "checkpoint": "100s"}
            if kind != "RayCluster"
            else {"lifetime": "10m"}
        )
        made = job_of(
            f"w{number:02}", rng.choice(("a", "b", "c")), f"{rng.randint(0, 1800)}s", rng.randint(1, 4), kind=kind
        )
        made.pop("duration")
        made |= {**work, "priority": rng.choice(("", "high")), "gpus": rng.choice((1, 1, 2))}
        jobs.append(made)
    events = [
        {
            "at": f"{rng.randint(0, 3000)}s",
            "node": f"n-000{rng.randint(0, 3)}",
            "what": rng.choice(("fails", "drains", "joins")),
        }
        for _ in range(5)
    ]
    classes = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1}
    strategy = rng.choice(("BestEffortFIFO", "StrictFIFO"))
    queues = [
        *queue_of("a", 4),
        *queue_of("b", 2, fairSharing={"weight": "2"}),
        *queue_of("c", 0, queueingStrategy=strategy),
    ]
    config = [configuration_of(fairSharing={}, waitForPodsReady={"timeout": "4m"})] if rng.random() < 0.5 else []
    cohort = object_of("Cohort", "all", {"resourceGroups": groups_of(2)[1:]})
    return cluster_of(jobs, *queues, cohort, HIGH, classes, *config, events=events, until="2h")


@pytest.mark.parametrize("seed", range(3))
def test_quota_and_pods_are_conserved_in_random_runs(seed: int) -> None:
    cluster, rng = _random_cluster(seed), random.Random(seed)
    engine, n_events = engine_of(cluster), 0
    while cluster.step():
        n_events += 1
        wrong = broken(cluster.cluster_state, cluster.workloads.running, engine.starts_together)
        assert wrong == [], f"event {n_events}"
        rules = engine.configured.rules
        holders = [unit.holder for unit in engine.units.values() if unit.holder is not None]
        ledger = UsageTree(rules.queues.values(), rules.cohorts, holders)
        for name in ("a", "b", "c"):
            assert ledger.available(name, ("gpu", GPU)) >= 0, f"event {n_events}: {name}"
        if n_events % 40 == 0:
            kind = rng.choice(("Pod", "Pod", "Job", "JobSet", "RayCluster"))
            if there := cluster.cluster_state.store.list(kind):
                metadata = rng.choice(there)["metadata"]
                event = ObjectDeleted(kind, metadata["namespace"], metadata["name"])
                cluster.cluster_state.events.plan(cluster.cluster_state.now, event)
    assert n_events > 60
    assert sum(facts.started_s is not None for facts in cluster.finish().workloads) >= 2


def test_simulation_is_deterministic() -> None:
    one, other = (json.dumps([fact.document() for fact in _random_cluster(1).run().facts]) for _ in range(2))
    assert one == other
