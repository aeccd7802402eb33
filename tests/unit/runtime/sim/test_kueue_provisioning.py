"""Small clusters under Kueue: provisioning requests."""

from __future__ import annotations

from apportion_runtime.sim.api.events import ObjectDeleted

from .kueue_clusters import GPU, HIGH, Made, cluster_of, facts_of, job_of, moments_of, object_of, queue_of

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
    object_of("ProvisioningRequestConfig", "dws", {
        "provisioningClassName": "queued-provisioning.gke.io",
        "managedResources": [GPU],
        "podSetMergePolicy": "IdenticalWorkloadSchedulingRequirements",
    }),
    object_of("AdmissionCheck", "dws", {
        "controllerName": "kueue.x-k8s.io/provisioning-request",
        "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "dws"},
    }),
]  # fmt: skip


CHECKED = {"admissionChecksStrategy": {"admissionChecks": [{"name": "dws"}]}}


def test_cancelled_request_provisions_no_nodes() -> None:
    cancel = {"at": "11m", "deleted": {"kind": "Job", "namespace": "ns", "name": "w"}}
    cluster = cluster_of([job_of("w", "a", "0s", 4)], *queue_of("a", 8, **CHECKED), *CHECKS, nodes=DWS, events=[cancel])
    history = cluster.run()
    assert facts_of(history, "w", "request-accepted")
    assert not [fact for fact in history.facts if fact.what == "node-joined"]
    assert not cluster.cluster_state.store.list("ProvisioningRequest")
    assert not cluster.cluster_state.store.list("PodTemplate")


def test_deleted_request_is_recreated() -> None:
    cluster = cluster_of([job_of("w", "a", "0s", 4)], *queue_of("a", 8, **CHECKED), *CHECKS, nodes=DWS)
    while not cluster.cluster_state.store.list("ProvisioningRequest"):
        assert cluster.step()
    name = cluster.cluster_state.store.list("ProvisioningRequest")[0]["metadata"]["name"]
    cluster.cluster_state.events.plan(
        cluster.cluster_state.now + 300.0, ObjectDeleted("ProvisioningRequest", "ns", name)
    )
    history = cluster.run()
    assert moments_of(history, "w", "requested") == [0.0, 300.0]
    assert moments_of(history, "w", "request-provisioned") == [720.0]
    assert [fact.why for fact in facts_of(history, "w", "finished")] == ["succeeded"]


def test_expired_booking_is_retried() -> None:
    other = object_of("AdmissionCheck", "budget", {"controllerName": "acme.example/budget"})
    checks = {"admissionChecksStrategy": {"admissionChecks": [{"name": "dws"}, {"name": "budget"}]}}
    history = cluster_of(
        [job_of("w", "a", "0s", 4)], *queue_of("a", 8, **checks), *CHECKS, other, nodes=DWS, until="30m"
    ).run()
    assert moments_of(history, "w", "request-provisioned")[0] == 720.0
    assert moments_of(history, "w", "booking-expired") == [1320.0]
    (retried,) = facts_of(history, "w", "retried")
    assert retried.why == (
        "dws: Retrying after booking expired: Capacity reservation time is expired; retry in 60s or later"
    )
    assert moments_of(history, "w", "requested") == [0.0, 1380.0]
    assert not facts_of(history, "w", "admitted")


def test_work_without_gpus_needs_no_provisioning() -> None:
    history = cluster_of(
        [job_of("w", "a", "0s", 1, gpus=0)], *queue_of("a", 8, **CHECKED), *CHECKS, nodes=DWS, until="1h"
    ).run()
    assert moments_of(history, "w", "admitted") == [0.0]
    assert not facts_of(history, "w", "requested")


def test_annotation_that_differs_from_the_configuration_is_never_provisioned() -> None:
    configured = {**CHECKS[0], "spec": {**CHECKS[0]["spec"], "parameters": {"maxRunDurationSeconds": "86400"}}}

    def facts(seconds: str, what: str) -> list[str]:
        work = job_of("w", "a", "0s", 4)
        work["annotations"] = {"provreq.kueue.x-k8s.io/maxRunDurationSeconds": seconds}
        history = cluster_of([work], *queue_of("a", 8, **CHECKED), configured, CHECKS[1], nodes=DWS, until="1h").run()
        return [fact.why for fact in facts_of(history, "w", what)]

    (waits,) = facts("600", "waiting")
    assert waits.startswith(
        "Kueue endlessly deletes and recreates its ProvisioningRequest: maxRunDurationSeconds is 600"
    )
    assert facts("600", "admitted") == []
    assert len(facts("86400", "admitted")) == 1


def test_equal_pod_sets_are_merged_in_a_request() -> None:
    def jobset(name: str, second: str) -> Made:
        def job(cpu: str) -> Made:
            resources = {"requests": {"cpu": cpu, "memory": "1Gi", GPU: "1"}}
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

    cluster = cluster_of(
        [jobset("alike", "1"), jobset("unlike", "2")], *queue_of("a", 8, **CHECKED), *CHECKS, nodes=DWS, until="1h"
    )
    while cluster.step() and cluster.cluster_state.elapsed_s < 30.0:
        pass
    (request,) = [
        r for r in cluster.cluster_state.store.list("ProvisioningRequest") if "unlike" not in r["metadata"]["name"]
    ]
    assert [each["count"] for each in request["spec"]["podSets"]] == [3]
    history = cluster.run()
    failed = facts_of(history, "unlike", "request-failed")
    assert all("supports one pod set per request; this request has 2" in fact.why for fact in failed)
    assert len(failed) == 4
    # Kueue 0.18 tells only the first of the pod sets that it put together which nodes to use.
    assert {fact.pod for fact in facts_of(history, "alike", "bound")} == {"alike-x-0-x-0-0"}


def test_preempted_job_gets_a_new_request() -> None:
    """The nodes of the first request go idle; the second one has the same name, and its own nodes."""
    jobs = [job_of("low", "a", "0s", 4, checkpoint="1m"), job_of("high", "a", "15m", 4, priority="high", duration="1m")]
    classes = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1}
    nodes = DWS.replace("nodes: 3}", "nodes: 8}")
    history = cluster_of(jobs, *queue_of("a", 4, **CHECKED), *CHECKS, HIGH, classes, nodes=nodes, until="3h").run()
    requested = [fact.why for fact in facts_of(history, "low", "requested")]
    assert requested[0] == requested[1]
    by_request: dict[float, set[str]] = {}
    for fact in facts_of(history, "low", "bound"):
        by_request.setdefault(fact.at_s, set()).add(fact.node)
    first, second = by_request.values()
    assert not first & second
    assert [fact.why for fact in facts_of(history, "low", "finished")] == ["succeeded"]
