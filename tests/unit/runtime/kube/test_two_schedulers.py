"""Two schedulers on one cluster, one of which pauses in the middle of a gang."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import AbstractContextManager, ExitStack
from threading import Event

from apportion_runtime.kube.connection import N_WRITERS, Connection
from apportion_runtime.kube.leader_election import LeaderElection, LeaseTiming
from apportion_runtime.kube.scheduler_process import Options

from .api_server import ApiServer, Rejection, Sent, serving
from .objects import TRAIN, node, pod, pod_group, queue
from .scheduler_thread import scheduling, until

TIMING = LeaseTiming(lease_s=4.0, renew_deadline_s=3.0, retry_s=0.1)
SIZE = 2 * N_WRITERS
GANG = [pod(f"gang-{n}", "team", 1, **{"pod-group-name": "gang"}) for n in range(SIZE)]
CLUSTER = (node("n1", SIZE), TRAIN, queue("team", None, SIZE), pod_group("gang", "team", SIZE))


def _scheduler(
    connection: Connection, name: str, log: list[str], timing: LeaseTiming = TIMING
) -> AbstractContextManager[None]:
    election = LeaderElection(connection, "system", "scheduler", name, timing=timing)
    options = Options("kai-scheduler", period_s=0.02)
    return scheduling(connection, options, lambda text: log.append(f"{name} {text}"), election=election)


def _bound(server: ApiServer) -> int:
    return sum("nodeName" in made["spec"] for path, made in list(server.held.items()) if "/pods/gang-" in path)


def test_next_leader_binds_rest_of_gang_after_leader_pauses() -> None:
    server, log = ApiServer(), list[str]()
    server.add(*CLUSTER)
    paused, second_bound = Event(), Event()

    def pause_the_first(sent: Sent) -> Rejection | None:
        if sent.client == "two" and sent.path.endswith("/binding"):
            second_bound.set()
        if sent.client != "one":
            return None
        if sent.path.endswith("/binding"):
            # The pause outlasts the lease, and the write has its effect.
            paused.set()
            second_bound.wait(60)
        return Rejection(503, "paused") if paused.is_set() and "/leases/" in sent.path else None

    server.answer = pause_the_first
    with serving(server) as connect, ExitStack() as stack:
        stack.enter_context(_scheduler(connect("one"), "one", log))
        until(lambda: "one became the leader" in log, log)
        server.add(*GANG)
        until(paused.is_set, log)
        stack.enter_context(_scheduler(connect("two"), "two", log))
        until(lambda: _bound(server) == SIZE, log)
        until(lambda: "one lost leadership" in log, log)
        binds = [sent for sent in server.sent if sent.path.endswith("/binding")]
    senders = Counter(sent.client for sent in binds)
    assert 1 <= senders["one"] <= N_WRITERS, log
    assert senders["two"] >= SIZE - N_WRITERS, log
    # What was already sent when the leader paused, and nothing after it.
    last_of_one = max(at for at, sent in enumerate(binds) if sent.client == "one")
    first_of_two = min(at for at, sent in enumerate(binds) if sent.client == "two")
    assert last_of_one < first_of_two


def test_stopped_scheduler_releases_lease_immediately() -> None:
    server, log = ApiServer(), list[str]()
    long = LeaseTiming(lease_s=600, renew_deadline_s=400, retry_s=0.1)
    server.add(*CLUSTER)
    with serving(server) as connect, ExitStack() as stack:
        with _scheduler(connect("one"), "one", log, long):
            until(lambda: "one became the leader" in log, log)
            stack.enter_context(_scheduler(connect("two"), "two", log, long))
            until(lambda: "two initial list of cluster objects complete" in log, log)
            until(lambda: any(line.startswith("two waiting for lease ") for line in log), log)
            assert [line for line in log if "waiting for lease" in line] == [
                "two waiting for lease system/scheduler, held by one"
            ]
        stopped_s = time.monotonic()
        until(lambda: "two became the leader" in log, log)
        assert time.monotonic() - stopped_s < long.lease_s
        server.add(*GANG)
        until(lambda: _bound(server) == SIZE, log)
