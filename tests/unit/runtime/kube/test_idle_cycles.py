"""An idle cluster costs no cycles; time that changes decisions does."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import pytest

from apportion_api.kubernetes.names import ZONE_LABEL
from apportion_runtime.kube import scheduler
from apportion_runtime.kube.http_server import Counters
from apportion_runtime.kube.scheduler_process import Options

from .api_server import ApiServer, Object, Rejection, Sent, running
from .cycle_counts import n_cycles
from .memory_cluster import Memory, run_cycle
from .objects import NOW, TRAIN, node, pod, pod_group, queue
from .scheduler_thread import scheduling, until

TEAM = queue("team", None, 8)


@contextmanager
def _scheduler(server: ApiServer, *, period_s: float = 0.01) -> Iterator[Counters]:
    counters, options = Counters(), Options("kai-scheduler", period_s=period_s)
    with running(server) as connection, scheduling(connection, options, lambda _: None, counters=counters):
        yield counters


def _settled(counters: Counters) -> int:
    """Return the number of cycles once there was one, and it has not changed for a second or more.

    In this time, the process looks for a change at least twenty times, however slow the machine is.
    """
    until(lambda: n_cycles(counters) > 0)
    before = -1
    while before != n_cycles(counters):
        before = n_cycles(counters)
        for _ in range(20):
            time.sleep(0.05)
            until(partial(_is_alive_since, counters, counters.alive_at))
    return before


def _is_alive_since(counters: Counters, moment_s: float) -> bool:
    return counters.alive_at > moment_s


def _is_bound(server: ApiServer, name: str) -> bool:
    return "nodeName" in server.pod(name)["spec"]


def test_neither_heartbeats_nor_the_schedulers_own_notes_start_a_cycle() -> None:
    server = ApiServer()
    # The second pod stays pending, and receives a condition.
    server.add(node("n1", 1), TRAIN, TEAM, pod("a", "team", 1), pod("b", "team", 1))
    with _scheduler(server) as counters:
        until(lambda: "conditions" in server.pod("b")["status"] or "conditions" in server.pod("a")["status"])
        before = _settled(counters)
        for second in range(20):
            machine = copy.deepcopy(server.held["/api/v1/nodes/n1"])
            machine["status"]["conditions"][0]["lastHeartbeatTime"] = f"2026-11-21T08:00:{second:02}Z"
            server.put("/api/v1/nodes/n1", machine, "MODIFIED")
        assert _settled(counters) == before
        server.add(node("n2", 1))
        until(lambda: all("nodeName" in server.pod(name)["spec"] for name in "ab"))


def test_many_events_are_read_before_the_next_pod_arrives() -> None:
    server = ApiServer()
    names = [f"n{number}" for number in range(250)]
    server.add(*(node(name, 1) for name in names), TRAIN, TEAM)
    with _scheduler(server) as counters:
        before = _settled(counters)
        for name in names:
            machine = copy.deepcopy(server.held[f"/api/v1/nodes/{name}"])
            machine["status"]["conditions"][0]["lastHeartbeatTime"] = "2026-11-21T08:00:00Z"
            server.put(f"/api/v1/nodes/{name}", machine, "MODIFIED")
        assert _settled(counters) == before + 1


class LateResponses(ApiServer):
    """An API server whose watches deliver a write before its response."""

    def handle(self, sent: Sent) -> tuple[int, Mapping[str, str], Object]:
        answer = super().handle(sent)
        if sent.method != "GET":
            time.sleep(0.03)
        return answer


class LateEvents(ApiServer):
    """An API server whose watches deliver a write after its response."""

    def events(self, plural: str, after: int) -> Iterator[tuple[int, str, Object]]:
        for event in super().events(plural, after):
            time.sleep(0.03)
            yield event


@pytest.mark.parametrize("server", [LateResponses(), LateEvents()], ids=["late responses", "late events"])
def test_lone_pod_is_grouped_and_bound_in_one_cycle_and_starts_no_other(server: ApiServer) -> None:
    machine = node("n1", 8)
    # The API server copies it to the pods that are bound to the node.
    machine["metadata"]["labels"][ZONE_LABEL] = "a"
    server.add(machine, TRAIN, TEAM)
    with _scheduler(server) as counters:
        before = _settled(counters)
        for number, name in enumerate("ab", 1):
            server.add(pod(name, "team", 1))
            until(partial(_is_bound, server, name))
            assert _settled(counters) == before + number


def test_change_after_a_quiet_time_does_not_wait_for_the_period() -> None:
    server = ApiServer()
    server.add(node("n1", 8), TRAIN, TEAM, pod("a", "team", 1))
    with _scheduler(server, period_s=60) as counters:
        until(lambda: "nodeName" in server.pod("a")["spec"])
        _settled(counters)
        server.add(pod("b", "team", 1))
        until(lambda: "nodeName" in server.pod("b")["spec"])


def test_changes_that_follow_each_other_share_cycles() -> None:
    server = ApiServer()
    server.add(node("n1", 64), TRAIN, TEAM)
    with _scheduler(server, period_s=60) as counters:
        before, began = _settled(counters), time.monotonic()
        for number in range(40):
            server.add(pod(f"pod-{number}", "team", 0))
            time.sleep(0.005)
        until(lambda: all("nodeName" in server.pod(f"pod-{number}")["spec"] for number in range(40)))
        # The shortest time between the starts of two cycles is 0.05 s.
        assert n_cycles(counters) - before <= (time.monotonic() - began) / 0.05 + 1


def test_delay_of_a_rejected_gang_ends_before_the_next_cycle_if_its_bind_took_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scheduler, "_FIRST_DELAY_S", 0.8)
    server, attempts = ApiServer(), list[tuple[float, int]]()
    server.add(node("n1", 8), TRAIN, TEAM)
    with _scheduler(server) as counters:
        before = _settled(counters)

        def reject(sent: Sent) -> Rejection | None:
            if not sent.path.endswith("/binding"):
                return None
            attempts.append((time.monotonic(), n_cycles(counters) - before))
            time.sleep(0.5)
            return Rejection(400, "rejected")

        server.answer = reject
        server.add(pod("a", "team", 1))
        until(lambda: len(attempts) == 2)
    (first_s, _), (second_s, n_cycles_before) = attempts
    # The delay begins with the rejection; a cycle that begins earlier can only wait again.
    assert second_s - first_s >= 0.5 + 0.8
    assert n_cycles_before == 1


def test_stale_gang_is_evicted_after_grace_period_without_changes() -> None:
    group = pod_group("gang", "team", 2)
    running_pod = pod("running", "team", 1, on="n1", **{"pod-group-name": "gang"})
    cluster = Memory(node("n1", 8), TRAIN, TEAM, group, running_pod)
    first = run_cycle(cluster, NOW)
    assert first.next_cycle_s == 60
    assert run_cycle(cluster, NOW + first.next_cycle_s).evicted == ["team/running"]


def test_no_cycle_runs_if_time_changes_nothing() -> None:
    cluster = Memory(node("n1", 8), TRAIN, TEAM, pod("a", "team", 1))
    run_cycle(cluster, NOW)
    assert run_cycle(cluster, NOW + 1).next_cycle_s == float("inf")
