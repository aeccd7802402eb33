"""Shared devices while the API server rejects writes and the scheduler is restarted: no device is given twice."""

from __future__ import annotations

import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import AbstractContextManager
from threading import Event
from typing import Any

import pytest

from apportion_runtime.kube.gpu_reservation import ReservationSettings
from apportion_runtime.kube.http_server import Counters
from apportion_runtime.kube.leader_election import LeaderElection, LeaseTiming
from apportion_runtime.kube.scheduler_process import Options

from .api_server import ApiServer, Rejection, Sent, running
from .objects import TRAIN, node, pod, pod_group, queue
from .scheduler_thread import in_thread, scheduling, until
from .sharing_pods import DEVICE, GANG, GROUP, RESERVED, sharing

OPTIONS = Options("kai-scheduler", period_s=0.02, reservation=ReservationSettings("registry.example/reservation:v1"))
NODES = ("n1", "n2")
N_GPUS = 4
LIMIT_S = 120.0
LEASE = "/apis/coordination.k8s.io/v1/namespaces/system/leases/scheduler"


def _pods(server: ApiServer, namespace: str) -> dict[str, dict[str, Any]]:
    with server.changed:
        held = dict(server.held)
    prefix = f"/api/v1/namespaces/{namespace}/pods/"
    return {path.removeprefix(prefix): made for path, made in held.items() if path.startswith(prefix)}


def _agent(server: ApiServer, generator: random.Random) -> AbstractContextManager[None]:
    """Report the devices of reservation pods, each after a while."""

    def report(ended: Event) -> None:
        while not ended.wait(0.01):
            for name, made in _pods(server, RESERVED).items():
                if DEVICE not in made["metadata"]["annotations"] and generator.random() < 0.2:
                    with server.changed:
                        path = f"/api/v1/namespaces/{RESERVED}/pods/{name}"
                        if path in server.held:
                            metadata = {**made["metadata"], "annotations": {DEVICE: f"GPU-of-{name}"}}
                            server.put(path, {**made, "metadata": metadata}, "MODIFIED")

    return in_thread(report)


def _bound(server: ApiServer) -> set[str]:
    return {name for name, made in _pods(server, "team").items() if made["spec"].get("nodeName")}


def _check_devices(server: ApiServer) -> None:
    """Check that no device is used beyond itself, and that whole and reserved devices fit on each node."""
    used: dict[str, float] = defaultdict(float)
    whole: Counter[str] = Counter()
    reserved = {one["metadata"]["labels"][GROUP]: one for one in _pods(server, RESERVED).values()}
    for one in _pods(server, "team").values():
        at = one["spec"].get("nodeName")
        if at is None:
            continue
        fraction = one["metadata"]["annotations"].get("gpu-fraction")
        if fraction is None:
            whole[at] += int(one["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"])
            continue
        for key, group in one["metadata"]["labels"].items():
            if key.startswith(GROUP):
                used[group] += float(fraction)
                assert reserved[group]["spec"]["nodeName"] == at
    assert max(used.values()) <= 1.0
    assert used.keys() == reserved.keys()
    for one in reserved.values():
        whole[one["spec"]["nodeName"]] += 1
    assert all(whole[name] <= N_GPUS for name in NODES)


@pytest.mark.parametrize("seed", range(3))
def test_devices_are_given_once_despite_rejected_writes_and_restart(seed: int) -> None:
    server, log, generator = ApiServer(), list[str](), random.Random(seed)
    gang = [pod("gang-head", "team", 1, **GANG), *(sharing(f"gang-{n}", **GANG) for n in range(4))]
    single = [sharing("half"), sharing("small", "0.2"), sharing("two", "0.4", **{"gpu-fraction-num-devices": "2"})]
    server.add(
        *(node(name, N_GPUS) for name in NODES), TRAIN, queue("team", None, -1), pod_group("gang", "team", 5), *gang
    )

    early: list[str] = []

    def reject(sent: Sent) -> Rejection | None:
        if sent.path.endswith("/binding"):
            early.extend(_unreserved(server, sent.body["metadata"]["name"]))
        if sent.method == "GET" or generator.random() > 0.25:
            return None
        return Rejection(generator.choice([409, 503]), "rejected by the test")

    server.answer = reject
    with running(server) as connection, _agent(server, generator):
        with scheduling(connection, OPTIONS, log.append):
            until(lambda: len(_pods(server, RESERVED)) > 0, log, LIMIT_S)
            server.add(*single, pod("whole", "team", 1))
            time.sleep(generator.random() * 2)
        with scheduling(connection, OPTIONS, log.append):
            time.sleep(generator.random() * 2)
            server.answer = lambda sent: None
            wanted = {one["metadata"]["name"] for one in (*gang, *single)} | {"whole"}
            until(lambda: _bound(server) == wanted, log, LIMIT_S)
            until(lambda: len(_pods(server, RESERVED)) == len(_groups(server)), log, LIMIT_S)
            _check_devices(server)
            assert early == []
            for name in _pods(server, "team"):
                server.remove(f"/api/v1/namespaces/team/pods/{name}")
            until(lambda: not _pods(server, RESERVED), log, LIMIT_S)


