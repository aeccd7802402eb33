"""Small clusters under Kueue: what is held back, admitted, taken back and asked for."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
import yaml

from apportion_runtime.engines.detection import KUEUE
from apportion_runtime.engines.kueue.engine import Kueue
from apportion_runtime.engines.kueue.usage_tree import UsageTree
from apportion_runtime.sim.api.events import ObjectDeleted
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.engine import UnreadableError
from apportion_runtime.sim.history import Fact, History
from apportion_runtime.sim.invariants import broken
from apportion_runtime.sim.scenario.reader import read_scenario

Made = dict[str, Any]
_GPU = "nvidia.com/gpu"
_API = "kueue.x-k8s.io/v1beta2"
NODES = "nodes: [{pool: n, count: 4, gpus: 2, cpu: 16, memory: 64Gi}]\n"


def _made(kind: str, name: str, spec: Made, namespace: str = "", api: str = _API) -> Made:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}


def _groups(gpus: int, borrowing: int | None = None) -> list[Made]:
    quota: Made = {"name": _GPU, "nominalQuota": gpus}
    if borrowing is not None:
        quota["borrowingLimit"] = borrowing
    others = [{"name": "cpu", "nominalQuota": 1000}, {"name": "memory", "nominalQuota": "1Ti"}]
    return [
        {"coveredResources": ["cpu", "memory"], "flavors": [{"name": "any", "resources": others}]},
        {"coveredResources": [_GPU], "flavors": [{"name": "gpu", "resources": [quota]}]},
    ]


def _queue(name: str, gpus: int, **spec: Any) -> list[Made]:
    preemption = {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}
    own = {"cohortName": "all", "namespaceSelector": {}, "preemption": preemption, "resourceGroups": _groups(gpus)}
    return [
        _made("ClusterQueue", name, {**own, **spec}),
        _made("LocalQueue", name, {"clusterQueue": name}, "ns"),
    ]


FLAVORS = [_made("ResourceFlavor", name, {}) for name in ("any", "gpu")]
HIGH = {"apiVersion": _API, "kind": "WorkloadPriorityClass", "metadata": {"name": "high"}, "value": 100}


def _configuration(**values: Any) -> Made:
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "metadata": {"name": "configuration"},
        **values,
    }


def _job(name: str, queue: str, at: str, pods: int, **more: Any) -> Made:
    own = {"name": name, "namespace": "ns", "queue": queue, "at": at, "pods": pods, "gpus": 1, "duration": "10m"}
    return {**own, **more}


def _cluster(jobs: list[Made], *objects: Made, nodes: str = NODES, **more: Any) -> Cluster:
    text = nodes + yaml.safe_dump({"workloads": jobs, **more})
    return Cluster([*FLAVORS, *objects], read_scenario(text, lambda name: [], KUEUE.workload_labels), KUEUE)


def _engine(cluster: Cluster) -> Kueue:
    assert isinstance(cluster.engine, Kueue)
    return cluster.engine


def _of(history: History, workload: str, *what: str) -> list[Fact]:
    return [fact for fact in history.facts if fact.workload == workload and fact.what in what]


def _at(history: History, workload: str, what: str) -> list[float]:
    return [fact.at_s for fact in _of(history, workload, what)]


def test_a_guarantee_is_taken_back_from_a_whole_job_which_waits_again() -> None:
    cluster = _cluster(
        [_job("borrower", "b", "0s", 8, checkpoint="5m"), _job("owner", "a", "2m", 2)], *_queue("a", 4), *_queue("b", 4)
    )
    history = cluster.run()
    taken = [(each.pod, each.rule, history.workloads[each.for_workload].name) for each in history.taken]
    assert taken == [(f"borrower-{i}", "InCohortReclamation", "owner") for i in range(8)]
    (preempted,) = _of(history, "borrower", "preempted")
    assert "due to reclamation within the cohort; preemptor path: /all/a; preemptee path: /all/b" in preempted.why
    assert _at(history, "owner", "admitted") == [150.0], "when the grace of what leaves is over"
    assert _at(history, "borrower", "admitted") == [0.0, 752.0], "when the owner has done its work"
    assert [fact.why for fact in _of(history, "borrower", "finished")] == ["succeeded"]
    (borrower,) = [facts for facts in history.workloads if facts.name == "borrower"]
    assert borrower.n_evictions == 1


def test_a_job_is_admitted_as_a_whole_or_waits_and_says_why() -> None:
    history = _cluster([_job("first", "a", "0s", 3), _job("second", "a", "1m", 2)], *_queue("a", 4)).run()
    (waiting,) = _of(history, "second", "waiting")
    assert waiting.why == (
        "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor gpu, 1 more needed"
    )
    assert not [fact for fact in _of(history, "second", "bound") if fact.at_s < 602.0]
    assert _at(history, "second", "admitted") == _at(history, "first", "finished")


@pytest.mark.parametrize(("strategy", "admitted"), [("BestEffortFIFO", 120.0), ("StrictFIFO", 602.0)])
def test_small_work_passes_large_work_unless_the_order_is_strict(strategy: str, admitted: float) -> None:
    jobs = [_job("running", "a", "0s", 2), _job("large", "a", "1m", 4), _job("small", "a", "2m", 1)]
    history = _cluster(jobs, *_queue("a", 4, queueingStrategy=strategy)).run()
    first = min(_at(history, "small", "admitted")[0], _at(history, "large", "admitted")[0])
    assert first == admitted
    assert (_at(history, "small", "admitted")[0] == admitted) is (strategy == "BestEffortFIFO")


def test_a_higher_class_goes_first_and_evicts_a_lower_one_of_its_queue() -> None:
    jobs = [_job("low", "a", "0s", 4), _job("high", "a", "1m", 4, priority="high")]
    classes = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1}
    history = _cluster(jobs, *_queue("a", 4), HIGH, classes).run()
    assert {each.rule for each in history.taken} == {"InClusterQueue"}
    assert _at(history, "high", "admitted") == [90.0]
    assert len(_at(history, "low", "admitted")) == 2


def test_quota_of_pods_that_are_done_and_not_replaced_is_free() -> None:
    jobs = [_job("three", "a", "0s", 3, parallelism=2), _job("one", "a", "1m", 1)]
    history = _cluster(jobs, *_queue("a", 2)).run()
    assert _at(history, "one", "admitted") == [602.0], "when the third of three pods is the only one that is left"
    assert _at(history, "three", "finished") == [1204.0]


def test_work_without_a_queue_stays_suspended_where_the_configuration_manages_it() -> None:
    config = _configuration(manageJobsWithoutQueueName=True)
    cluster = _cluster([_job("loose", "", "0s", 1)], *_queue("a", 2), config, until="1h")
    history = cluster.run()
    assert [fact.what for fact in history.facts if fact.workload == "loose"] == ["arrived", "waiting"]
    job = cluster.world.store.get("Job", "ns", "loose")
    assert job is not None
    assert job["spec"]["suspend"] is True
    unmanaged = _cluster([_job("loose", "", "0s", 1)], *_queue("a", 2)).run()
    assert [fact.why for fact in _of(unmanaged, "loose", "finished")] == ["succeeded"]


def test_a_kind_without_a_model_is_refused_in_words() -> None:
    history = _cluster([_job("serve", "a", "0s", 1, kind="RayService", lifetime="1h")], *_queue("a", 2)).run()
    (refused,) = _of(history, "serve", "refused")
    assert refused.why.startswith(
        "nothing is known of how Kueue manages a RayService; known are Deployment, JAXJob, Job"
    )


def test_a_queue_that_names_what_is_not_there_admits_nothing() -> None:
    objects = _queue("a", 2, admissionChecksStrategy={"admissionChecks": [{"name": "gone"}]})
    history = _cluster([_job("w", "a", "0s", 1)], *objects, until="1h").run()
    (waiting,) = _of(history, "w", "waiting")
    assert (
        "a is inactive: Can't admit new workloads: references missing or inactive AdmissionCheck(s): gone"
        in waiting.why
    )
    history = _cluster([_job("w", "nowhere", "0s", 1)], *_queue("a", 2), until="1h").run()
    assert [fact.why for fact in _of(history, "w", "waiting")] == ["LocalQueue nowhere doesn't exist"]


def test_work_that_cannot_be_read_is_refused_and_an_unknown_class_keeps_it_waiting() -> None:
    history = _cluster([_job("w", "a", "0s", 1, priority="none")], *_queue("a", 2), until="1h").run()
    assert [fact.why for fact in _of(history, "w", "waiting")] == [
        'WorkloadPriorityClass.kueue.x-k8s.io "none" not found'
    ]
    job = {"metadata": {"name": "w", "namespace": "ns", "labels": {"kueue.x-k8s.io/queue-name": "a"}}}
    template = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "much"}}}]}}
    manifest = {"apiVersion": "batch/v1", "kind": "Job", **job, "spec": {"template": template}}
    history = _cluster([{"manifest": manifest}], *_queue("a", 2)).run()
    assert [fact.why for fact in _of(history, "w", "refused")] == ["`much` is not a quantity such as 500m, 2 or 16Gi"]


def test_the_version_before_is_read_as_well() -> None:
    spec = {"cohort": "c", "namespaceSelector": {}, "resourceGroups": _groups(2)}
    old = [
        _made("ClusterQueue", "a", spec, api="kueue.x-k8s.io/v1beta1"),
        _made("LocalQueue", "a", {"clusterQueue": "a"}, "ns", api="kueue.x-k8s.io/v1beta1"),
        {**_configuration(fairSharing={"enable": False}), "apiVersion": "config.kueue.x-k8s.io/v1beta1"},
    ]
    cluster = _cluster([_job("w", "a", "0s", 2)], *old)
    assert _engine(cluster).configured.rules.strategies is None
    assert cluster.engine.parents == {"a": "c", "c": None}
    assert _at(cluster.run(), "w", "admitted") == [0.0]


def test_what_the_objects_say_and_nothing_heeds_is_told() -> None:
    topology = _made("ResourceFlavor", "racks", {"nodeLabels": {"x": "y"}, "topologyName": "t"})
    other = _made("AdmissionCheck", "budget", {"controllerName": "acme.example/budget"})
    cluster = _cluster([], *_queue("a", 2), topology, other, _configuration(waitForPodsReady={"blockAdmission": True}))
    said = {fault.address: fault.message for fault in cluster.world.records.faults}
    assert said == {
        "resourceflavor racks": "its topology is passed over: pods are placed as if it had none",
        "admissioncheck budget": "nothing is known of its controller acme.example/budget: work that needs it waits for ever",
        "configuration configuration": "waitForPodsReady.blockAdmission is passed over: work is admitted side by side",
    }


def test_cohorts_that_hang_below_themselves_cannot_be_read() -> None:
    loop = [_made("Cohort", "x", {"parentName": "y"}), _made("Cohort", "y", {"parentName": "x"})]
    with pytest.raises(UnreadableError, match="cohort x hangs below itself"):
        _cluster([], *_queue("a", 2), *loop)
    with pytest.raises(UnreadableError, match="ClusterQueue a: `many` is not a quantity"):
        _cluster([], *_queue("a", 2, resourceGroups=_groups("many")))


def test_work_that_is_not_ready_in_time_backs_off_and_is_deactivated_at_last() -> None:
    ready = {"timeout": "5m", "requeuingStrategy": {"backoffLimitCount": 2, "backoffBaseSeconds": 60}}
    jobs = [_job("w", "a", "0s", 9)]
    cluster = _cluster(jobs, *_queue("a", 9), _configuration(waitForPodsReady=ready), until="2h")
    history = cluster.run()
    # Eight of its nine pods have a place; 30 seconds of grace, and twice as long until it is tried again.
    assert _at(history, "w", "admitted") == [0.0, 360.0, 780.0]
    assert _at(history, "w", "deactivated") == [1080.0]
    assert not cluster.world.pods


def test_a_ray_job_is_a_workload_of_its_groups_and_a_scaled_cluster_waits_anew() -> None:
    jobs = [
        _job("job", "a", "0s", 2, kind="RayJob", head={"cpu": 1}),
        _job("cluster", "b", "0s", 1, kind="RayCluster", head={"cpu": 1}, duration="1h")
        | {"load": [{"at": "20m", "replicas": 3, "group": "workers"}]},
    ]
    cluster = _cluster(jobs, *_queue("a", 2), *_queue("b", 4))
    while cluster.step() and cluster.world.elapsed_s < 1.0:
        pass
    made = {each["metadata"]["ownerReferences"][0]["name"]: each for each in cluster.world.store.list("Workload")}
    assert [(each["name"], each["count"]) for each in made["job"]["spec"]["podSets"]] == [("head", 1), ("workers", 2)]
    history = cluster.run()
    assert _at(history, "cluster", "admitted") == [0.0, 1230.0]
    assert sum(fact.at_s == 1230.0 for fact in _of(history, "cluster", "bound")) == 4


DWS = """
nodes:
  - pool: dws
    count: 0
    max: 8
    gpus: 2
    cpu: 16
    memory: 64Gi
    queued: {boot: 2m, capacity: [{zone: a, at: 10m, nodes: 3}]}
