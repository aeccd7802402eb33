"""The permissions of the packaged scheduler: exactly those that it uses, narrowed by its admission policy."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from apportion_compiler.packaged_scheduler import scheduler_objects
from apportion_runtime.kube.api_writer import ApiWriter, SingleScheduler
from apportion_runtime.kube.connection import Connection, connect
from apportion_runtime.kube.errors import Refused
from apportion_runtime.kube.live_cluster import LiveCluster
from apportion_runtime.kube.object_cache import ObjectCache

from .access_audit import permissions, requests, size
from .control_plane import AUDIT_LOG, ControlPlane
from .kubectl import Kubectl, Object
from .live_scheduler import (
    ACCOUNT,
    LIMIT_S,
    NAMESPACE,
    PACKAGED,
    bound,
    events,
    pod,
    pods,
    scheduler,
    until,
)
from .owners import owner_definitions, owner_objects

pytestmark = pytest.mark.e2e


@pytest.fixture
def owned_pods(cluster: Kubectl) -> Iterator[Mapping[str, Object]]:
    """A pod of each kind of owner that the account may read, by its name."""
    definitions = list(owner_definitions())
    try:
        assert cluster.create(*definitions).accepted
        names = [f"crd/{one['metadata']['name']}" for one in definitions]
        cluster.must("wait", "--for=condition=Established", *names, "--timeout=100s")
        owners = list(owner_objects(NAMESPACE))
        answer = cluster.create(*owners)
        assert answer.accepted, answer.said
        kept = cluster.must("get", "-f", "-", "-o", "json", stdin=json.dumps({"kind": "List", "items": owners}))
        yield {one["metadata"]["name"]: _pod_of(one) for one in kept.json()["items"]}
    finally:
        cluster.delete_objects(definitions)


def _pod_of(owner: Object) -> Object:
    made = pod(owner["metadata"]["name"], "sched-nlp", 0)
    reference = {key: owner["metadata"][key] for key in ("name", "uid")}
    made["metadata"]["ownerReferences"] = [{"apiVersion": owner["apiVersion"], "kind": owner["kind"], **reference}]
    return made


def _bind_again(access: Path, cluster: Kubectl, name: str) -> None:
    """Bind a pod to its own node once more, as after a bind without a response."""
    cache = ObjectCache(connect(str(access)))
    cache.start(LIMIT_S)
    try:
        known = pods(cluster)[name]
        LiveCluster(cache, ApiWriter(connect(str(access)), SingleScheduler())).bind(known, "sched-1")
    finally:
        cache.stop()


def test_every_permission_is_used_and_none_is_missing(
    plane: ControlPlane, cluster: Kubectl, access: Path, owned_pods: Mapping[str, Object], tmp_path: Path
) -> None:
    """Each permission is the only one for at least one request, so that without it the request would be forbidden."""
    log, audit = tmp_path / "scheduler.log", plane.folder / AUDIT_LOG
    offset = size(audit)
    with scheduler(access, log):
        answer = cluster.create(*owned_pods.values())
        assert answer.accepted, answer.said
        # Binds, events, annotations of pods and pod groups, and the status of queues and pod groups.
        for name in ("nlp-1", "nlp-2"):
            assert cluster.create(pod(name, "sched-nlp", 2)).accepted
        until(lambda: bound(cluster), lambda found: {"nlp-1", "nlp-2"} <= found, log)
        # An eviction, and the condition of a pod that stays pending.
        for name in ("vision-1", "vision-2"):
            assert cluster.create(pod(name, "sched-vision", 2)).accepted
        until(lambda: events(cluster, "Reclaimed"), bool, log)
        until(lambda: bound(cluster) & {"vision-1", "vision-2"}, lambda found: len(found) == 1, log)
        until(lambda: events(cluster, "Unschedulable"), bool, log)
        _bind_again(access, cluster, *(bound(cluster) & {"vision-1", "vision-2"}))
    granted = set(permissions(scheduler_objects(PACKAGED)))
    made = set(requests(audit, offset, ACCOUNT))
    by_request = {request: [one for one in granted if one.permits(request)] for request in made}
    used = {by[0] for by in by_request.values() if len(by) == 1}
    missing = sorted({str(request) for request, by in by_request.items() if not by})
    unused = sorted(str(one) for one in granted - used)
    assert {"requests without permission": missing, "permissions that no request needs": unused} == {
        "requests without permission": [],
        "permissions that no request needs": [],
    }


_Patch = tuple[str, Mapping[str, Object]]
REFUSED: tuple[tuple[_Patch, str], ...] = (
    (("", {"spec": {"containers": [{"name": "main", "image": "other"}]}}), "must not change a pod's spec"),
    (("", {"metadata": {"labels": {"kai.scheduler/queue": "sched-vision"}}}), "may change only these labels"),
    (("", {"metadata": {"labels": {"kai.scheduler/queue": None}}}), "may change only these labels"),
    (("", {"metadata": {"annotations": {"other": "1"}}}), "may change only these annotations"),
    (("", {"metadata": {"finalizers": ["example.com/kept"]}}), "may change only the labels and annotations"),
    (("/status", {"metadata": {"labels": {"other": "1"}}}), "may change only these labels"),
    (("/status", {"status": {"phase": "Succeeded"}}), "may change only the conditions"),
    (
        ("/status", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
        "may change only these conditions: PodScheduled",
    ),
)
PERMITTED: tuple[_Patch, ...] = (
    ("", {"metadata": {"labels": {"kai.scheduler/subgroup-name": "workers"}}}),
    ("", {"metadata": {"annotations": {"pod-group-name": "one"}}}),
    ("/status", {"status": {"conditions": [{"type": "PodScheduled", "status": "False"}]}}),
    ("/status", {"status": {"conditions": [{"type": "DisruptionTarget", "status": "True"}]}}),
)


def _refusal(connection: Connection, patch: _Patch) -> str:
    """Return why the API server refuses a patch of the pod `held`; nothing is stored."""
    subresource, body = patch
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/held{subresource}?dryRun=All"
    try:
        connection.request("PATCH", path, body, content_type="application/strategic-merge-patch+json")
    except Refused as refused:
        return str(refused)
    return ""


def test_account_can_change_only_permitted_fields_of_pods(cluster: Kubectl, access: Path) -> None:
    own = connect(str(access))
    made = pod("held", "sched-nlp", 1)
    made["metadata"]["annotations"] = {"kept": "1"}
    assert cluster.create(made).accepted
    # The API server compiles a new policy in the background.
    until(lambda: _refusal(own, REFUSED[0][0]), bool)
    said = [(why, _refusal(own, patch)) for patch, why in REFUSED]
    assert [(why, answer) for why, answer in said if why not in answer] == []
    assert [answer for patch in PERMITTED if (answer := _refusal(own, patch))] == []
    # Others are not affected.
    cluster.must("label", "pod", "held", f"--namespace={NAMESPACE}", "other=1")
    status = until(
        lambda: cluster.get("validatingadmissionpolicy", "apportion-scheduler").get("status", {}),
        lambda found: "typeChecking" in found,
    )
    assert status["typeChecking"] == {}
