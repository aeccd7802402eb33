"""What the scheduler reports when it cannot watch its cluster."""

from __future__ import annotations

import time
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from apportion_runtime.kube import object_cache
from apportion_runtime.kube.connection import Connection
from apportion_runtime.kube.errors import Refused, Unreachable
from apportion_runtime.kube.http_server import Counters, served
from apportion_runtime.kube.object_cache import ObjectCache
from apportion_runtime.kube.scheduler_process import Options

from .api_server import ApiServer, Rejection, Sent, running
from .cycle_counts import n_cycles
from .objects import TRAIN, node, pod, queue
from .scheduler_thread import scheduling, until

TEAM = queue("team", None, 8)
UNSERVED = (
    "cannot watch queues: the API server does not serve queues.scheduling.run.ai (v2); no cycle runs until it does"
)
OVERLOADED = "cannot watch queues: overloaded"


@pytest.mark.parametrize(
    ("failed", "fault"),
    [
        (Unreachable("cannot reach https://one: refused"), "cannot reach https://one: refused"),
        (Refused(401, "Unauthorized"), "the API server rejects the credentials of this scheduler: Unauthorized"),
    ],
)
def test_fault_of_the_connection_is_one_fault_for_all_kinds(failed: Exception, fault: str) -> None:
    class Failing(Connection):
        def __init__(self) -> None:
            """No server is reached."""

        def request(self, *_: object, **__: object) -> dict[str, Any]:
            raise failed

    faults: list[str] = []
    cache = ObjectCache(Failing(), on_fault=faults.append)
    with pytest.raises(Unreachable):
        cache.start(0)
    until(lambda: cache.list_faults.texts.keys() == cache.kinds.keys())
    with pytest.raises(Unreachable) as raised:
        cache.start(0)
    cache.stop()
    assert str(raised.value) == fault
    assert set(faults) == {fault}


def _readiness(port: int) -> tuple[int, str]:
    try:
        with urlopen(f"http://127.0.0.1:{port}/readyz") as answer:
            return answer.status, answer.read().decode()
    except HTTPError as refused:
        return refused.code, refused.read().decode()


def _about(log: Sequence[str], subject: str) -> list[str]:
    return [line for line in log if subject in line]


def test_deleted_definition_makes_the_scheduler_unready_until_it_is_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_cache, "_AGAIN_S", 0.05)
    server, counters, log = ApiServer(), Counters(), list[str]()
    server.add(node("n1", 8), TRAIN, TEAM)
    options = Options("kai-scheduler", period_s=0.01)
    with (
        served(0, counters) as port,
        running(server) as connection,
        scheduling(connection, options, log.append, counters=counters),
    ):
        until(lambda: _readiness(port)[0] == HTTPStatus.OK, log)
        for _ in range(2):
            server.undefine("queues")
            until(lambda: _readiness(port) == (HTTPStatus.SERVICE_UNAVAILABLE, f"{UNSERVED}\n"), log)
            server.define("queues")
            until(lambda: _readiness(port) == (HTTPStatus.OK, "ok\n"), log)
        # One line for each loss and each recovery, also within the time in which equal warnings are not repeated.
        assert _about(log, "queues") == [f"warning: {UNSERVED}", "queues can be listed again"] * 2
        server.add(TEAM, pod("a", "team", 1))
        until(lambda: "nodeName" in server.pod("a")["spec"], log)


def test_nothing_is_written_without_the_definition_of_pod_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_cache, "_AGAIN_S", 0.05)
    server, counters, log = ApiServer(), Counters(), list[str]()
    server.add(node("n1", 8), TRAIN, TEAM)
    options = Options("kai-scheduler", period_s=0.01)
    with running(server) as connection, scheduling(connection, options, log.append, counters=counters):
        until(lambda: n_cycles(counters) > 0, log)
        server.undefine("podgroups")
        until(lambda: counters.fault() is not None, log)
        until(lambda: _is_idle(counters), log)
        before = n_cycles(counters)
        server.add(*(pod(f"pod-{number}", "team", 1) for number in range(4)))
        time.sleep(0.5)
        assert n_cycles(counters) == before
        assert counters.metrics.registry.get_sample_value("apportion_scheduler_writes_rejected_total") == 0
        server.define("podgroups")
        until(lambda: all("nodeName" in server.pod(f"pod-{number}")["spec"] for number in range(4)), log)


def _is_idle(counters: Counters) -> bool:
    """Return whether the cycle that began before the definition was missed has ended, and no other begins."""
    before = n_cycles(counters)
    time.sleep(0.3)
    return n_cycles(counters) == before


def test_one_line_reports_that_the_api_server_responds_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_cache, "_AGAIN_S", 0.05)
    server, faults, recoveries = ApiServer(), list[str](), list[str]()
    with running(server) as connection:
        server.answer = lambda _: Rejection(401, "Unauthorized")
        cache = ObjectCache(connection, on_fault=faults.append, on_recovery=lambda line, _: recoveries.append(line))
        with pytest.raises(Unreachable):
            cache.start(0)
        until(lambda: cache.list_faults.texts.keys() == cache.kinds.keys())

        def overloaded(sent: Sent) -> Rejection | None:
            return Rejection(429, "overloaded") if sent.path.endswith("/queues") else None

        server.answer = overloaded
        until(lambda: cache.list_faults.texts == {"Queue": OVERLOADED})
        assert recoveries == ["the API server responds again"]
        server.answer = lambda _: None
        until(lambda: cache.list_faults.summary is None)
        assert recoveries == ["the API server responds again", "queues can be listed again"]
        cache.stop()
