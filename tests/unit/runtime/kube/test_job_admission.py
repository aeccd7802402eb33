"""Suspended jobs are released in turn within the quota tree, on an API server in this process."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apportion_runtime.kube.http_server import Counters
from apportion_runtime.kube.scheduler_process import Options

from .ack_objects import DEQUEUED, ENQUEUED, JOBS, RAY_JOBS, TREE, UNITS, job, queue, quota, ray_job, tree
from .admitted_jobs import Starting, admitting, change, complete, events, read_units, released, unit
from .api_server import ApiServer, Rejection, Sent, path_of
from .scheduler_thread import until

Object = dict[str, Any]


def test_second_job_waits_until_the_first_completes() -> None:
    server, log = ApiServer(), list[str]()
    server.add(TREE, job("a", 12), job("b", 12))
    with admitting(server, log) as counters:
        # The event of one job may precede the release of the other.
        until(lambda: bool(events(server, "Backoff")) and released(server) == {"a"}, log)
        why = "Insufficient quota(cpu) in quota root/algorithm/video: request 12, max 14, used 12, oversellreate 1."
        until(lambda: unit(server, "b")["status"]["message"].startswith(why), log)
        ((name, said),) = events(server, "Backoff")
        assert name == "b"
        assert said.startswith(why)
        until(lambda: unit(server, "a")["status"]["phase"] == "Dequeued", log)
        complete(server, "a")
        until(lambda: released(server) == {"a", "b"}, log)
        until(lambda: UNITS.format("video", "a") not in server.held, log)
    first = server.held[JOBS.format("video", "a")]["metadata"]["annotations"]
    assert first.keys() == {ENQUEUED, DEQUEUED}
    assert [line for line in log if line.startswith("dequeued")] == [
        f"dequeued Job video/{name} from queue {unit(server, 'b')['spec']['queue']} (quota root/algorithm/video)"
        for name in ("a", "b")
    ]
    assert counters.metrics.registry.get_sample_value("apportion_scheduler_jobs_released_total") == 2


def test_queues_are_created_for_quotas_without_one() -> None:
    server, log = ApiServer(), list[str]()
    server.add(TREE, queue("own", "root/algorithm/video"))
    with admitting(server, log):
        until(lambda: len(_queues(server)) == 5, log)
    quotas = {one["metadata"]["annotations"]["kube-queue/quota-fullname"] for one in _queues(server)}
    assert quotas == {"root", "root/algorithm", *(f"root/algorithm/{name}" for name in ("video", "text", "intern"))}


def _queues(server: ApiServer) -> list[Object]:
    return [one for path, one in list(server.held.items()) if "/queues/" in path]


def test_queue_jumping_by_the_priority_of_a_queue_unit() -> None:
    server, log = ApiServer(), list[str]()
    server.add(TREE, queue("video", "root/algorithm/video"), job("running", 12))
    with admitting(server, log):
        until(lambda: released(server) == {"running"}, log)
        server.add(job("first", 12), job("late", 12))
        until(lambda: all(UNITS.format("video", name) in server.held for name in ("first", "late")), log)
        assert unit(server, "late")["spec"]["priority"] == 0
        path = UNITS.format("video", "late")
        change(server, path, lambda one: {**one, "spec": {**one["spec"], "priority": 1}})
        read_units(server, "first", log)
        complete(server, "running")
        until(lambda: "late" in released(server), log)
        assert "first" not in released(server)


def test_job_of_a_higher_class_is_released_first() -> None:
    server, log = ApiServer(), list[str]()
    classed = job("urgent", 12)
    classed["spec"]["template"]["spec"]["priorityClassName"] = "urgent"
    urgent = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "urgent"},
        "value": 1000,
    }
    server.add(urgent, TREE, job("a", 12), classed)
    with admitting(server, log):
        until(lambda: bool(released(server)), log)
    assert released(server) == {"urgent"}


def test_quota_is_borrowed_up_to_the_limit_and_the_guarantee_is_kept() -> None:
    server, log = ApiServer(), list[str]()
    # The interns hold all that is lent, and the parent is full; the job of text is within its guarantee.
    small = tree(quota("text", 4, 8, namespaces=["text"]), quota("intern", 0, 8, namespaces=["intern"]), most=8)
    server.add(small, job("i1", 4, "intern"), job("i2", 4, "intern"))
    with admitting(server, log):
        until(lambda: released(server) == {"i1", "i2"}, log)
        server.add(job("i3", 1, "intern"), job("within", 4, "text"))
        until(lambda: "within" in released(server), log)
        server.add(job("beyond", 4, "text"))
        until(lambda: len(events(server, "Backoff")) == 2, log)
    assert released(server) == {"i1", "i2", "within"}
    refused = dict(events(server, "Backoff"))
    assert "in quota root/algorithm/intern: request 1, max 8, used 8" in refused["i3"]
    assert "in parent quota root/algorithm: request 4, max 8, used 12" in refused["beyond"]


def test_ray_job_holds_its_quota_until_its_cluster_is_deleted() -> None:
    server, log = ApiServer(), list[str]()
    server.add(TREE, ray_job("ray", 4, 2, ttlSecondsAfterFinished=2))
    with admitting(server, log):
        until(lambda: released(server) == {"ray"}, log)
        server.add(job("next", 12))
        until(lambda: UNITS.format("video", "next") in server.held, log)
        assert unit(server, "ray-ray-qu")["spec"]["resource"] == {"cpu": "12000m"}
        _end(server, "ray", in_s=3600)
        # Of the same kind, so it is read later.
        server.add(ray_job("small", 1, 1))
        until(lambda: "small" in released(server), log)
        assert "next" not in released(server)
        _end(server, "ray", in_s=0)
        until(lambda: "next" in released(server), log)


def _end(server: ApiServer, name: str, in_s: float) -> None:
    """Have a RayJob complete; its cluster is deleted some time after `in_s`."""
    at = (datetime.now(UTC) + timedelta(seconds=in_s)).strftime("%Y-%m-%dT%H:%M:%SZ")
    status = {"jobDeploymentStatus": "Complete", "endTime": at}
    change(server, RAY_JOBS.format("video", name), lambda one: {**one, "status": status})


def test_restarted_scheduler_finds_held_quota_and_the_order_of_the_queue() -> None:
    server, log = ApiServer(), list[str]()
    server.add(TREE, queue("video", "root/algorithm/video"), job("z", 12))
    with admitting(server, log):
        until(lambda: released(server) == {"z"}, log)
        server.add(job("y", 12))
        until(lambda: UNITS.format("video", "y") in server.held and _is_enqueued(server, "y"), log)
        server.add(job("x", 12))
        until(lambda: UNITS.format("video", "x") in server.held and _is_enqueued(server, "x"), log)
    server.is_closed = False
    with admitting(server, log):
        server.add(job("probe", 2))
        until(lambda: "probe" in released(server), log)
        assert released(server) == {"z", "probe"}
        complete(server, "probe")
        complete(server, "z")
        until(lambda: "y" in released(server), log)
        assert "x" not in released(server)


def _is_enqueued(server: ApiServer, name: str) -> bool:
    return ENQUEUED in (server.held[JOBS.format("video", name)]["metadata"].get("annotations") or {})


def test_rejected_release_is_repeated_and_holds_no_quota_meanwhile() -> None:
    server, log = ApiServer(), list[str]()
    rejections = [Rejection(422, "webhook says no")]

    def answer(sent: Sent) -> Rejection | None:
        is_release = sent.method == "PATCH" and sent.path.endswith("/jobs/a") and "spec" in sent.body
        return rejections.pop() if is_release and rejections else None

    server.answer = answer
    server.add(TREE, job("a", 12), job("b", 12))
    with admitting(server, log):
        until(lambda: len(released(server)) == 1, log)
        assert any("write rejected: Job video/a: webhook says no" in line for line in log)


@pytest.mark.parametrize("held", [12, 1])
def test_job_that_changes_while_it_is_enqueued_is_annotated_afterwards(held: int) -> None:
    """It is annotated later while it waits, and with its release if it need not wait."""
    server, log = ApiServer(), list[str]()
    conflicts = [Rejection(409, "the object has been modified")]

    def answer(sent: Sent) -> Rejection | None:
        is_enqueueing = sent.method == "PATCH" and sent.path.endswith("/jobs/b") and "spec" not in sent.body
        return conflicts.pop() if is_enqueueing and conflicts else None

    server.answer = answer
    server.add(TREE, job("a", held))
    with admitting(server, log):
        until(lambda: released(server) == {"a"}, log)
        server.add(job("b", 12))
        until(lambda: _is_enqueued(server, "b"), log)
    assert conflicts == []


def test_jobs_that_no_queue_accepts_stay_suspended_with_the_reason() -> None:
    server, log = ApiServer(), list[str]()
    owned = {"ownerReferences": [{"kind": "JobSet", "name": "set", "uid": "u", "controller": True}]}
    elsewhere = {"annotations": {"kube-queue/queue-name": "nowhere"}}
    server.add(
        TREE,
        job("foreign", 1, "other"),
        job("part", 1, **owned),
        job("elsewhere", 1, **elsewhere),
        job("free", 1, suspend=False),
        ray_job("odd", "many", 1),
    )
    with admitting(server, log):
        until(lambda: len(events(server, "NotQueued")) == 3, log)
        server.add(job("probe", 1))
        until(lambda: "probe" in released(server), log)
    assert dict(events(server, "NotQueued")) == {
        "foreign": "the job doesn't belong to any elastic quota",
        "elsewhere": "failed to find queue object in cluster",
        "odd": "spec.rayClusterSpec.headGroupSpec.template: `many` is not a quantity such as 500m, 2 or 16Gi",
    }
    assert released(server) == {"free", "probe"}


@pytest.mark.parametrize(
    ("objects", "said"),
    [
        (
            (),
            "ElasticQuotaTree in namespace kube-system: expected one, found none; no jobs are released",
        ),
        (
            (tree(quota("video", 12, 14, namespaces="video")),),
            "ElasticQuotaTree kube-system/elasticquotatree: spec.root.children[0].children[0].namespaces: `video` is not a list; no jobs are released",
        ),
    ],
)
def test_nothing_is_released_without_a_valid_tree(objects: tuple[Object, ...], said: str) -> None:
    server, log = ApiServer(), list[str]()
    server.add(job("a", 1), *objects)
    with admitting(server, log):
        until(lambda: f"warning: {said}" in log, log)
        assert released(server) == set()
        server.put(path_of(TREE), TREE, "MODIFIED")
        until(lambda: released(server) == {"a"}, log)


def test_queue_with_invalid_settings_has_the_default_ones_and_is_reported() -> None:
    server, log = ApiServer(), list[str]()
    odd = queue("odd", "root/algorithm/video", **{"kube-queue/queue-args": "podInitialBackoffSeconds: soon"})
    server.add(TREE, odd, job("a", 1))
    with admitting(server, log):
        until(lambda: released(server) == {"a"}, log)
    (said,) = [line for line in log if line.startswith("warning: Queue kube-queue/odd: ")]
    assert "kube-queue/queue-args is `podInitialBackoffSeconds: soon`" in said


def test_job_whose_pods_do_not_start_in_time_is_suspended_and_queued_again() -> None:
    server, log = Starting(2, ready=1), list[str]()
    server.add(TREE, job("a", 12))
    options = Options("kai-scheduler", period_s=0.02, releases_jobs=True, requeue_s=1.0)
    with admitting(server, log, options):
        until(lambda: bool(events(server, "Requeued")), log)
        until(lambda: len([line for line in log if line.startswith("dequeued")]) == 2, log)
        assert released(server) == {"a"}
        # Longer than the pods may take to start.
        time.sleep(1.5)
        server.add(job("b", 2))
        until(lambda: "b" in released(server), log)
    assert len(events(server, "Requeued")) == 1
    assert "Backoff due to running timeout; position 1 in the backoff queue of" in events(server, "Requeued")[0][1]


def test_changed_tree_applies_to_jobs_that_wait() -> None:
    server, log = ApiServer(), list[str]()
    server.add(TREE, job("a", 12), job("b", 12))
    with admitting(server, log):
        until(lambda: bool(events(server, "Backoff")), log)
        server.put(path_of(TREE), tree(quota("video", 12, 24, namespaces=["video"])), "MODIFIED")
        until(lambda: released(server) == {"a", "b"}, log)


def test_dry_run_reports_releases_and_writes_nothing() -> None:
    server, log = ApiServer(), list[str]()
    server.add(TREE, job("a", 12), job("b", 12))
    options = Options("kai-scheduler", period_s=0.02, releases_jobs=True, is_dry_run=True)
    with admitting(server, log, options):
        until(lambda: any(line.startswith("dry run: dequeued Job video/a ") for line in log), log)
        server.add(job("c", 2))
        until(lambda: any(line.startswith("dry run: dequeued Job video/c ") for line in log), log)
    assert [sent for sent in server.sent if sent.method != "GET"] == []
    assert not any("Job video/b " in line for line in log)


def test_deleted_jobs_leave_the_queue_and_release_their_quota() -> None:
    server, log = ApiServer(), list[str]()
    server.add(TREE, queue("video", "root/algorithm/video"), job("a", 12))
    with admitting(server, log) as counters:
        until(lambda: released(server) == {"a"}, log)
        server.add(job("b", 12), job("c", 12))
        until(lambda: _queued(counters) == 2, log)
        server.remove(JOBS.format("video", "b"))
        server.remove(JOBS.format("video", "a"))
        until(lambda: released(server) == {"c"}, log)
        until(lambda: _queued(counters) == 0, log)


def _queued(counters: Counters) -> float | None:
    return counters.metrics.registry.get_sample_value("apportion_scheduler_jobs_queued", {"queue": "video"})
