"""Small clusters: workloads, nodes and pools over time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from apportion_runtime.sim.api.clock import Clock
from apportion_runtime.sim.api.events import CycleDue, EventQueue, PodGone, WorkloadArrives
from apportion_runtime.sim.api.object_store import Conflict, ObjectStore, Refused
from apportion_runtime.sim.cluster import Cluster, InvariantError
from apportion_runtime.sim.controllers.cron_schedule import due_times
from apportion_runtime.sim.history import GroupWait, History
from apportion_runtime.sim.report.summary import percentile, summarise
from apportion_runtime.sim.scenario.fields import ScenarioError
from apportion_runtime.sim.scenario.reader import read_scenario


def queue(name: str, parent: str = "", quota: float = -1, limit: float = -1) -> dict[str, Any]:
    free = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    resources = {"cpu": free, "memory": free, "gpu": {"quota": quota, "limit": limit, "overQuotaWeight": 1}}
    spec = {"resources": resources, **({"parentQueue": parent} if parent else {})}
    return {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}, "spec": spec}


QUEUES = (queue("top"), queue("a", "top", 2), queue("b", "top", 2))


def run(text: str, objects: tuple[dict[str, Any], ...] = QUEUES) -> tuple[History, Cluster]:
    cluster = Cluster(objects, read_scenario(text, lambda name: []))
    return cluster.run(), cluster


def times(history: History, what: str, workload: str = "") -> list[float]:
    return [fact.at_s for fact in history.facts if fact.what == what and workload in ("", fact.workload)]


NODES = "nodes: [{pool: gpu, count: 1, gpus: 4, cpu: 32, memory: 128Gi}]\n"


def test_pod_lifecycle() -> None:
    history, _ = run(
        NODES + "workloads: [{name: p, kind: Pod, queue: a, gpus: 1, at: 10s, startup: 60s, duration: 100s}]"
    )
    assert times(history, "bound") == [10.0]
    assert times(history, "running") == [12.0]
    assert times(history, "succeeded") == [172.0]
    assert history.workloads[0].outcome == "succeeded"
    assert [(stay.since_s, stay.until_s, stay.gpus) for stay in history.stays] == [(10.0, 172.0, 1.0)]
    assert history.waits == [GroupWait(history.waits[0].group, 0, "a", 10.0, 10.0)]


def test_job_respects_parallelism() -> None:
    history, _ = run(NODES + "workloads: [{name: j, kind: Job, queue: a, pods: 3, parallelism: 2, duration: 100s}]")
    assert times(history, "bound") == [0.0, 0.0, 102.0]
    assert history.workloads[0].finished_s == 204.0


def test_reclaimed_work_resumes_from_its_checkpoint() -> None:
    history, _ = run(
        NODES
        + """
workloads:
  - {name: borrower, kind: PyTorchJob, queue: a, priority: train, pods: 4, gpus: 1, duration: 1000s, checkpoint: 300s}
  - {name: owner, kind: Job, queue: b, priority: train, at: 500s, pods: 2, gpus: 1, duration: 100s}
"""
    )
    assert times(history, "evicted", "borrower") == [500.0] * 4
    assert {taken.action for taken in history.taken} == {"reclaim"}
    borrower = history.workloads[0]
    assert borrower.n_evictions == 1
    assert borrower.lost_gpu_s == pytest.approx((498.0 - 300.0) * 4)
    assert history.workloads[1].started_s == 530.0
    # It is back when the owner is done, and 700 seconds of work are left.
    assert borrower.finished_s == pytest.approx(632.0 + 2.0 + 700.0)


def test_elastic_gang_shrinks_to_its_minimum() -> None:
    history, _ = run(
        NODES
        + """
workloads:
  - {name: elastic, kind: RayCluster, queue: a, priority: train, pods: 4, min: 2, gpus: 1, duration: 1000s}
  - {name: owner, kind: Job, queue: b, at: 502s, pods: 2, gpus: 1, duration: 10000s}
"""
    )
    assert len(times(history, "evicted", "elastic")) == 2
    assert history.workloads[0].lost_gpu_s == 0.0
    # Half of the work is done by four workers; then three for a second, as the owner's pods come one by one, then two.
    assert history.workloads[0].finished_s == pytest.approx(503.0 + (2000.0 - 3.0) / 2)


def test_pods_of_a_failed_node_are_recreated() -> None:
    history, cluster = run(
        """
