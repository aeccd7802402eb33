"""Writes to an API server that is overloaded, loses responses, or protects pods."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from apportion_runtime.kube import api_writer
from apportion_runtime.kube.api_writer import ApiWriter, SingleScheduler
from apportion_runtime.kube.errors import Refused, Rejection, Unreachable
from apportion_runtime.kube.live_cluster import LiveCluster
from apportion_runtime.kube.object_cache import ObjectCache
from apportion_runtime.kube.resources import POD

from .api_server import ApiServer, Sent, running
from .api_server import Rejection as Response
from .objects import pod

BUDGET = Response(
    429,
    "Cannot evict pod as it would violate the pod's disruption budget.",
    details={"causes": [{"reason": "DisruptionBudget", "message": "The disruption budget web needs 3 healthy pods"}]},
)


@dataclass
class Live:
    server: ApiServer
    cluster: LiveCluster
    cache: ObjectCache
    pauses: list[float] = field(default_factory=list)


@pytest.fixture
def live() -> Iterator[Live]:
    server = ApiServer()
    server.add(pod("a", "team", 1))
    pauses: list[float] = []
    with running(server) as connection:
        cache = ObjectCache(connection)
        cache.start(60)
        writer = ApiWriter(connection, SingleScheduler(), pauses.append)
        yield Live(server, LiveCluster(cache, writer), cache, pauses)
        cache.stop()


def _pod(live: Live) -> dict[str, object]:
    found = live.cluster.get(POD, "team", "a")
    assert found is not None
    return dict(found)


def _once(live: Live, response: Response, ending: str) -> None:
    """Let the first request with an ending have a response of the test's."""
    responses = [response]
    live.server.answer = lambda sent: responses.pop() if responses and sent.path.endswith(ending) else None


@pytest.mark.parametrize("status", [429, 500, 503])
def test_request_to_overloaded_server_is_retried(live: Live, status: int) -> None:
    _once(live, Response(status, "overloaded"), "/binding")
    live.cluster.bind(_pod(live), "n1")
    assert live.server.pod("a")["spec"]["nodeName"] == "n1"
    (pause,) = live.pauses
    assert 0.1 <= pause <= 0.15


def test_retry_after_delays_all_writes(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_writer, "time", SimpleNamespace(monotonic=lambda: 100.0))
    _once(live, Response(429, "too many requests", {"Retry-After": "3"}), "/binding")
    live.cluster.bind(_pod(live), "n1")
    assert live.pauses[0] >= 3
    n_pauses = len(live.pauses)
    live.cluster.record(_pod(live), "Bound", "to n1")
    assert live.pauses[n_pauses:] == [3]


def test_retries_of_overloaded_server_are_bounded(live: Live) -> None:
    live.server.answer = lambda sent: Response(503, "overloaded") if sent.path.endswith("/binding") else None
    with pytest.raises(Refused, match="overloaded") as refused:
        live.cluster.bind(_pod(live), "n1")
    assert refused.value.rejection is Rejection.TEMPORARY
    assert len(live.server.written("POST", "/binding")) == 5


@pytest.mark.parametrize(
    ("status", "rejection"), [(403, Rejection.PERMANENT), (422, Rejection.PERMANENT), (404, Rejection.GONE)]
)
def test_other_rejections_are_not_repeated(live: Live, status: int, rejection: Rejection) -> None:
    live.server.answer = lambda sent: Response(status, "no") if sent.path.endswith("/binding") else None
    with pytest.raises(Refused, match="no") as refused:
        live.cluster.bind(_pod(live), "n1")
    assert refused.value.rejection is rejection
    assert len(live.server.written("POST", "/binding")) == 1


def _lose_binding(live: Live, *, status: int, then: int | None = None, reads: int | None = None) -> None:
    """Bind the pod, and respond to the first attempt with a status (0: not at all), and to the others with `then`."""

    def answer(sent: Sent) -> Response | None:
        if sent.method == "GET" and sent.path.endswith("/pods/a"):
            return None if reads is None else Response(reads, "not now")
        if not sent.path.endswith("/binding"):
            return None
        if len(live.server.written("POST", "/binding")) > 1:
            return None if then is None else Response(then, "no")
        path = sent.path.removesuffix("/binding")
        made = live.server.held[path]
        live.server.put(path, {**made, "spec": {**made["spec"], "nodeName": "n1"}}, "MODIFIED")
        return Response(status, "timeout")

    live.server.answer = answer


@pytest.mark.parametrize("status", [0, 408, 504])
@pytest.mark.parametrize("then", [None, 401, 403, 422])
def test_bind_with_lost_response_is_verified_as_bound(live: Live, status: int, then: int | None) -> None:
    _lose_binding(live, status=status, then=then)
    live.cluster.bind(_pod(live), "n1")
    assert len(live.server.written("POST", "/binding")) == 2


