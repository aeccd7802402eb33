"""Small clusters under ACK: jobs in their queues, gangs on nodes, and reclaim."""

from __future__ import annotations

from typing import Any

import pytest

from apportion_runtime.engines.ack.engine import Ack
from apportion_runtime.engines.ack.model import MODEL as ACK
from apportion_runtime.engines.kai.model import MODEL as KAI
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.engine import UnreadableError
from apportion_runtime.sim.history import Fact, History
from apportion_runtime.sim.invariants import broken
from apportion_runtime.sim.scenario.fields import ScenarioError
from apportion_runtime.sim.scenario.reader import read_scenario

Node = dict[str, Any]
NODES = "nodes: [{pool: n, count: 2, cpu: 8, memory: 64Gi}]\n"


def quota(name: str, least: int, most: int, *children: Node, namespaces: tuple[str, ...] = ()) -> Node:
    made: Node = {"name": name, "min": {"cpu": least}, "max": {"cpu": most}}
    return {**made, **({"children": list(children)} if children else {"namespaces": list(namespaces or (name,))})}


def tree(*children: Node, cpu: int = 16) -> Node:
    return {
        "apiVersion": "scheduling.sigs.k8s.io/v1beta1",
        "kind": "ElasticQuotaTree",
        "metadata": {"name": "elasticquotatree", "namespace": "kube-system"},
        "spec": {"root": quota("root", cpu, cpu, *children)},
    }


TREE = tree(quota("a", 8, 12), quota("b", 8, 16), quota("interns", 0, 16))


def queue(path: str, policy: str, **spec: Any) -> Node:
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "Queue",
        "metadata": {
            "name": f"own-{path.rpartition('/')[2]}",
            "namespace": "kube-queue",
            "annotations": {"kube-queue/quota-fullname": path},
        },
        "spec": {"queuePolicy": policy, **spec},
    }


def cluster_of(text: str, *objects: Node) -> Cluster:
    scenario = read_scenario(text, lambda name: [], ACK.workload_labels)
    return Cluster(objects or (TREE,), scenario, ACK)


def engine_of(cluster: Cluster) -> Ack:
    assert isinstance(cluster.engine, Ack)
    return cluster.engine


def run(text: str, *objects: Node) -> History:
    """Run to the end, with nothing broken after any event."""
    cluster = cluster_of(text, *objects)
    while cluster.step():
        assert broken(cluster.cluster_state, cluster.workloads.running) == []
    return cluster.finish()


def of(history: History, what: str, workload: str = "") -> list[Fact]:
    return [fact for fact in history.facts if fact.what == what and workload in ("", fact.workload)]


def at(history: History, what: str, workload: str = "") -> list[float]:
    return [fact.at_s for fact in of(history, what, workload)]


def job(name: str, namespace: str, cpu: int = 8, **more: Any) -> str:
    said = {"name": name, "kind": "Job", "namespace": namespace, "cpu": cpu, "memory": "1Gi", "duration": 100, **more}
    return f"  - {said}\n"


def test_every_tree_node_has_a_queue() -> None:
    cluster = cluster_of(NODES, TREE, queue("root/a", "Block", priority=3))
    made = {
        each["metadata"]["annotations"]["kube-queue/quota-fullname"]: each
        for each in cluster.cluster_state.store.list("Queue")
    }
    assert sorted(made) == ["root", "root/a", "root/b", "root/interns"]
    assert made["root/a"]["metadata"]["name"] == "own-a"
    generated = made["root/b"]["metadata"]
    assert generated["name"].startswith("root-b-")
    assert len(generated["name"]) == len("root-b-") + 5
    assert generated["labels"] == {"create-by-kubequeue": "true"}
    assert generated["annotations"]["kube-queue/parent-quota-fullname"] == "root"
    assert next(iter(engine_of(cluster).queue.job_queues.queues)) == "own-a", "queues of a higher priority go first"


