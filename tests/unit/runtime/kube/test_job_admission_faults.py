"""No quota is exceeded and nothing is repeated without bound when releases fail, or others change the jobs."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from apportion_runtime.kube.scheduler_process import Options

from .ack_objects import JOBS, TREE, UNITS, job, queue, quota, tree
from .admitted_jobs import Starting, admitting, change, complete, events, read_units, released, unit
from .api_server import ApiServer, Rejection, Sent, merged, path_of
from .scheduler_thread import until

REQUEUEING = Options("kai-scheduler", period_s=0.02, releases_jobs=True, requeue_s=0.5)
A = JOBS.format("video", "a")


def is_release(sent: Sent, name: str = "a") -> bool:
    is_patch = sent.method == "PATCH" and sent.path == JOBS.format("video", name)
    return is_patch and sent.body.get("spec") == {"suspend": False}


def releases(server: ApiServer, name: str = "a") -> int:
    return len([sent for sent in server.sent if is_release(sent, name)])


@pytest.mark.parametrize("repeated", [None, 401, 403, 422])
def test_release_whose_response_is_lost_holds_its_quota_and_is_reported_once(repeated: int | None) -> None:
    """Its watch is behind: without a read, the repeated write is rejected and the quota seems to be free."""
    server, log = ApiServer(), list[str]()

    def lose(sent: Sent) -> Rejection | None:
        if not is_release(sent):
            return None
        if releases(server) > 1:
            return None if repeated is None else Rejection(repeated, "no")
        version = {"resourceVersion": "7000"}
        made = merged(server.held[A], sent.body)
        server.held[A] = {**made, "metadata": {**made["metadata"], **version}}
        return Rejection(504, "timeout")

    server.answer = lose
    server.add(TREE, job("a", 12), job("b", 12))
    with admitting(server, log):
        until(lambda: bool(events(server, "Backoff")) and bool(events(server, "Dequeued")), log)
        time.sleep(2)
    assert released(server) == {"a"}
    assert [name for name, _ in events(server, "Dequeued")] == ["a"]


def test_release_without_response_holds_its_quota_until_its_outcome_is_known() -> None:
    server, log = ApiServer(), list[str]()
    silent = [True]
    server.answer = lambda sent: Rejection(0, "") if is_release(sent) and silent else None
    server.add(TREE, job("a", 12))
    with admitting(server, log):
        until(lambda: releases(server) > 5, log)
        server.add(job("b", 12))
        until(lambda: bool(events(server, "Backoff")), log)
        assert released(server) == set()
        silent.clear()
        until(lambda: released(server) == {"a"} and bool(events(server, "Dequeued")), log)
        complete(server, "a")
        until(lambda: len(events(server, "Dequeued")) == 2, log)
    assert [name for name, _ in events(server, "Dequeued")] == ["a", "b"]


def test_job_that_grows_before_its_release_is_decided_on_again() -> None:
    server, log = ApiServer(), list[str]()

    def grow(sent: Sent) -> Rejection | None:
        if sent.method == "POST" and sent.path.endswith("/queueunits"):
            change(server, A, lambda one: {**one, "spec": {**one["spec"], "parallelism": 3}})
            # Until the watch has delivered it.
            time.sleep(0.5)
        return None

    server.answer = grow
    server.add(TREE, job("a", 12))
    with admitting(server, log):
        until(lambda: bool(events(server, "Backoff")), log)
        assert "request 36, max 14" in events(server, "Backoff")[0][1]
    assert released(server) == set()


def test_queue_unit_follows_the_job_while_it_waits() -> None:
    server, log = ApiServer(), list[str]()
    held = job("held", 12, creationTimestamp="2025-11-21T06:00:00Z")
    server.add(TREE, queue("video", "root/algorithm/video"), held, job("a", 12), job("waits", 20), _special())
    with admitting(server, log):
        until(lambda: "a" in dict(events(server, "Backoff")), log)
        grown = {"spec": {"parallelism": 2}, "metadata": {"annotations": {"kube-queue/queue-name": "special"}}}
        change(server, A, partial(merged, patch=grown))
        until(lambda: unit(server, "a")["spec"]["queue"] == "special", log)
        assert unit(server, "a")["spec"]["resource"] == {"cpu": "24000m"}
        read_units(server, "waits", log)
        n_sent = len(server.written("PATCH", "/queueunits/a"))
        change(server, A, partial(merged, patch={"metadata": {"labels": {"other": "1"}}}))
        server.add(job("probe", 1))
        until(lambda: "probe" in released(server), log)
        assert len(server.written("PATCH", "/queueunits/a")) == n_sent


def test_rejected_release_is_reported_to_the_job_and_repeated_ever_less_often() -> None:
    server, log = ApiServer(), list[str]()
    server.answer = lambda sent: Rejection(422, "not on Fridays") if is_release(sent) else None
    server.add(TREE, job("a", 12))
    with admitting(server, log):
        until(lambda: releases(server) >= 3, log)
        until(lambda: unit(server, "a")["status"]["phase"] == "Backoff", log)
        until(lambda: bool(events(server, "ReleaseRejected")), log)
    why = "the API server rejected the release: not on Fridays"
    assert unit(server, "a")["status"]["message"] == why
    assert events(server, "ReleaseRejected") == [("a", why)]


def test_conflict_does_not_cost_a_job_its_turn() -> None:
    server, log = ApiServer(), list[str]()
    touched: list[str] = []

    def touch(sent: Sent) -> Rejection | None:
        if is_release(sent) and not touched:
            touched.append("a")
            change(server, A, lambda one: {**one, "status": {"conditions": [{"type": "Suspended", "status": "True"}]}})
        return None

    server.answer = touch
    server.add(TREE, job("a", 12), job("b", 12))
    with admitting(server, log):
        until(lambda: bool(released(server)), log)
    assert released(server) == {"a"}
    assert [line for line in log if "write rejected" in line] == []


def test_rejected_queue_unit_is_repeated_ever_less_often_and_announces_nothing() -> None:
    server, log, attempted_s = ApiServer(), list[str](), list[float]()

    def reject(sent: Sent) -> Rejection | None:
        if sent.method != "POST" or not sent.path.endswith("/queueunits"):
            return None
        if sent.body["metadata"]["name"] == "b":
            attempted_s.append(time.monotonic())
        return Rejection(422, "no more")

    server.answer = reject
    server.add(TREE, job("a", 12), job("b", 12))
    with admitting(server, log):
        until(lambda: released(server) == {"a"} and len(attempted_s) >= 3, log)
    _check_pauses(attempted_s)
    assert events(server, "Enqueued") == []


def test_job_that_another_client_suspends_each_time_is_released_ever_less_often() -> None:
    server, log, released_s = ApiServer(), list[str](), list[float]()

    def suspend(sent: Sent) -> Rejection | None:
        if is_release(sent):
            released_s.append(time.monotonic())
        if sent.path.endswith("/events") and sent.body["reason"] == "Dequeued":
            change(server, A, lambda one: {**one, "spec": {**one["spec"], "suspend": True}})
        return None

    server.answer = suspend
    server.add(TREE, job("a", 12))
    with admitting(server, log):
        until(lambda: len(released_s) >= 3 and bool(events(server, "Requeued")), log)
    _check_pauses(released_s)
    assert events(server, "Requeued")[0][1].startswith("Suspended by another client; position 1 in the backoff")


def test_rejected_suspension_is_repeated_ever_less_often() -> None:
    server, log, attempted_s = ApiServer(), list[str](), list[float]()

    def reject(sent: Sent) -> Rejection | None:
        if sent.method != "PATCH" or sent.path != A or sent.body.get("spec") != {"suspend": True}:
            return None
        attempted_s.append(time.monotonic())
        return Rejection(422, "no")

    server.answer = reject
    server.add(TREE, job("a", 12))
    with admitting(server, log, REQUEUEING):
        until(lambda: len(attempted_s) >= 3, log)
    assert released(server) == {"a"}
    _check_pauses(attempted_s)


def _check_pauses(attempted_s: list[float]) -> None:
    """Check that each pause is at least twice the former one, from 1 s on; a slow machine only makes them longer."""
    pauses_s = [later - earlier for earlier, later in itertools.pairwise(attempted_s)]
    assert len(pauses_s) >= 2
    assert all(pause_s >= 2.0**number for number, pause_s in enumerate(pauses_s))


def test_job_that_has_started_is_not_suspended_when_a_pod_becomes_unready() -> None:
    server, log = Starting(), list[str]()
    server.add(TREE, job("a", 12))
    with admitting(server, log, REQUEUEING):
        until(lambda: released(server) == {"a"}, log)
        until(lambda: unit(server, "a")["status"]["phase"] == "Running", log)
        change(server, A, lambda one: {**one, "status": {"ready": 0, "active": 1}})
        time.sleep(1)
    server.is_closed = False
    with admitting(server, log, REQUEUEING):
        time.sleep(1)
        server.add(job("probe", 1))
        until(lambda: "probe" in released(server), log)
    assert "a" not in dict(events(server, "Requeued"))
    assert "a" in released(server)


def test_job_with_fewer_completions_than_parallelism_starts() -> None:
    server, log = Starting(ready=2, active=2), list[str]()
    few = job("a", 1)
    few["spec"] |= {"parallelism": 5, "completions": 2}
    server.add(TREE, few)
    with admitting(server, log, REQUEUEING):
        until(lambda: released(server) == {"a"}, log)
        time.sleep(1)
    assert events(server, "Requeued") == []


def _special() -> dict[str, Any]:
    return queue("special", "", **{"kube-queue/available-quota": "video"})


def _without_queue(server: ApiServer) -> None:
    server.remove(path_of(_special()))


def _smaller(server: ApiServer) -> None:
    grown = server.held[A]["spec"] | {"parallelism": 2}
    change(server, A, lambda one: {**one, "spec": grown})


@pytest.mark.parametrize("edit", [_without_queue, _smaller], ids=["its queue is deleted", "it grows"])
def test_released_job_counts_in_its_quota_whatever_is_edited(edit: Callable[[ApiServer], None]) -> None:
    server, log = ApiServer(), list[str]()
    server.add(TREE, _special(), job("a", 6, annotations={"kube-queue/queue-name": "special"}))
    with admitting(server, log):
        until(lambda: released(server) == {"a"}, log)
        edit(server)
        server.add(job("b", 12 if edit is _without_queue else 6))
        until(lambda: bool(events(server, "Backoff")), log)
    assert released(server) == {"a"}


def test_job_is_queued_once_its_queue_accepts_its_quota() -> None:
    server, log = ApiServer(), list[str]()
    closed = queue("special", "", **{"kube-queue/available-quota": "text"})
    server.add(TREE, closed, job("a", 12, annotations={"kube-queue/queue-name": "special"}))
    with admitting(server, log):
        until(lambda: bool(events(server, "NotQueued")), log)
        server.put(path_of(closed), _special(), "MODIFIED")
        until(lambda: released(server) == {"a"}, log)


@pytest.mark.parametrize("dequeued", ["2025-01-10 09:36:24.64 +0800 CST m=+1.5", "yesterday"])
def test_job_that_kube_queue_released_holds_quota_whatever_its_time_zone(dequeued: str) -> None:
    server, log = ApiServer(), list[str]()
    annotations = {"kube-queue/job-enqueue-timestamp": dequeued, "kube-queue/job-dequeue-timestamp": dequeued}
    server.add(TREE, job("a", 12, suspend=False, annotations=annotations), job("b", 12))
    with admitting(server, log):
        until(lambda: bool(events(server, "Backoff")), log)
    assert released(server) == {"a"}


def test_waiting_jobs_are_told_that_there_is_no_tree() -> None:
    server, log = ApiServer(), list[str]()
    server.add(TREE, job("a", 12), job("b", 12))
    with admitting(server, log):
        until(lambda: released(server) == {"a"}, log)
        server.remove(path_of(TREE))
        until(lambda: bool(events(server, "NotQueued")), log)
        complete(server, "a")
        server.add(TREE)
        until(lambda: released(server) == {"a", "b"}, log)
    why = "ElasticQuotaTree in namespace kube-system: expected one, found none; no jobs are released"
    assert events(server, "NotQueued") == [("b", why)]


def test_released_jobs_without_a_quota_are_reported() -> None:
    server, log = ApiServer(), list[str]()
    server.add(TREE, job("a", 1), job("b", 1))
    with admitting(server, log):
        until(lambda: released(server) == {"a", "b"}, log)
        other = tree(quota("text", 12, 14, namespaces=["text"]))
        server.put(path_of(TREE), other, "MODIFIED")
        said = "warning: Job video/a and 1 other: released, but not counted against any quota: the job doesn't belong"
        until(lambda: any(line.startswith(said) for line in log), log)


def test_queue_unit_of_a_recreated_job_is_not_deleted_for_the_former_one() -> None:
    server, log = ApiServer(), list[str]()
    server.add(TREE, job("a", 12))
    with admitting(server, log):
        until(lambda: bool(events(server, "Dequeued")), log)
        former = unit(server, "a")["metadata"]["uid"]
        server.remove(A)
        until(lambda: UNITS.format("video", "a") not in server.held, log)
        (deleted,) = server.written("DELETE", "/queueunits/a")
    assert deleted.body["preconditions"] == {"uid": former}


def test_dry_run_keeps_a_job_released_when_others_change_it() -> None:
    server, log = ApiServer(), list[str]()
    server.add(TREE, job("a", 12), job("b", 12))
    options = Options("kai-scheduler", period_s=0.02, releases_jobs=True, is_dry_run=True)
    with admitting(server, log, options):
        until(lambda: any("dequeued Job video/a " in line for line in log), log)
        for number in range(3):
            change(server, A, partial(merged, patch={"status": {"active": number}}))
            server.add(job(f"c{number}", 20))
            time.sleep(0.3)
    assert len([line for line in log if line.startswith("dry run: dequeued")]) == 1


def test_namespace_of_two_quotas_is_reported() -> None:
    server, log = ApiServer(), list[str]()
    both = tree(quota("video", 12, 14, namespaces=["video"]), quota("text", 12, 14, namespaces=["video"]))
    server.add(both, job("a", 1))
    with admitting(server, log):
        until(lambda: released(server) == {"a"}, log)
    said = "namespace video is listed in root/algorithm/video, root/algorithm/text; jobs without a quota label belong to root/algorithm/text"
    assert f"warning: ElasticQuotaTree kube-system/elasticquotatree: {said}" in log


class Late(ApiServer):
    """Its watch of jobs is behind: each event is late."""

    def events(self, plural: str, after: int) -> Iterator[tuple[int, str, dict[str, Any]]]:
        for event in super().events(plural, after):
            time.sleep(0.5 if plural == "jobs" else 0)
            yield event


def test_unsupported_setting_of_a_queue_is_reported_and_ignored() -> None:
    server, log = ApiServer(), list[str]()
    limited = queue("video-1", "root/algorithm/video", **{"kube-queue/max-depth": "1"})
    server.add(TREE, limited, job("a", 4))
    with admitting(server, log):
        until(lambda: released(server) == {"a"}, log)
    said = "the annotation kube-queue/max-depth is `1`, which is not supported; it is ignored"
    assert f"warning: Queue kube-queue/video-1: {said}" in log


def test_late_event_of_an_own_write_does_not_undo_the_next_one() -> None:
    """The annotation of the job and its release are two writes; the first is delivered after the second is known."""
    server, log = Late(), list[str]()
    server.add(TREE, job("a", 12), job("b", 12))
    with admitting(server, log):
        until(lambda: released(server) == {"a"}, log)
        for number in range(20):
            # Each starts a cycle.
            name = {"metadata": {"name": f"class-{number}"}, "value": number}
            server.add({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", **name})
            time.sleep(0.1)
    assert events(server, "Requeued") == []
    assert released(server) == {"a"}