"""
CHECKS = [
    _made("ProvisioningRequestConfig", "dws", {
        "provisioningClassName": "queued-provisioning.gke.io",
        "managedResources": [_GPU],
        "podSetMergePolicy": "IdenticalWorkloadSchedulingRequirements",
    }),
    _made("AdmissionCheck", "dws", {
        "controllerName": "kueue.x-k8s.io/provisioning-request",
        "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "dws"},
    }),
]  # fmt: skip
CHECKED = {"admissionChecksStrategy": {"admissionChecks": [{"name": "dws"}]}}


def test_a_request_that_is_cancelled_brings_no_nodes() -> None:
    cancel = {"at": "11m", "deleted": {"kind": "Job", "namespace": "ns", "name": "w"}}
    cluster = _cluster([_job("w", "a", "0s", 4)], *_queue("a", 8, **CHECKED), *CHECKS, nodes=DWS, events=[cancel])
    history = cluster.run()
    assert _of(history, "w", "request-accepted")
    assert not [fact for fact in history.facts if fact.what == "node-joined"]
    assert not cluster.world.store.list("ProvisioningRequest")
    assert not cluster.world.store.list("PodTemplate")


def test_a_request_that_somebody_deletes_is_made_anew_while_its_work_waits() -> None:
    cluster = _cluster([_job("w", "a", "0s", 4)], *_queue("a", 8, **CHECKED), *CHECKS, nodes=DWS)
    while not cluster.world.store.list("ProvisioningRequest"):
        assert cluster.step()
    name = cluster.world.store.list("ProvisioningRequest")[0]["metadata"]["name"]
    cluster.world.events.plan(cluster.world.now + 300.0, ObjectDeleted("ProvisioningRequest", "ns", name))
    history = cluster.run()
    assert _at(history, "w", "requested") == [0.0, 300.0]
    assert _at(history, "w", "request-provisioned") == [720.0]
    assert [fact.why for fact in _of(history, "w", "finished")] == ["succeeded"]


def test_a_booking_that_expires_before_other_checks_are_ready_is_tried_again() -> None:
    other = _made("AdmissionCheck", "budget", {"controllerName": "acme.example/budget"})
    checks = {"admissionChecksStrategy": {"admissionChecks": [{"name": "dws"}, {"name": "budget"}]}}
    history = _cluster(
        [_job("w", "a", "0s", 4)], *_queue("a", 8, **checks), *CHECKS, other, nodes=DWS, until="30m"
    ).run()
    assert _at(history, "w", "request-provisioned")[0] == 720.0
    assert _at(history, "w", "booking-expired") == [1320.0]
    (retried,) = _of(history, "w", "retried")
    assert retried.why == (
        "dws: Retrying after booking expired: Capacity reservation time is expired; not before 60s have gone by"
    )
    assert _at(history, "w", "requested") == [0.0, 1380.0]
    assert not _of(history, "w", "admitted")


def test_work_without_gpus_needs_no_machines() -> None:
    history = _cluster(
        [_job("w", "a", "0s", 1, gpus=0)], *_queue("a", 8, **CHECKED), *CHECKS, nodes=DWS, until="1h"
    ).run()
    assert _at(history, "w", "admitted") == [0.0]
    assert not _of(history, "w", "requested")


def test_pod_sets_that_are_alike_are_one_of_the_request_and_two_are_too_many() -> None:
    def jobset(name: str, second: str) -> Made:
        def job(cpu: str) -> Made:
            resources = {"requests": {"cpu": cpu, "memory": "1Gi", _GPU: "1"}}
            pod = {"spec": {"containers": [{"name": "main", "resources": resources}]}}
            return {"spec": {"parallelism": 1, "completions": 1, "template": pod}}

        replicated = [
            {"name": "x", "replicas": 1, "template": job("1")},
            {"name": "y", "replicas": 2, "template": job(second)},
        ]
        labels = {"kueue.x-k8s.io/queue-name": "a"}
        metadata = {"name": name, "namespace": "ns", "labels": labels}
        spec = {"replicatedJobs": replicated}
        return {
            "manifest": {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": metadata, "spec": spec}
        }

    cluster = _cluster(
        [jobset("alike", "1"), jobset("unlike", "2")], *_queue("a", 8, **CHECKED), *CHECKS, nodes=DWS, until="1h"
    )
    while cluster.step() and cluster.world.elapsed_s < 30.0:
        pass
    (request,) = [r for r in cluster.world.store.list("ProvisioningRequest") if "unlike" not in r["metadata"]["name"]]
    assert [each["count"] for each in request["spec"]["podSets"]] == [3]
    history = cluster.run()
    failed = _of(history, "unlike", "request-failed")
    assert all("takes one pod set a request, and this one has 2" in fact.why for fact in failed)
    assert len(failed) == 4
    # Kueue 0.18 tells only the first of the pod sets that it put together which nodes to use.
    assert {fact.pod for fact in _of(history, "alike", "bound")} == {"alike-x-0-x-0-0"}


def test_a_preempted_job_gets_other_nodes_for_another_request() -> None:
    """The nodes of the first request go idle; the second one has the same name, and its own nodes."""
    jobs = [_job("low", "a", "0s", 4, checkpoint="1m"), _job("high", "a", "15m", 4, priority="high", duration="1m")]
    classes = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1}
    nodes = DWS.replace("nodes: 3}", "nodes: 8}")
    history = _cluster(jobs, *_queue("a", 4, **CHECKED), *CHECKS, HIGH, classes, nodes=nodes, until="3h").run()
    requested = [fact.why for fact in _of(history, "low", "requested")]
    assert requested[0] == requested[1]
    by_request: dict[float, set[str]] = {}
    for fact in _of(history, "low", "bound"):
        by_request.setdefault(fact.at_s, set()).add(fact.node)
    first, second = by_request.values()
    assert not first & second
    assert [fact.why for fact in _of(history, "low", "finished")] == ["succeeded"]


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
        made = _job(
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
    queues = [*_queue("a", 4), *_queue("b", 2, fairSharing={"weight": "2"}), *_queue("c", 0, queueingStrategy=strategy)]
    config = [_configuration(fairSharing={}, waitForPodsReady={"timeout": "4m"})] if rng.random() < 0.5 else []
    cohort = _made("Cohort", "all", {"resourceGroups": _groups(2)[1:]})
    return _cluster(jobs, *queues, cohort, HIGH, classes, *config, events=events, until="2h")


@pytest.mark.parametrize("seed", range(3))
def test_whatever_happens_no_quota_is_given_twice_and_no_pod_is_lost(seed: int) -> None:
    cluster, rng = _random_cluster(seed), random.Random(seed)
    engine, n_events = _engine(cluster), 0
    while cluster.step():
        n_events += 1
        wrong = broken(cluster.world, cluster.workloads.running, engine.starts_together)
        assert wrong == [], f"event {n_events}"
        rules = engine.configured.rules
        holders = [unit.holder for unit in engine.units.values() if unit.holder is not None]
        ledger = UsageTree(rules.queues.values(), rules.cohorts, holders)
        for name in ("a", "b", "c"):
            assert ledger.available(name, ("gpu", _GPU)) >= 0, f"event {n_events}: {name}"
        if n_events % 40 == 0:
            kind = rng.choice(("Pod", "Pod", "Job", "JobSet", "RayCluster"))
            if there := cluster.world.store.list(kind):
                metadata = rng.choice(there)["metadata"]
                event = ObjectDeleted(kind, metadata["namespace"], metadata["name"])
                cluster.world.events.plan(cluster.world.now, event)
    assert n_events > 60
    assert sum(facts.started_s is not None for facts in cluster.finish().workloads) >= 2


def test_the_same_input_gives_the_same_bytes() -> None:
    one, other = (json.dumps([fact.document() for fact in _random_cluster(1).run().facts]) for _ in range(2))
    assert one == other