def test_job_is_dequeued_when_its_quota_has_room() -> None:
    cluster = cluster_of(NODES + "workloads:\n" + job("one", "a") + job("two", "a"))
    cluster.step()
    while cluster.cluster_state.events.next_at() == cluster.cluster_state.now:
        cluster.step()
    one, two = (cluster.cluster_state.store.get("Job", "a", name) for name in ("one", "two"))
    assert one is not None
    assert two is not None
    assert one["metadata"]["annotations"] == {
        "kube-queue/job-enqueue-timestamp": "2026-01-05 00:00:00 +0000 UTC m=+0.000000000",
        "kube-queue/job-dequeue-timestamp": "2026-01-05 00:00:00 +0000 UTC m=+0.000000000",
    }
    assert not one["spec"]["suspend"]
    assert "kube-queue/job-dequeue-timestamp" not in two["metadata"]["annotations"]
    assert two["spec"]["suspend"]
    unit = cluster.cluster_state.store.get("QueueUnit", "a", "two")
    assert unit is not None
    assert unit["spec"]["resource"] == {"cpu": "8000m", "memory": "1073741824"}
    (status,) = (
        each["status"]["queueItemDetails"]
        for each in cluster.cluster_state.store.list("Queue")
        if each["metadata"]["annotations"]["kube-queue/quota-fullname"] == "root/a"
    )
    assert status == {"active": [], "backoff": [{"name": "two", "namespace": "a", "position": 1, "priority": 0}]}
    cluster.run()
    # Silent for 1, 2, 4, 8, 16 seconds and then 20 each time, it is tried again 111 seconds after it came.
    assert at(cluster.history, "dequeued", "two") == [111.0]
    assert cluster.cluster_state.store.list("QueueUnit") == ()


@pytest.mark.parametrize(
    ("policy", "order"), [("Round", ["first", "small", "large"]), ("Block", ["first", "large", "small"])]
)
def test_block_policy_keeps_small_jobs_behind_large_ones(policy: str, order: list[str]) -> None:
    history = run(
        NODES + "workloads:\n" + job("first", "a", 8) + job("large", "a", 8) + job("small", "a", 4),
        TREE,
        queue("root/a", policy),
    )
    assert [fact.workload for fact in of(history, "dequeued")] == order


def test_released_quota_ends_backoff_under_priority_policy() -> None:
    history = run(NODES + "workloads:\n" + job("one", "a") + job("two", "a"), TREE, queue("root/a", "Priority"))
    assert at(history, "dequeued", "two") == [at(history, "finished", "one")[0]] == [102.0]


def test_jump_moves_job_to_head_and_priority_reorders_queue() -> None:
    history = run(
        NODES
        + "workloads:\n"
        + "".join(job(name, "a") for name in ("one", "two", "three", "four"))
        + """
events:
  - {at: 10s, job: {namespace: a, name: four}, jump: true}
  - {at: 11s, job: {namespace: a, name: three}, priority: 7}
  - {at: 12s, job: {namespace: a, name: one}, jump: true}
""",
        TREE,
        queue("root/a", "Priority"),
    )
    assert of(history, "jumped")[0].why.startswith("from 0 to 1, rank 1 of 3; position ")
    assert of(history, "priority")[0].why.startswith("from 0 to 7, rank 1 of 3; position ")
    assert (
        of(history, "priority-refused")[0].why
        == "a/one is not queued; the priority of a dequeued job cannot be changed"
    )
    assert [fact.workload for fact in of(history, "dequeued")] == ["one", "three", "four", "two"]


def test_unschedulable_gang_backs_off() -> None:
    ray = {
        "name": "ray", "kind": "RayJob", "namespace": "b", "pods": 2, "cpu": 5, "memory": "1Gi",
        "head": {"cpu": 5, "memory": "1Gi"}, "duration": 60,
    }  # fmt: skip
    short = "".join(job(f"j{i}", "a", 1, at=i, duration=1) for i in range(9))
    history = run(NODES + f"workloads:\n  - {ray}\n" + short)
    failed = of(history, "GangFailedScheduling")
    assert failed[0].why == (
        "ray-cluster-head in gang failed to be scheduled in cycle 1: 0/2 nodes are available: 2 Insufficient cpu."
    )
    assert sum(fact.at_s == 0 for fact in failed) == 3, "one for each pod"
    # A pod leaves its place in each second from the third to the eleventh; the gang keeps silent for 1, 2, 4, 8 seconds.
    assert sorted({fact.at_s for fact in failed}) == [0.0, 3.0, 5.0, 9.0, 17.0]
    assert history.ended_s == 17.0, "after that nothing changes any more"
    assert of(history, "bound", "ray") == []


def test_job_of_an_unschedulable_gang_is_requeued() -> None:
    ray = {
        "name": "ray", "kind": "RayJob", "namespace": "b", "pods": 2, "cpu": 5, "memory": "1Gi",
        "head": {"cpu": 5, "memory": "1Gi"}, "duration": 60,
    }  # fmt: skip
    history = run(
        NODES + f"timing: {{requeue: 60s}}\nworkloads:\n  - {ray}\n" + job("other", "b", 12, at=20)
        + "until: 10m\n"
    )  # fmt: skip
    assert at(history, "requeued", "ray")[:3] == [60.0, 121.0, 183.0], "silent for one second, then for two"
    assert of(history, "requeued")[1].why == (
        "Backoff due to running timeout; position 1 in the backoff queue of root-b-"
        + of(history, "enqueued")[0].why[-5:]
        + ", for another 2s"
    )
    assert at(history, "dequeued", "ray")[:3] == [0.0, 61.0, 123.0]
    # While it keeps silent it holds no quota.
    assert at(history, "dequeued", "other") != []


