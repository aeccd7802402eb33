"""The live scheduler with Queue and PodGroup objects that make no sense: the others are scheduled as before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from ..live_scheduler import pod, queue, until
from .api_client import QUEUES, ApiError, Object
from .cluster_state import GROUPS, NAMESPACE, PODS
from .fault_bed import FaultBed, check_process
from .gangs import Gang

pytestmark = pytest.mark.e2e

VALID = Gang("valid", 4, 4)
LATER = Gang("later", 4, 4)


def _queue(name: str, **spec: Any) -> Object:
    made = queue(name, None, 4, -1)
    made["spec"].update(spec)
    return made


def _gpu(**amounts: Any) -> dict[str, Any]:
    return {"resources": {"gpu": amounts}}


def _group(name: str, *, annotations: dict[str, str] | None = None, **spec: Any) -> Object:
    return {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": name, "annotations": annotations or {}},
        "spec": {"queue": "open", "minMember": 1, **spec},
    }


REJECTED: Sequence[tuple[str, Object]] = (
    (QUEUES, _queue("wrong-type", parentQueue=7)),
    (QUEUES, _queue("wrong-amount", **_gpu(quota="many"))),
    (GROUPS, _group("wrong-minimum", minMember="all")),
    (GROUPS, _group("negative-minimum", minMember=-1)),
)
"""Objects that the API server does not store, by KAI's definitions."""
STORED: Sequence[Object] = (
    _queue("cycle-a", parentQueue="cycle-b"),
    _queue("cycle-b", parentQueue="cycle-a"),
    _queue("cycle-of-one", parentQueue="cycle-of-one"),
    _queue("orphan", parentQueue="missing"),
    _queue("negative-quota", **_gpu(quota=-7, limit=-9, overQuotaWeight=-3)),
    _queue("limit-below-quota", **_gpu(quota=8, limit=2, overQuotaWeight=0)),
    _queue("huge", **_gpu(quota=1e300, limit=1e300, overQuotaWeight=1e300)),
    _queue("no-resources", resources={}),
    _queue("wrong-duration", preemptMinRuntime="soon", reclaimMinRuntime="-1h"),
)
GROUPS_STORED: Sequence[Object] = (
    _group("of-missing-queue", queue="missing"),
    _group("of-no-queue", queue=""),
    _group("of-cycle", queue="cycle-a"),
    _group("of-cycle-of-one", queue="cycle-of-one"),
    _group("of-orphan", queue="orphan"),
    _group("of-negative", queue="negative-quota"),
    _group("of-huge", queue="huge"),
    _group("of-parent", queue="all"),
    _group("huge-minimum", minMember=2**31 - 1),
    _group("no-minimum", minMember=0),
    _group("missing-class", priorityClassName="missing"),
    _group("missing-topology", topologyConstraint={"topology": "missing", "requiredTopologyLevel": "rack"}),
    _group(
        "cyclic-sub-groups",
        subGroups=[{"name": "a", "parent": "b", "minMember": 1}, {"name": "b", "parent": "a", "minMember": 1}],
    ),
    _group("orphan-sub-group", subGroups=[{"name": "a", "parent": "missing", "minMember": 1}]),
    _group(
        "wrong-times",
        annotations={
            "kai.scheduler/last-start-timestamp": "yesterday",
            "kai.scheduler/stale-podgroup-timestamp": "-1",
        },
    ),
)


@pytest.fixture
def malformed(bed: FaultBed) -> Iterator[None]:
    """Store the malformed objects, and a pod of each group."""
    api = bed.api
    try:
        for one in STORED:
            api.request("POST", QUEUES, one)
        for one in GROUPS_STORED:
            api.request("POST", GROUPS, one)
            api.request("POST", PODS, _pod(one))
        yield
    finally:
        for one in STORED:
            api.delete(f"{QUEUES}/{one['metadata']['name']}")


def _pod(group: Object) -> Object:
    name = group["metadata"]["name"]
    made = pod(name, group["spec"]["queue"], 1, namespace=NAMESPACE)
    made["metadata"]["annotations"] = {"pod-group-name": name}
    return made


@pytest.mark.parametrize(("path", "made"), REJECTED, ids=[made["metadata"]["name"] for _, made in REJECTED])
def test_definitions_reject(path: str, made: Object, bed: FaultBed) -> None:
    with pytest.raises(ApiError) as rejected:
        bed.api.request("POST", path, made)
    assert rejected.value.status in (400, 422)


def test_valid_gangs_are_scheduled_beside_malformed_objects(shared: FaultBed, malformed: None) -> None:
    shared.create(VALID)
    shared.wait_bound(VALID)
    # The records of the cluster are kept from cycle to cycle: a later change is read beside the same objects.
    shared.create(LATER)
    shared.wait_bound(VALID, LATER)
    # Notes are written after the binds.
    until(lambda: _pending_without_reason(shared), lambda found: not found, shared.scheduler.log)


def _pending_without_reason(bed: FaultBed) -> list[str]:
    found = []
    for stored in bed.api.items(PODS):
        conditions = {one["type"]: one for one in stored["status"].get("conditions") or ()}
        if "nodeName" not in stored["spec"] and not conditions.get("PodScheduled", {}).get("message"):
            found.append(stored["metadata"]["name"])
    return found


def test_scheduler_starts_beside_malformed_objects(bed: FaultBed, malformed: None) -> None:
    bed.create(VALID)
    bed.stop_shared()
    scheduler = bed.scheduler
    bed.wait_bound(VALID)
    check_process(scheduler)