nodes: [{pool: gpu, count: 2, gpus: 1}]
timing: {node_lost: 60s}
workloads: [{name: j, kind: Job, queue: a, gpus: 1, duration: 1000s}]
events: [{at: 100s, node: gpu-0000, what: fails}]
"""
    )
    assert times(history, "gone") == [160.0]
    assert [stay.ended_by for stay in history.stays] == ["node-lost", "succeeded"]
    assert [stay.node for stay in history.stays] == ["gpu-0000", "gpu-0001"]
    assert [gpus for _, gpus in history.capacity] == [1.0, 2.0, 1.0]
    assert cluster.cluster_state.pods == {}


def test_evicted_bare_pod_is_lost() -> None:
    history, _ = run(
        NODES
        + """
workloads: [{name: p, kind: Pod, queue: a, gpus: 1, duration: 1000s}]
events: [{at: 100s, node: gpu-0000, what: drains}]
"""
    )
    assert history.workloads[0].outcome == "lost"


def test_node_pool_scales_up_and_down() -> None:
    history, cluster = run(
        """
until: 2h
nodes: [{pool: gpu, count: 1, min: 1, max: 3, gpus: 1, scale_up: 2m, idle: 5m}]
workloads: [{name: j, kind: Job, queue: a, pods: 5, gpus: 1, duration: 10m}]
"""
    )
    assert times(history, "node-asked") == [0.0, 0.0]
    assert times(history, "node-joined") == [0.0, 120.0, 120.0]
    assert len(times(history, "node-left")) == 2
    assert len(cluster.cluster_state.records.nodes) == 1
    assert history.workloads[0].outcome == "succeeded"


def test_replicas_follow_demand() -> None:
    history, _ = run(
        NODES
        + """
workloads:
  - name: serve
    kind: Deployment
    queue: a
    priority: train
    gpus: 1
    lifetime: 1h
    load: [{at: 10m, replicas: 3}, {at: 20m, replicas: 1}]