def test_lent_quota_is_reclaimed_from_queues_without_min_first() -> None:
    history = run(
        NODES + "workloads:\n"
        + job("intern", "interns", 4, pods=2)
        + job("borrower", "a", 4, pods=2)
        + job("owner", "b", 4, pods=2, at=10)
    )  # fmt: skip
    assert {fact.workload for fact in of(history, "evicted")} == {"intern"}
    assert {taken.action for taken in history.taken} == {"reclaim"}
    assert of(history, "evicted")[0].why == "root/interns exceeds its min, and root/b is within its min"
    assert history.workloads[2].started_s == pytest.approx(40.0), "after the grace of those who leave"
    assert history.workloads[0].outcome == "succeeded"


def test_quota_above_its_min_reclaims_nothing() -> None:
    history = run(NODES + "workloads:\n" + job("intern", "interns", 4, pods=4) + job("greedy", "a", 4, at=10, count=3))
    # Two of the jobs are within the min of 8 cores, and the third stays in its queue.
    assert len(of(history, "evicted")) == 2
    assert at(history, "bound", "greedy-0") == at(history, "bound", "greedy-1") == [40.0]
    assert of(history, "backoff", "greedy-2")[0].why.startswith("Insufficient quota(cpu) in parent quota root: ")
    assert at(history, "dequeued", "greedy-2") > [100.0]


def test_lower_priority_pods_of_a_quota_are_preempted() -> None:
    """Pods that were never queued find a full node, and their quota has all that it is promised."""
    classes = [
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
        for name, value in (("urgent", 1000), ("normal", 0))
    ]
    pod = {"kind": "Pod", "namespace": "a", "cpu": 4, "memory": "1Gi", "duration": 100}
    works = [
        *({**pod, "name": f"low-{i}", "priority": "normal", "at": i} for i in range(3)),
        {**pod, "name": "other", "namespace": "b", "priority": "normal"},
        {**pod, "name": "high", "priority": "urgent", "at": 10},
    ]
    history = run(NODES + f"workloads: {works}\n", tree(quota("a", 4, 16), quota("b", 4, 8)), *classes)
    assert [fact.workload for fact in of(history, "evicted")] == ["low-2"], "the newest"
    assert history.taken[0].action == "preempt"
    assert of(history, "evicted")[0].why == "lower priority (0) than high in root/a"
    assert at(history, "bound", "high") == [40.0]


def test_ray_job_holds_quota_until_its_cluster_is_deleted() -> None:
    manifest = {
        "apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "ray", "namespace": "a"},
        "spec": {
            "suspend": True, "shutdownAfterJobFinishes": True, "ttlSecondsAfterFinished": 60,
            "rayClusterSpec": {"headGroupSpec": {"template": {"spec": {"containers": [
                {"name": "head", "resources": {"requests": {"cpu": "8"}}}]}}}},
        },
    }  # fmt: skip
    history = run(
        NODES + f"workloads:\n  - {{manifest: {manifest}, duration: 100}}\n" + job("next", "a"),
        TREE, queue("root/a", "Priority"),
    )  # fmt: skip
    assert at(history, "done", "ray") == [104.0]
    assert at(history, "finished", "ray") == [164.0]
    assert history.workloads[0].finished_s == 104.0
    assert history.workloads[0].lost_gpu_s == 0
    assert at(history, "dequeued", "next") == [164.0]


@pytest.mark.parametrize(
    ("manifest", "what", "why"),
    [
        (
            {"apiVersion": "ray.io/v1", "kind": "RayJob", "spec": {"suspend": True, "rayClusterSpec": {}}},
            "refused", "a RayJob with shutdownAfterJobFinishes set to false is not allowed to be suspended",
        ),
        (
            {"apiVersion": "batch/v1", "kind": "Job", "spec": {"suspend": True, "template": {"spec": {
                "containers": [{"name": "m", "resources": {"requests": {"cpu": "lots"}}}]}}}},
            "refused", "Job a/w: spec.template: `lots` is not a quantity such as 500m, 2 or 16Gi",
        ),
        (
            {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "spec": {"suspend": True}},
            "waiting", "kube-queue does not support jobset.x-k8s.io/JobSet: the job stays suspended",
        ),
        (
            {"apiVersion": "batch/v1", "kind": "Job", "spec": {"suspend": True, "template": {"spec": {}}},
             "metadata": {"labels": {"quota.scheduling.alibabacloud.com/name": "nobody"}}},
            "waiting", "the job doesn't belong to any elastic quota",
        ),
        (
            {"apiVersion": "batch/v1", "kind": "Job", "spec": {"suspend": True, "template": {"spec": {}}},
             "metadata": {"annotations": {"kube-queue/queue-name": "elsewhere"}}},
            "waiting", "failed to find queue object in cluster",
        ),
    ],
)  # fmt: skip
def test_jobs_that_never_dequeue_have_reasons(manifest: Node, what: str, why: str) -> None:
    metadata = {"name": "w", "namespace": "a", **manifest.get("metadata", {})}
    history = run(NODES + f"workloads:\n  - manifest: { ({**manifest, 'metadata': metadata}) }\nuntil: 1m\n")
    assert [fact.why for fact in of(history, what)] == [why]


