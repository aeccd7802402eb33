"""Whether a workload fits: decisions, sizes, changes and times, under every engine that is simulated."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from apportion_api.koordinator.names import GANG_TOPOLOGY_ANNOTATION
from apportion_policy import Policy
from apportion_review.fit.clusters import ObservedCluster
from apportion_review.fit.document import fit_document
from apportion_review.fit.largest_size import largest
from apportion_review.fit.pod_requests import with_request
from apportion_review.fit.probe import Probe, Submission
from apportion_review.fit.quota_edits import QuotaEdit, edited
from apportion_review.fit.records import Change, ChangeKind, Fit, Outcome
from apportion_review.fit.scaling import dimension_of, scaled
from apportion_review.fit.text import fit_text
from apportion_runtime.core.cycle import cycle
from apportion_runtime.core.explain.evictions import evictions
from apportion_runtime.snapshots.document_loader import LocatedObject
from apportion_runtime.snapshots.faults import Fault, ObjectLocation
from apportion_runtime.snapshots.kubernetes.reader import read_cluster

from .fit_clusters import SIMULATED, START, bound, compiled, fit, job, model_of, policy_for, snapshot

Made = dict[str, Any]


_KUBE_SCHEDULER = "no nodes available to schedule pods"
_NO_NODES = {
    "kai": "No node in the default node-pool has GPU resources.",
    "kueue": _KUBE_SCHEDULER,
    # Volcano's capacity plugin does not enqueue the job: the limits of queues are those of the cluster's resources.
    "volcano": "queue resource quota insufficient",
    "ack": _KUBE_SCHEDULER,
    "koordinator": _KUBE_SCHEDULER,
    "native": _KUBE_SCHEDULER,
    "yunikorn": "the partition has no nodes",
}


def held_by(policy: Policy, *works: Made, nodes: int = 4) -> list[Made]:
    cluster = compiled(policy)
    return snapshot(cluster, [bound(cluster, made) for made in works], nodes=nodes)


def answer(policy: Policy, workload: Made, held: list[Made] | None = None, priority: str | None = None) -> Fit:
    return fit(policy, bound(compiled(policy), workload, priority), held)


def change(found: Fit, kind: ChangeKind) -> Change:
    return next(each for each in found.changes if each.kind is kind)


@pytest.mark.parametrize("engine", SIMULATED)
def test_workload_starts_on_the_free_node(engine: str) -> None:
    policy = policy_for(engine)
    held = held_by(policy, job("a", "speech", 2, 8), job("b", "vision", 1, 8))
    found = answer(policy, job("new", "vision", 1, 8), held)
    assert found.decision.outcome is Outcome.NOW
    (placed,) = found.decision.placements
    busy = {made["spec"]["nodeName"] for made in held if made["kind"] == "Pod"}
    assert (placed.pool, placed.n_pods) == ("h100", 1)
    assert busy.isdisjoint(placed.nodes)
    assert (found.size, found.changes, found.start) == (None, (), None)


@pytest.mark.parametrize("engine", SIMULATED)
def test_idle_cluster_is_assumed_without_a_snapshot(engine: str) -> None:
    found = answer(policy_for(engine), job("new", "vision", 2, 8))
    assert (found.decision.outcome, found.taken) == (Outcome.NOW, None)
    assert "assumed to be idle" in found.notes[0]


@pytest.mark.parametrize("engine", SIMULATED)
def test_policy_without_node_pools_has_no_nodes(engine: str) -> None:
    policy = policy_for(engine)
    (environment,) = policy.environments
    bare = environment.clusters[0].model_copy(update={"pools": ()})
    environments = (environment.model_copy(update={"clusters": (bare,)}),)
    found = answer(
        policy.model_copy(update={"node_pools": (), "environments": environments}), job("new", "vision", 1, 8)
    )
    assert (found.decision.outcome, found.changes) == (Outcome.WAITS, ())
    assert found.notes == (
        "Without a snapshot, the cluster has the nodes of its node pools. The policy declares none, so it has no nodes.",
    )
    assert _NO_NODES[engine] in found.decision.reason


@pytest.mark.parametrize("engine", ["koordinator", "volcano"])
def test_pending_work_with_a_network_topology_is_noted(engine: str) -> None:
    policy = policy_for(engine)
    held = held_by(policy, job("a", "speech", 2, 8))
    for made in held:
        if made["kind"] == "Pod":
            del made["spec"]["nodeName"]
            made["status"] = {"phase": "Pending"}
            if engine == "koordinator":
                made["metadata"]["annotations"][GANG_TOPOLOGY_ANNOTATION] = "{}"
        if made["kind"] == "PodGroup":
            made["spec"]["networkTopology"] = {"mode": "hard", "highestTierAllowed": 1}
    found = answer(policy, job("new", "vision", 1, 8), held)
    assert (
        "1 pending workload with a network topology is placed without it, because network topologies are not simulated: "
        "Job speech/a."
    ) in found.notes


@pytest.mark.parametrize("engine", SIMULATED)
def test_full_cluster_reports_largest_size_and_blocking_work(engine: str) -> None:
    policy = policy_for(engine)
    held = held_by(policy, job("a", "speech", 2, 8), job("b", "vision", 1, 8))
    found = answer(policy, job("new", "vision", 2, 8), held)
    assert found.decision.outcome is Outcome.WAITS
    assert found.decision.reason
    assert found.size is not None
    assert (found.size.dimension, found.size.largest, found.size.gpus) == ("spec.parallelism", 1, 8000)
    assert change(found, ChangeKind.SIZE).after == "1"
    assert change(found, ChangeKind.REQUEST).after == "4"
    assert found.start is not None
    assert found.start.at is None
    assert [each.name for each in found.start.after] in (["a"], ["b"])


def test_minimal_limit_increase_is_proposed() -> None:
    policy = policy_for("kai", limit=8, guaranteed=8)
    held = held_by(policy, job("a", "speech", 1, 8))
    found = answer(policy, job("new", "speech", 2, 8), held)
    assert "limit" in found.decision.reason
    raised = change(found, ChangeKind.QUOTA)
    assert (raised.subject, raised.field, raised.before, raised.after) == ("speech", "limit", "8 GPUs", "24 GPUs")
    assert "fit_clusters.py:" in raised.at
    for amount, outcome in ((24_000, Outcome.NOW), (23_000, Outcome.WAITS)):
        again = edited(policy, [QuotaEdit("speech", "limit", "gpu", amount)])
        assert answer(again, job("new", "speech", 2, 8), held).decision.outcome is outcome


def test_kueue_reports_the_flavor() -> None:
    found = answer(policy_for("kueue"), job("new", "vision", 1, 8), held_by(policy_for("kueue")))
    assert found.decision.flavors == ("any-node", "h100")


def test_more_nodes_are_proposed_with_the_pool_limit() -> None:
    policy = policy_for("kai")
    held = held_by(policy, job("a", "speech", 2, 8), job("b", "vision", 1, 8))
    more = change(answer(policy, job("new", "vision", 2, 8), held), ChangeKind.NODES)
    assert (more.subject, more.before, more.after) == ("h100", "4", "5")
    assert more.beside == ("its max_nodes is 4: raise it to 5",)


def test_question_whose_search_for_victims_is_stopped_is_not_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = policy_for("kai")
    held = held_by(policy, job("a", "vision", 1, 8), job("b", "vision", 1, 8), job("c", "vision", 1, 8), nodes=3)
    monkeypatch.setattr("apportion_review.fit.probe.MAX_EVICTIONS", 0)
    found = answer(policy, job("new", "speech", 1, 8), held)
    assert (found.decision.outcome, found.decision.victims) == (Outcome.UNDECIDED, ())
    assert "the search for victims stopped" in found.decision.reason
    assert any(note.startswith("The result is incomplete") for note in found.notes)


def test_size_that_starts_only_with_evictions_is_not_the_largest_that_starts_now() -> None:
    policy = policy_for("kai")
    held = held_by(policy, job("a", "vision", 1, 8), job("b", "vision", 1, 8), job("c", "vision", 1, 4), nodes=3)
    found = answer(policy, job("new", "speech", 2, 4), held)
    assert found.decision.outcome is Outcome.AFTER_EVICTIONS
    assert found.size is not None
    assert (found.size.largest, found.is_incomplete) == (1, False)


def test_evictions_equal_those_of_a_kai_cycle() -> None:
    policy = policy_for("kai")
    held = held_by(policy, job("a", "vision", 1, 8), job("b", "vision", 1, 8), job("c", "vision", 1, 8), nodes=3)
    workload = bound(compiled(policy), job("new", "speech", 1, 8))
    found = fit(policy, workload, held)
    assert found.decision.outcome is Outcome.AFTER_EVICTIONS
    cluster = compiled(policy)
    begun = ObservedCluster(cluster, model_of("kai"), held, (), START + 60).build()
    Submission(begun, workload)
    while not any(
        made["kind"] == "Pod" for made in begun.cluster_state.store.list("Pod") if "new" in made["metadata"]["name"]
    ):
        assert begun.step()
    objects = [made for of_kind in begun.cluster_state.store._objects.values() for made in of_kind.values()]
    faults: list[Fault] = []
    plain = [LocatedObject(copy.deepcopy(_plain(made)), ObjectLocation(0, 0)) for made in objects]
    read = read_cluster(plain, faults, now=START + 60, shard=None)
    victims = {
        told.name.rpartition("/")[2].rpartition("-")[0] for told in evictions(cycle(read.snapshot, read.settings))
    }
    assert {each.name for each in found.decision.victims} == victims != set()


def _plain(value: Any) -> Any:
    if hasattr(value, "items"):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, tuple | list) else value


@pytest.mark.parametrize("engine", ["kai", "kueue", "volcano"])
def test_start_time_follows_deadlines_of_running_work(engine: str) -> None:
    policy = policy_for(engine)
    held = held_by(policy, job("a", "speech", 2, 8, activeDeadlineSeconds=3600), job("b", "vision", 2, 8), nodes=4)
    for made in held:
        if made["kind"] == "Job" and made["metadata"]["name"] == "a":
            made["status"] = {"startTime": "2026-11-30T00:53:20Z"}
    found = answer(policy, job("new", "speech", 2, 8), held)
    assert found.decision.outcome is Outcome.WAITS
    assert found.start is not None
    assert found.start.at is not None
    assert 0 <= found.start.at - (START + 3600) < 120
    assert [each.name for each in found.start.after] == ["a"]
    assert "Starts at 2026-11-30T01:5" in fit_text(found)


def test_pending_workload_is_not_counted_twice() -> None:
    policy = policy_for("kueue")
    held = held_by(policy, job("a", "speech", 2, 8), job("b", "speech", 2, 8))
    found = answer(policy, job("c", "speech", 1, 8), held)
    assert found.n_waiting == 1


def test_quota_edits_are_at_their_declaration() -> None:
    policy = policy_for("kai")
    made = edited(
        policy, [QuotaEdit("vision", "limit", "gpu", 40_000), QuotaEdit("research", "guaranteed", "cpu", 2000)]
    )
    (research,) = made.queues
    speech, vision = research.children
    assert research.guaranteed is not None
    assert vision.limit is not None
    assert (research.guaranteed.cpu, vision.limit.gpu, speech) == ("2", "40", policy.queues[0].children[0])


RAY = {
    "apiVersion": "ray.io/v1",
    "kind": "RayCluster",
    "metadata": {"name": "r", "namespace": "vision"},
    "spec": {
        "headGroupSpec": {"template": {"spec": {"containers": [{"name": "h"}]}}},
        "workerGroupSpecs": [
            {"groupName": "cpu", "replicas": 9, "template": {"spec": {"containers": [{"name": "w"}]}}},
            {
                "groupName": "gpu",
                "replicas": 4,
                "minReplicas": 4,
                "maxReplicas": 8,
                "template": {"spec": {"containers": [{"name": "w", "resources": {"limits": {"nvidia.com/gpu": 8}}}]}},
            },
        ],
    },
}


def test_gpu_group_of_a_ray_cluster_is_scaled() -> None:
    dimension = dimension_of(RAY)
    assert dimension is not None
    assert (dimension.field, dimension.value) == ("spec.workerGroupSpecs[1].replicas", 4)
    made: Any = scaled(RAY, dimension, 3)
    group = made["spec"]["workerGroupSpecs"][1]
    assert (group["replicas"], group["minReplicas"], group["maxReplicas"]) == (3, 3, 8)
    assert RAY["spec"]["workerGroupSpecs"][1]["replicas"] == 4


@pytest.mark.parametrize(
    ("workload", "field"),
    [
        ({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 3, "template": {}}}, "spec.replicas"),
        (
            {
                "apiVersion": "kubeflow.org/v1",
                "kind": "PyTorchJob",
                "spec": {
                    "pytorchReplicaSpecs": {
                        "Master": {"replicas": 1, "template": {}},
                        "Worker": {"replicas": 3, "template": {}},
                    }
                },
            },
            "spec.pytorchReplicaSpecs.Worker.replicas",
        ),
        (
            {
                "apiVersion": "jobset.x-k8s.io/v1alpha2",
                "kind": "JobSet",
                "spec": {"replicatedJobs": [{"name": "w", "replicas": 2, "template": {"spec": {"template": {}}}}]},
            },
            "spec.replicatedJobs[0].replicas",
        ),
        (
            {
                "apiVersion": "leaderworkerset.x-k8s.io/v1",
                "kind": "LeaderWorkerSet",
                "spec": {"replicas": 2, "leaderWorkerTemplate": {"size": 4, "workerTemplate": {}}},
            },
            "spec.replicas",
        ),
        (
            {
                "apiVersion": "batch.volcano.sh/v1alpha1",
                "kind": "Job",
                "spec": {"minAvailable": 3, "tasks": [{"name": "a", "replicas": 3, "template": {}}]},
            },
            "spec.tasks[0].replicas",
        ),
        ({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": []}}, None),
    ],
)
def test_scaled_field_depends_on_the_kind(workload: Made, field: str | None) -> None:
    found = dimension_of({"metadata": {"name": "w"}, **workload})
    assert (None if found is None else found.field) == field


def test_minimum_members_follow_the_pod_count() -> None:
    marks = {"kai.scheduler/batch-min-member": "4", "kueue.x-k8s.io/job-min-parallelism": "3"}
    made = job("w", "vision", 4, 1, metadata={"annotations": marks})
    dimension = dimension_of(made)
    assert dimension is not None
    smaller: Any = scaled(made, dimension, 2)
    assert (smaller["spec"]["parallelism"], smaller["spec"]["completions"]) == (2, 2)
    assert smaller["metadata"]["annotations"] == {"kai.scheduler/batch-min-member": "2"}


def test_lower_request_lowers_the_limit() -> None:
    made: Any = with_request(job("w", "vision", 1, 8), "nvidia.com/gpu", 3)
    resources = made["spec"]["template"]["spec"]["containers"][0]["resources"]
    assert (resources["requests"]["nvidia.com/gpu"], resources["limits"]["nvidia.com/gpu"]) == ("3", "3")
    assert resources["requests"]["cpu"] == "4"


@pytest.mark.parametrize(("most", "bad", "expected"), [(10, 6, 5), (10, 1, 0), (200, 120, 119), (200, 201, 200)])
def test_largest_value_is_below_the_first_misfit(most: int, bad: int, expected: int) -> None:
    found = largest(most, lambda value: value < bad)
    assert found.value == expected
    assert found.n_verified <= max(0, expected - 1)


def test_smaller_misfit_lowers_the_largest_value() -> None:
    assert largest(8, lambda value: value != 3).value == 2
    assert largest(200, lambda value: value != 9).value == 8


def test_fit_does_not_change_the_cluster() -> None:
    policy = policy_for("kai")
    cluster = compiled(policy)
    held = held_by(policy, job("a", "speech", 2, 8))
    probe = Probe(ObservedCluster(cluster, model_of("kai"), held, (), START + 60).build)
    settled = probe.cluster
    new, larger = (bound(cluster, job("new", "vision", n, 8)) for n in (2, 3))
    assert [probe.decide(each).outcome for each in (new, larger, new)] == [Outcome.NOW, Outcome.WAITS, Outcome.NOW]
    assert probe.cluster is settled


@pytest.mark.parametrize("engine", SIMULATED)
def test_new_pods_of_a_simulated_snapshot_have_uids_of_their_own(engine: str) -> None:
    policy = policy_for(engine)
    ended = held_by(policy, *(job(f"w{n}", "speech", 2, 1) for n in range(8)))
    held = [made for made in ended if made["metadata"].get("namespace") != "speech" or "w7" in str(made["metadata"])]
    observed = ObservedCluster(compiled(policy), model_of(engine), held, (), START + 60)
    cluster = Probe(observed.build).cluster
    known = {made["metadata"]["uid"] for made in held if made["kind"] == "Pod"}
    assert len(known) == 2
    submission = Submission(cluster, bound(compiled(policy), job("new", "vision", 20, 1)))
    submission.settle(60)
    assert submission.running is not None
    uids = set(submission.running.pods.values())
    assert len(uids) == 20
    assert uids.isdisjoint(known)


def test_text_fits_80_columns() -> None:
    policy = policy_for("kai")
    held = held_by(policy, job("a", "speech", 2, 8), job("b", "vision", 1, 8))
    text = fit_text(answer(policy, job("new", "vision", 2, 8), held))
    assert text.startswith("Job vision/new: waits\n  2 pods, 16 GPUs, queue vision (assigned)\n")
    assert all(len(line) <= 80 or "/" in line for line in text.splitlines())


def test_json_starts_now_only_without_evictions() -> None:
    policy = policy_for("kai")
    held = held_by(policy, job("a", "vision", 1, 8), job("b", "vision", 1, 8), job("c", "vision", 1, 8), nodes=3)
    document = fit_document(answer(policy, job("new", "speech", 1, 8), held))
    assert document["decision"]["outcome"] == "starts after evictions"
    assert document["startsNow"] is False
    assert [each["name"] for each in document["decision"]["victims"]] == ["c"]


def test_running_work_without_queue_is_noted() -> None:
    policy = policy_for("kueue")
    held = [made for made in held_by(policy, job("a", "vision", 1, 8)) if made["kind"] != "Workload"]
    found = answer(policy, job("new", "vision", 1, 8), held)
    assert found.notes[0].startswith("1 running workload with GPUs does not count against any queue: Job vision/a.")