"""
    )
    assert times(history, "bound") == [0.0, 600.0, 600.0]
    assert times(history, "gone") == [1230.0, 1230.0, 3630.0]


def test_cron_job_creates_jobs() -> None:
    history, _ = run(
        "until: 1h\n"
        + NODES
        + 'workloads: [{name: c, kind: CronJob, queue: a, schedule: "*/20 * * * *", duration: 60s}]'
    )
    assert [facts.name for facts in history.workloads] == ["c", "c-1", "c-2", "c-3", "c-4"]
    assert [facts.arrived_s for facts in history.workloads[1:]] == [0.0, 1200.0, 2400.0, 3600.0]


def test_pending_workload_is_cancelled() -> None:
    history, _ = run(NODES + "workloads: [{name: big, kind: Job, queue: a, gpus: 8, cancel_after: 5m}]")
    assert (history.workloads[0].outcome, history.workloads[0].finished_s) == ("deleted", 300.0)
    assert {made.name: made.wait_p50_s for made in summarise(history).queues} == {"top": 300.0, "a": 300.0, "b": None}


def test_simultaneous_events_are_ordered_by_kind() -> None:
    events = EventQueue()
    for event in (CycleDue(), WorkloadArrives(2), WorkloadArrives(1), PodGone("x")):
        events.plan(5.0, event)
    events.plan(1.0, CycleDue())
    assert [events.take()[1] for _ in range(5)] == [
        CycleDue(),
        PodGone("x"),
        WorkloadArrives(2),
        WorkloadArrives(1),
        CycleDue(),
    ]


def test_next_cycle_precedes_one_that_was_requested_for_later() -> None:
    state = Cluster(QUEUES, read_scenario(NODES, lambda name: [])).cluster_state

    def cycles() -> list[float]:
        """Remove the pending events, and return the times of cycles."""
        events = [state.events.take() for _ in range(len(state.events))]
        return [at - state.clock.start for at, event in events if event == CycleDue()]

    state.request_cycle()
    assert cycles() == [0.0]
    assert state.begins_cycle()
    state.request_cycle(state.now + 30.0)
    state.request_cycle()
    state.request_cycle()
    assert cycles() == [1.0, 30.0]


def test_clock_is_monotonic() -> None:
    clock = Clock()
    clock.advance(clock.now + 5)
    with pytest.raises(ValueError, match="cannot go back"):
        clock.advance(clock.start)


def test_object_store_rejects_conflicts() -> None:
    store = ObjectStore(Clock())
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ns"}, "spec": {}}
    told: list[str] = []
    store.watch("Pod", lambda change: told.append(change.what))
    first = store.create(pod)
    with pytest.raises(Conflict):
        store.create(pod)
    with pytest.raises(Refused, match="node nowhere does not exist"):
        store.bind("ns", "p", "nowhere", ())
    store.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {}})
    bound = store.bind("ns", "p", "n", ("g1", "g2"))
    assert bound["metadata"]["labels"] == {"runai-gpu-group": "g1", "runai-gpu-group/g2": "g2"}
    assert int(bound["metadata"]["resourceVersion"]) > int(first["metadata"]["resourceVersion"])
    with pytest.raises(Refused):
        store.bind("ns", "p", "n", ())
    store.delete("Pod", "ns", "p")
    assert told == ["added", "modified", "deleted"]
    assert first["spec"] == {}, "an object that was given out stays as it was"


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("30 2 * * *", ["2026-01-05T02:30", "2026-01-06T02:30"]),
        ("0 9-17/4 * * 1-5", ["2026-01-05T09:00", "2026-01-05T13:00"]),
        ("0 0 1 * *", ["2026-02-01T00:00", "2026-03-01T00:00"]),
        ("0 0 13 * 5", ["2026-01-09T00:00", "2026-01-13T00:00"]),
        ("@weekly", ["2026-01-11T00:00", "2026-01-18T00:00"]),
    ],
)
def test_cron_schedules(schedule: str, expected: list[str]) -> None:
    due = due_times(schedule, Clock().start)
    found = [datetime.fromtimestamp(next(due), UTC).isoformat()[:16] for _ in range(2)]
    assert found == expected


@pytest.mark.parametrize("schedule", ["* * * *", "61 * * * *", "x * * * *", "5-1 * * * *"])
def test_invalid_cron_schedule_is_an_error(schedule: str) -> None:
    with pytest.raises(ValueError, match=r"schedule|not in the range|literal"):
        next(due_times(schedule, 0.0))


def test_impossible_cron_date_ends_the_schedule() -> None:
    assert list(due_times("0 0 31 2 *", 0.0)) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nodes: [{pool: a, gpuss: 1}]", r"nodes\[0\].gpuss: unknown field"),
        ("nodes: [{pool: a, count: 5, max: 3}]", r"nodes\[0\].count: 5 is not between min 5 and max 3"),
        ("workloads: [{name: a, duration: soon}]", r"workloads\[0\].duration: `soon` is not a duration"),
        ("workloads: [{name: a, kind: Tram}]", r"workloads\[0\].kind: `Tram` has no short form"),
        ("workloads: [{name: a, gpus: 1.5}]", r"workloads\[0\].gpus: `1.5` is neither"),
        ("workloads: [{name: c, kind: CronJob, schedule: '* * * * *'}]", r"until: "),
        ("events: [{at: 1s, what: fails}]", r"events\[0\].what: "),
        (
            "events: [{at: 1h, node: n, what: explodes}]",
            r"events\[0\].what: `explodes` is not an event of a node; use fails, drains or joins",
        ),
        ("- a", "a scenario must be a mapping"),
        ("workloads: [{name: Train_1}]", r"workloads\[0\].name: `Train_1` is not a valid Kubernetes name"),
        ("nodes: [{pool: GPU}]", r"nodes\[0\].pool: `GPU` is not a valid Kubernetes name"),
        ("workloads: [{name: a, pods: 2, min: 3}]", r"workloads\[0\].min: 3 is greater than `pods` \(2\)"),
        (
            "events: [{at: 1s, deleted: {kind: Pod}}]",
            r"events\[0\].deleted.name: an object must have a `kind` and a `name`",
        ),
        ("a: [", "invalid YAML: expected the node content"),
        ("nodes: [{pool: a}, {pool: b}, {pool: a}]", r"nodes\[2\].pool: another entry of `nodes` has the name a"),
        (
            "workloads: [{name: a, gpus: 1, gpus: 2}]",
            r"workloads\[0\].gpus: set twice; remove this value or the one on line 1",
        ),
    ],
)
def test_invalid_scenario_has_its_location(text: str, expected: str) -> None:
    with pytest.raises(ScenarioError, match=expected):
        read_scenario(text, lambda name: [])


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("nodes:\n  - pool: a\n    gpus: four\n", 3),
        ("nodes:\n  - pool: a\nworkloads:\n  - name: x\n    head:\n      cpu: many\n", 6),
        ("name: x\nworkloads:\n  - {gpus: 1}\n", 3),
        ("name: x\nworkloads:\n  a: b\n", 2),
        ("name: x\nworkloads: [\n", 3),
        ("- a\n", None),
        ("name: x\nworkloads: []\nevents: []\nworkloads: []\n", 4),
        ("nodes:\n  - {pool: a}\n  - count: 2\n    pool: a\n", 4),
    ],
)
def test_scenario_error_has_its_line(text: str, line: int | None) -> None:
    """That of the field, or, where it is missing, of what it should stand in."""
    with pytest.raises(ScenarioError) as wrong:
        read_scenario(text, lambda name: [])
    assert wrong.value.line == line


def test_merge_keys_are_not_duplicates() -> None:
    """A merged value may be overridden, and a mapping may merge several others."""
    text = "nodes: [{pool: a, labels: {<<: {x: '1', y: '1'}, <<: {z: '1'}, x: '2'}}]"
    assert read_scenario(text, lambda name: []).pools[0].shape.labels == {"x": "2", "y": "1", "z": "1"}


def test_percentiles_are_observed_values() -> None:
    assert [percentile([1.0, 2.0, 3.0, 4.0], p) for p in (50, 90, 99)] == [2.0, 4.0, 4.0]
    assert percentile([], 50) is None


def test_parent_usage_is_the_sum_of_its_children() -> None:
    history, _ = run(
        NODES
        + """