def test_existing_queue_unit_is_a_reason() -> None:
    """A RayJob's QueueUnit has a suffix, and a Job may be called so."""
    history = run(NODES + "workloads:\n" + job("w-ray-qu", "a") + job("w", "a", kind="RayJob") + "until: 10m\n")
    assert [fact.why for fact in of(history, "waiting", "w")] == ["QueueUnit a/w-ray-qu already exists"]


def test_training_operator_jobs_are_suspended_by_annotation() -> None:
    pod = {"spec": {"containers": [{"name": "m", "resources": {"requests": {"cpu": "8"}}}]}}
    manifest = {
        "apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob",
        "metadata": {"name": "w", "namespace": "a", "annotations": {"scheduling.x-k8s.io/suspend": "true"}},
        "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 1, "template": pod}}},
    }  # fmt: skip
    cluster = cluster_of(NODES + f"workloads:\n  - {{manifest: {manifest}, duration: 100}}\n" + job("one", "a", at=1))
    while (cluster.cluster_state.events.next_at() or 0.0) < cluster.scenario.start + 50:
        cluster.step()
    made = cluster.cluster_state.store.get("PyTorchJob", "a", "w")
    assert made is not None
    assert made["metadata"]["annotations"]["scheduling.x-k8s.io/suspend"] == "false"
    assert cluster.cluster_state.store.get("QueueUnit", "a", "w-py-qu") is not None
    history = cluster.run()
    assert history.workloads[0].outcome == "succeeded"
    assert at(history, "dequeued", "one") > at(history, "finished", "w")


def test_node_pool_scales_up_for_dequeued_jobs() -> None:
    history = run(
        "nodes: [{pool: n, count: 0, max: 2, cpu: 8, memory: 64Gi, scale_up: 30s, idle: 60s}]\nworkloads:\n"
        + job("one", "b", 8)
    )
    assert len(of(history, "node-asked")) == 1
    assert at(history, "bound", "one") == [30.0]


@pytest.mark.parametrize(
    ("objects", "why"),
    [
        ((queue("root/a", "Block"),), "found no ElasticQuotaTree in namespace kube-system; ACK requires exactly one"),
        (
            (TREE, {**TREE, "metadata": {"name": "another", "namespace": "kube-system"}}),
            "found 2 ElasticQuotaTrees in namespace kube-system; ACK requires exactly one",
        ),
        (
            (tree(quota("", 1, 1)),),
            "ElasticQuotaTree elasticquotatree: spec.root.children[0].name: a node must have a name",
        ),
    ],
)
def test_unreadable_objects_are_named(objects: tuple[Node, ...], why: str) -> None:
    with pytest.raises(UnreadableError) as refused:
        cluster_of(NODES, *objects)
    assert str(refused.value) == why


@pytest.mark.parametrize(
    ("event", "why"),
    [
        ("{at: 1s, job: {namespace: a}, jump: true}", "events[0].job.name: must be the name of the job"),
        ("{at: 1s, job: {name: x}}", "events[0].job: set `priority` or `jump`, but not both"),
        ("{at: 1s, job: {name: x}, priority: high}", "events[0].priority: `high` is not an integer"),
        ("{at: 1s, job: {name: x, kind: Job}, jump: true}", "events[0].job.kind: unknown field"),
    ],
)
def test_invalid_event_has_its_location(event: str, why: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        cluster_of(f"events: [{event}]")
    assert str(refused.value).startswith(why)


def test_scenario_with_requeues_requires_an_end() -> None:
    with pytest.raises(ScenarioError, match=r"^until: a scenario with timing\.requeue requires `until`"):
        cluster_of("timing: {requeue: 5m}")


def test_engine_without_job_queues_refuses_jumps() -> None:
    scenario = read_scenario("events: [{at: 1s, job: {name: x}, jump: true}]", lambda name: [])
    with pytest.raises(ScenarioError, match=r"events\[0\]: KAI Scheduler does not support this event"):
        Cluster((), scenario, KAI)
