"""The live scheduler when objects disappear or change between a decision and its effect."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from ..admission_webhook import admission_webhook
from ..live_scheduler import queue, until
from .api_client import NODES, QUEUES
from .cluster_state import NAMESPACE, PODS, ClusterState, read_state
from .fault_bed import LEASE, RECOVERY_S, FaultBed, check_process
from .fault_proxy import PASS, Reaction, Request
from .gangs import Gang, create_node
from .held_binds import HeldBind

pytestmark = pytest.mark.e2e

GANG = Gang("gang", 6, 4)
OTHER = Gang("other", 4, 2)
AFTER = Gang("after", 4, 8)
LATER = Gang("later", 2, 2, "later")
_RETRY_DELAY_S = 10
_LATE_S = 2.0
_SHARDS = "/apis/kai.scheduler/v1/schedulingshards"
_SHARD = {"apiVersion": "kai.scheduler/v1", "kind": "SchedulingShard", "metadata": {"name": "rest"}, "spec": {}}


def _wait(bed: FaultBed, reached: Callable[[ClusterState], bool]) -> ClusterState:
    return until(lambda: read_state(bed.api), reached, bed.scheduler.log)


def test_node_that_is_deleted_while_pods_are_bound_to_it(shared: FaultBed) -> None:
    held = HeldBind(2)
    shared.proxy.fault = held
    shared.create(GANG)
    node = held.wait().bound_to
    shared.api.delete(f"{NODES}/{node}")
    try:
        held.release()
        state = _wait(shared, lambda state: all(pod.node for pod in state.pods_of(GANG.name)))
        # The API server binds to nodes that do not exist; Kubernetes' pod garbage collector deletes such pods.
        for pod in state.bound():
            if pod.node == node:
                shared.api.delete(f"{PODS}/{pod.name}")
        state = shared.wait_bound(GANG)
        assert node not in {pod.node for pod in state.bound()}
    finally:
        create_node(shared.api, node)
    shared.create(AFTER)
    shared.wait_bound(GANG, AFTER)


def test_pods_that_are_deleted_before_the_watch_has_confirmed_their_binding(shared: FaultBed) -> None:
    held = HeldBind(1)
    shared.proxy.fault = held
    shared.create(GANG)
    held.wait()
    shared.proxy.flow.clear()
    held.release()
    before = _wait(shared, lambda state: all(pod.node for pod in state.pods_of(GANG.name)))
    for pod in before.pods_of(GANG.name)[:3]:
        shared.api.delete(f"{PODS}/{pod.name}")
    shared.create(OTHER)
    shared.proxy.flow.set()
    state = shared.wait_bound(GANG, OTHER)
    kept = {pod.name for pod in before.pods_of(GANG.name)} & {pod.name for pod in state.pods}
    assert len(kept) == 3


def test_pods_whose_pod_group_is_delivered_after_them(shared: FaultBed) -> None:
    shared.proxy.stalled = "/podgroups"
    shared.proxy.flow.clear()
    shared.create(GANG)
    # Pods without a stored group are grouped by their owner immediately.
    time.sleep(_LATE_S)
    shared.proxy.flow.set()
    state = shared.wait_bound(GANG)
    assert state.minimums.keys() == {GANG.name}


def test_queues_that_are_edited_and_deleted_under_load(shared: FaultBed) -> None:
    api = shared.api
    tight = tuple(Gang(f"tight-{number}", 4, 4, "tight") for number in range(3))
    extra = tuple(Gang(f"extra-{number}", 4, 2, "extra") for number in range(2))
    api.request("POST", QUEUES, queue("extra", "all", 8, -1))
    try:
        shared.create(*tight, extra[0])
        shared.wait_bound(extra[0])
        api.delete(f"{QUEUES}/extra")
        # Pods have a watch of their own; a later queue is read after the deletion of the other.
        api.request("POST", QUEUES, queue("later", "all", 8, -1))
        shared.create(LATER)
        shared.wait_bound(extra[0], LATER)
        shared.create(extra[1], OTHER)
        state = shared.wait_bound(extra[0], OTHER)
        assert not any(pod.node for pod in state.pods_of(extra[1].name))
        # From 24 to 48 GPUs: the gangs that waited for the limit are bound.
        api.request("PATCH", f"{QUEUES}/tight", {"spec": queue("tight", "all", 16, 48)["spec"]})
        api.request("POST", QUEUES, queue("extra", "all", 8, -1))
        shared.wait_bound(*tight, *extra, OTHER)
    finally:
        api.request("PATCH", f"{QUEUES}/tight", {"spec": queue("tight", "all", 16, 24)["spec"]})
        for name in ("extra", "later"):
            api.delete(f"{QUEUES}/{name}")


def test_gang_of_which_one_bind_is_rejected_is_taken_back_and_bound_later(shared: FaultBed) -> None:
    rejected: list[str] = []

    def reject_one(request: Request) -> Reaction:
        if not request.is_bind or f"/{GANG.name}-" not in request.path:
            return PASS
        if not rejected:
            rejected.append(request.path)
        return Reaction(403, "Forbidden") if rejected == [request.path] else PASS

    shared.proxy.fault = reject_one
    shared.create(GANG, OTHER)
    _wait(shared, lambda _: bool(rejected))
    # The other pods of the gang are evicted.
    state = shared.wait_bound(OTHER)
    assert not any(pod.node for pod in state.pods_of(GANG.name))
    assert "rejected the binding of pod" in shared.scheduler.said()
    shared.proxy.fault = lambda _: PASS
    # A rejected gang is tried again after a delay.
    shared.wait_bound(GANG, OTHER, within_s=RECOVERY_S + _RETRY_DELAY_S)


def test_gang_of_which_a_webhook_rejects_one_bind(shared: FaultBed) -> None:
    rejected: set[str] = set()

    def reject_one(request: Mapping[str, Any]) -> Mapping[str, Any]:
        pod = request["name"]
        if not rejected and pod.startswith(f"{GANG.name}-"):
            rejected.add(pod)
        if pod not in rejected:
            return {"allowed": True}
        return {"allowed": False, "status": {"code": 403, "message": "the image is not signed"}}

    plane = shared.plane
    with admission_webhook(
        plane.kubectl,
        plane.generate_cert,
        "ValidatingWebhookConfiguration",
        "signed.images.example",
        NAMESPACE,
        "pods/binding",
        reject_one,
    ):
        shared.create(GANG, OTHER)
        _wait(shared, lambda _: bool(rejected))
        state = shared.wait_bound(OTHER)
        assert not any(pod.node for pod in state.pods_of(GANG.name))
        assert "the image is not signed" in shared.scheduler.said()
        # The webhook still rejects that pod; the pod that replaces an evicted one has another name.
        for pod in rejected:
            shared.api.delete(f"{PODS}/{pod}")
        shared.wait_bound(GANG, OTHER, within_s=RECOVERY_S + _RETRY_DELAY_S)


def test_shard_that_is_deleted_and_created_again(bed: FaultBed) -> None:
    bed.stop_shared()
    bed.api.request("POST", _SHARDS, _SHARD)
    try:
        with bed.started({"leaderElection": {"lease": LEASE}, "shard": "rest"}) as scheduler:
            bed.create(GANG)
            bed.wait_bound(GANG, by=scheduler)
            bed.api.delete(f"{_SHARDS}/rest")
            # Pods have a watch of their own, which may be ahead.
            warning = "nothing is scheduled: the SchedulingShard rest does not exist"
            until(scheduler.said, lambda said: warning in said)
            bed.create(OTHER)
            time.sleep(_LATE_S)
            assert read_state(bed.api).bound_gangs() == {GANG.name}
            bed.api.request("POST", _SHARDS, _SHARD)
            bed.wait_bound(GANG, OTHER, by=scheduler)
            check_process(scheduler)
    finally:
        bed.api.delete(f"{_SHARDS}/rest")