workloads:
  - {name: one, kind: Job, queue: a, gpus: 1, duration: 1h}
  - {name: two, kind: Job, queue: b, gpus: 2, duration: 1h}
"""
    )
    queues = {made.name: made for made in summarise(history).queues}
    assert queues["top"].gpu_hours == pytest.approx(queues["a"].gpu_hours + queues["b"].gpu_hours)
    assert queues["b"].gpu_hours == pytest.approx(2 * 3602 / 3600)
    assert queues["a"].share == pytest.approx(1.0)


def test_invariants_are_checked_during_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod that stands where the scheduler does not believe it is a fault of the simulation, and ends it."""
    monkeypatch.setattr("apportion_runtime.sim.cluster._CHECKED_EVERY", 1)
    text = NODES + "workloads: [{name: p, kind: Pod, queue: a, gpus: 1, duration: 60s}]"
    cluster = Cluster(QUEUES, read_scenario(text, lambda name: []))

    def lose(_: float) -> None:
        for made in cluster.cluster_state.store.list("Pod"):
            cluster.cluster_state.store.update({**made, "spec": {**made["spec"], "nodeName": "elsewhere"}})

    with pytest.raises(InvariantError, match="is on elsewhere"):
        cluster.run(lose)


def test_work_is_pending_without_nodes() -> None:
    history, _ = run("until: 1h\nworkloads: [{name: w, kind: Job, queue: a, gpus: 1, duration: 1h}]\n")
    assert history.workloads[0].started_s is None
    assert history.workloads[0].why_waiting


@pytest.mark.parametrize(("version", "kind"), [("batch/v1", "batch/Jobb"), ("v1", "Jobb")])
def test_unsupported_kind_is_refused(version: str, kind: str) -> None:
    made = (
        f"{{apiVersion: {version}, kind: Jobb, metadata: {{name: j, labels: {{kai.scheduler/queue: a}}}}, spec: {{}}}}"
    )
    history, _ = run(NODES + f"workloads: [{{duration: 60s, manifest: {made}}}]\n")
    assert history.workloads[0].why_waiting == f"{kind} is not simulated"


def test_pod_that_is_assigned_to_a_node_is_refused() -> None:
    history, _ = run(
        NODES
        + "workloads:\n- manifest: {apiVersion: v1, kind: Pod, metadata: {name: p, namespace: a, labels: {kai.scheduler/queue: a}}, "
        "spec: {schedulerName: kai-scheduler, nodeName: n-0, containers: [{name: c, image: i}]}}\n  duration: 60s\n"
    )
    assert history.workloads[0].outcome == "refused"
    assert history.workloads[0].why_waiting == (
        "spec.nodeName assigns its pod to a node without the scheduler, which is not simulated; remove it"
    )