def test_bind_with_lost_response_that_cannot_be_verified_holds_its_resources(live: Live) -> None:
    _lose_binding(live, status=504, then=403, reads=403)
    with pytest.raises(Unreachable, match="pod a cannot be read: not now"):
        live.cluster.bind(_pod(live), "n1")
    found = live.cluster.get(POD, "team", "a")
    assert found is not None
    assert found["spec"]["nodeName"] == "n1"


def test_pod_bound_by_another_scheduler_is_conflict(live: Live) -> None:
    stale = _pod(live)
    path = "/api/v1/namespaces/team/pods/a"
    live.server.put(path, {**stale, "spec": {"nodeName": "n9"}, "metadata": stale["metadata"]}, "MODIFIED")
    with pytest.raises(Refused, match="already assigned") as refused:
        live.cluster.bind(stale, "n1")
    assert refused.value.rejection is Rejection.CONFLICT


def test_eviction_api_uses_grace_period_of_pod(live: Live) -> None:
    live.cluster.evict(_pod(live), dry_run=True)
    live.cluster.evict(_pod(live))
    asked, done = live.server.written("POST", "/pods/a/eviction")
    assert asked.body["deleteOptions"] == {"preconditions": {"uid": "uid-a"}, "dryRun": ["All"]}
    assert done.body["deleteOptions"] == {"preconditions": {"uid": "uid-a"}}
    assert done.body["apiVersion"] == "policy/v1"
    found = live.cluster.get(POD, "team", "a")
    assert found is None or "deletionTimestamp" in found["metadata"]


def test_event_has_one_line(live: Live) -> None:
    live.cluster.record(_pod(live), "Unschedulable", "OverLimit.\nthe queue has reached its limit.")
    (sent,) = live.server.written("POST", "/events")
    assert sent.body["message"] == "OverLimit. the queue has reached its limit."


def test_eviction_refused_by_budget_is_not_retried(live: Live) -> None:
    live.server.answer = lambda sent: BUDGET if sent.path.endswith("/eviction") else None
    with pytest.raises(Refused, match="violate the pod's disruption budget") as refused:
        live.cluster.evict(_pod(live))
    assert refused.value.rejection is Rejection.BUDGET
    assert live.pauses == []


def test_terminating_pod_has_reason_and_missing_pod_is_no_error(live: Live) -> None:
    gone = _pod(live)
    live.cluster.explain_eviction(gone, "preempted by team/new")
    (condition,) = live.server.pod("a")["status"]["conditions"]
    assert (condition["type"], condition["reason"]) == ("DisruptionTarget", "PreemptionByScheduler")
    assert condition["message"] == "preempted by team/new"
    live.server.remove("/api/v1/namespaces/team/pods/a")
    live.cluster.explain_eviction(gone, "preempted by team/new")


def test_event_references_object_within_length_limits(live: Live) -> None:
    live.cluster.record(_pod(live), "Preempted", "x" * 2000, is_warning=True)
    (sent,) = live.server.written("POST", "/events")
    assert sent.body["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": "team",
        "name": "a",
        "uid": "uid-a",
    }
    assert (sent.body["type"], sent.body["reason"], len(sent.body["message"])) == ("Warning", "Preempted", 1024)


def test_config_map_is_created_or_merged_into_the_existing_one(live: Live) -> None:
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a-0", "namespace": "team"}}
    live.cluster.put({**made, "data": {"kept": "1", "changed": "1"}})
    stored = live.cluster.put({**made, "data": {"changed": "2"}})
    assert stored["data"] == {"kept": "1", "changed": "2"}
    assert [sent.method for sent in live.server.sent if sent.method != "GET"] == ["POST", "POST", "PATCH"]


def test_deleted_pod_is_deleted_at_once_and_counts_as_terminating(live: Live) -> None:
    live.cluster.delete(_pod(live))
    (sent,) = live.server.written("DELETE", "/pods/a")
    assert sent.body["gracePeriodSeconds"] == 0
    assert sent.body["preconditions"] == {"uid": "uid-a"}
    found = live.cluster.get(POD, "team", "a")
    assert found is None or "deletionTimestamp" in found["metadata"]


def test_deletion_of_a_pod_that_is_gone_is_no_error(live: Live) -> None:
    known = _pod(live)
    live.server.remove("/api/v1/namespaces/team/pods/a")
    live.cluster.delete(known)


def test_creation_in_a_dry_run_stores_nothing(live: Live) -> None:
    live.cluster.create(pod("asked", "team", 1), dry_run=True)
    assert live.cluster.get(POD, "team", "asked") is None
    assert "/api/v1/namespaces/team/pods/asked" not in live.server.held