def test_gang_that_waits_while_another_scheduler_leads_is_decided_anew() -> None:
    server, log = ApiServer(), list[str]()
    server.add(node("n1", N_GPUS), TRAIN, queue("team", None, -1), sharing("half"))
    with running(server) as connection:
        election = LeaderElection(connection, "system", "scheduler", "one", timing=LeaseTiming(600, 400, 0.05))
        with scheduling(connection, OPTIONS, log.append, election=election):
            until(lambda: len(_pods(server, RESERVED)) == 1, log)
            (former,) = _pods(server, RESERVED)
            _hand_over(server, "two")
            until(lambda: "lost leadership" in log, log)
            # The other scheduler deletes reservation pods of gangs that it does not hold, and releases its lease.
            server.remove(f"/api/v1/namespaces/{RESERVED}/pods/{former}")
            _hand_over(server, "")
            with _agent(server, random.Random(0)):
                until(lambda: _bound(server) == {"half"}, log)
    assert [line for line in log if "no GPU can be reserved" in line] == []


def _hand_over(server: ApiServer, holder: str) -> None:
    with server.changed:
        held = server.held[LEASE]
        server.put(LEASE, {**held, "spec": {**held["spec"], "holderIdentity": holder}}, "MODIFIED")


def _unreserved(server: ApiServer, name: str) -> Iterator[str]:
    """Yield the name of a pod that is bound without a reported device of each of its groups."""
    made = server.pod(name)
    reported = {
        one["metadata"]["labels"][GROUP]
        for one in _pods(server, RESERVED).values()
        if DEVICE in one["metadata"]["annotations"]
    }
    groups = {group for key, group in made["metadata"]["labels"].items() if key.startswith(GROUP)}
    if "gpu-fraction" in made["metadata"]["annotations"] and not (groups and groups <= reported):
        yield name


def _groups(server: ApiServer) -> set[str]:
    return {
        group
        for one in _pods(server, "team").values()
        for key, group in one["metadata"]["labels"].items()
        if key.startswith(GROUP)
    }


def test_failed_reservation_is_logged_and_counted_as_such_and_not_as_a_rejected_write() -> None:
    server, counters, log = ApiServer(), Counters(), list[str]()
    server.add(node("n1", 4), TRAIN, queue("team", None, 8), sharing("a"))

    def reject(sent: Sent) -> Rejection | None:
        is_reservation = sent.method == "POST" and sent.path == f"/api/v1/namespaces/{RESERVED}/pods"
        return Rejection(403, "exceeded quota") if is_reservation and not sent.is_dry_run else None

    server.answer = reject

    def counted(name: str, **labels: str) -> float:
        return counters.metrics.registry.get_sample_value(f"apportion_scheduler_{name}_total", labels) or 0

    with running(server) as connection, scheduling(connection, OPTIONS, log.append, counters=counters):
        until(lambda: counted("gpu_reservations_failed", cause="rejected") == 1, log)
        until(lambda: any("GPU reservation failed" in line for line in log), log)
    assert counted("writes_rejected") == 0
    (warning,) = [line for line in log if line.startswith("warning: ")]
    assert warning.startswith("warning: GPU reservation failed: team/")
    assert warning.endswith("cannot be created: exceeded quota")
