"""The last line of the log: who ended the process, what was finished, and what became of the lease."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread

import pytest
import yaml

from apportion_runtime.kube.connection import N_WRITERS, Connection
from apportion_runtime.kube.http_server import Counters
from apportion_runtime.kube.leader_election import LeaderElection
from apportion_runtime.kube.scheduler_process import Options, run

from .api_server import ApiServer, Rejection, Sent, listening, running
from .objects import TRAIN, node, pod, pod_group, queue
from .scheduler_thread import until

LEASE = "/apis/coordination.k8s.io/v1/namespaces/system/leases/scheduler"
OPTIONS = Options("kai-scheduler", period_s=0.01)


def _run(
    connection: Connection, election: LeaderElection | None, ended: Event, log: list[str], options: Options
) -> None:
    run(connection, options, election, Counters(), say=log.append, ended=ended, ended_by=lambda: "SIGTERM")


def _ended(
    server: ApiServer, *, with_lease: bool, fails_at_end: bool = False, options: Options = OPTIONS
) -> Sequence[str]:
    """Return the log of a scheduler that has bound a pod and was asked to end."""
    server.add(node("n1", 8), TRAIN, queue("team", None, 8), pod("a", "team", 1))
    ended, log = Event(), list[str]()
    with running(server) as connection:
        election = LeaderElection(connection, "system", "scheduler", "one") if with_lease else None
        thread = Thread(target=_run, args=(connection, election, ended, log, options))
        thread.start()
        until(lambda: "nodeName" in server.pod("a")["spec"], log)
        if fails_at_end:
            server.answer = lambda sent: Rejection(503, "overloaded") if sent.path == LEASE else None
        ended.set()
        thread.join()
    return log


@pytest.mark.parametrize(
    ("with_lease", "fails_at_end", "said"),
    [
        (False, False, ""),
        (True, False, "; lease system/scheduler released"),
        (True, True, "; lease system/scheduler not released (overloaded); it expires after 15 s"),
    ],
    ids=["no lease", "lease", "lease that cannot be released"],
)
def test_last_line_names_the_signal_the_last_cycle_and_the_lease(
    *, with_lease: bool, fails_at_end: bool, said: str
) -> None:
    server = ApiServer()
    log = _ended(server, with_lease=with_lease, fails_at_end=fails_at_end)
    assert log[-1].startswith("ended by SIGTERM after ")
    assert "the last cycle and its writes are complete" in log[-1]
    assert log[-1].endswith(said)
    if with_lease:
        assert (server.held[LEASE]["spec"]["holderIdentity"] == "") is not fails_at_end


def test_last_line_of_a_structured_log_has_fields() -> None:
    log = _ended(ApiServer(), with_lease=True, options=replace(OPTIONS, is_json_log=True))
    last = json.loads(log[-1])
    assert {key: last[key] for key in ("level", "shutdown", "lastCycle", "lease")} == {
        "level": "info",
        "shutdown": "SIGTERM",
        "lastCycle": "the last cycle and its writes are complete",
        "lease": "released",
    }
    assert last["cycles"] >= 1
    assert last["unwrittenNotes"] >= 0


def test_replica_that_waits_for_the_lease_reports_that_it_was_not_held() -> None:
    server, ended, log = ApiServer(), Event(), list[str]()
    with running(server) as connection:
        assert LeaderElection(connection, "system", "scheduler", "one").try_acquire_or_renew()
        waiting = LeaderElection(connection, "system", "scheduler", "two")
        thread = Thread(target=_run, args=(connection, waiting, ended, log, OPTIONS))
        thread.start()
        until(lambda: any("held by one" in line for line in log), log)
        ended.set()
        thread.join()
    assert log[-1] == "ended by SIGTERM after 0 cycles: no cycle has run; lease system/scheduler not held"


def test_writes_are_not_repeated_once_the_process_must_end() -> None:
    # The gang takes two rounds of parallel writes; with repetitions, each takes 20 s or more.
    server, ended, log, stormy = ApiServer(), Event(), list[str](), Event()
    gang = [pod(f"gang-{n}", "team", 1, **{"pod-group-name": "gang"}) for n in range(2 * N_WRITERS)]
    server.add(node("n1", 64), TRAIN, queue("team", None, 64), pod_group("gang", "team", len(gang)), *gang)

    def storm(sent: Sent) -> Rejection | None:
        if not sent.path.endswith("/binding"):
            return None
        stormy.set()
        return Rejection(429, "too many requests", {"Retry-After": "5"})

    server.answer = storm
    with running(server) as connection:
        election = LeaderElection(connection, "system", "scheduler", "one")
        thread = Thread(target=_run, args=(connection, election, ended, log, OPTIONS))
        thread.start()
        assert stormy.wait(60)
        began_s = time.monotonic()
        ended.set()
        thread.join()
    assert time.monotonic() - began_s < 10
    assert log[-1].endswith("; lease system/scheduler released")


def test_process_that_is_ended_while_it_takes_over_does_not_wait_for_the_lists() -> None:
    server, ended, log, taking_over = ApiServer(), Event(), list[str](), Event()

    def overloaded(sent: Sent) -> Rejection | None:
        # The lease is written before the objects are listed again.
        if LEASE not in server.held or not sent.path.endswith("/podgroups"):
            return None
        taking_over.set()
        return Rejection(429, "too many requests")

    server.answer = overloaded
    with running(server) as connection:
        election = LeaderElection(connection, "system", "scheduler", "one")
        thread = Thread(target=_run, args=(connection, election, ended, log, OPTIONS))
        thread.start()
        assert taking_over.wait(60)
        began_s = time.monotonic()
        ended.set()
        thread.join()
    assert time.monotonic() - began_s < 10
    assert log[-1] == "ended by SIGTERM after 0 cycles: no cycle has run; lease system/scheduler released"


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_process_that_is_ended_during_its_first_list_says_so(name: str, tmp_path: Path) -> None:
    server, listing, released = ApiServer(), Event(), Event()

    def hang(sent: Sent) -> Rejection | None:
        if sent.path.endswith("/nodes"):
            listing.set()
            released.wait(60)
        return None

    server.answer = hang
    with listening(server) as port:
        config = tmp_path / "config"
        cluster = {"clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}]}
        context = {"contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}], "current-context": "c"}
        config.write_text(yaml.safe_dump({**cluster, **context, "users": [{"name": "u", "user": {}}]}))
        command = [sys.executable, "-m", "apportion_cli.main", "scheduler", "--kubeconfig", str(config), "--port", "0"]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ})
        assert listing.wait(60)
        process.send_signal(signal.Signals[name])
        _, err = process.communicate(timeout=60)
        released.set()
    assert process.returncode == 0
    assert err.splitlines()[-1].endswith(
        f" ended by {name} after 0 cycles: the initial list of cluster objects was not complete"
    )
