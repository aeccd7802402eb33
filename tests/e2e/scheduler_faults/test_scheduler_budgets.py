"""The live scheduler when disruption budgets forbid the evictions by which a queue would get its guarantee."""

from __future__ import annotations

import pytest

from .api_client import ApiClient
from .cluster_state import NAMESPACE, PODS
from .fault_bed import FaultBed
from .gangs import Gang

pytestmark = pytest.mark.e2e

RECLAIMING = Gang("reclaiming", 4, 4, "tight")
BUDGETS = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets"
_LASTS_S = 4.0


def _filling(name: str) -> tuple[Gang, ...]:
    """All 160 GPUs, of which 100 are guaranteed to their queue; a gang that is protected stays so by its name."""
    return (Gang(f"{name}-0", 8, 8), Gang(f"{name}-1", 8, 8), Gang(f"{name}-2", 4, 8))


def _protect(api: ApiClient, *gangs: Gang) -> None:
    """Create budgets that allow no disruption; their controller does not run here, and pods must be ready."""
    for pod in api.items(PODS):
        conditions = [{"type": "Ready", "status": "True"}]
        path = f"{PODS}/{pod['metadata']['name']}/status"
        api.request("PATCH", path, {"status": {"phase": "Running", "conditions": conditions}})
    for gang in gangs:
        spec = {"minAvailable": gang.size, "selector": {"matchLabels": {"gang": gang.name}}}
        api.request("POST", BUDGETS, {"metadata": {"name": gang.name}, "spec": spec})
        counts = {"currentHealthy": gang.size, "desiredHealthy": gang.size, "expectedPods": gang.size}
        status = {"observedGeneration": 1, "disruptionsAllowed": 0, **counts}
        api.request("PATCH", f"{BUDGETS}/{gang.name}/status", {"status": status})


def test_budgets_that_forbid_every_eviction(shared: FaultBed) -> None:
    filling = _filling("protected")
    shared.create(*filling)
    before = shared.wait_bound(*filling)
    _protect(shared.api, *filling)
    try:
        shared.create(RECLAIMING)
        shared.check_for(_LASTS_S)
        assert "disruption budget" in shared.scheduler.said()
        state = shared.wait_bound(*filling)
        assert {pod.name for pod in before.pods} <= {pod.name for pod in state.pods}
        assert not any(pod.node for pod in state.pods_of(RECLAIMING.name))
    finally:
        shared.api.delete(BUDGETS)
    shared.wait_bound(RECLAIMING)


@pytest.mark.parametrize("number", [0, 2])
def test_only_gang_without_a_budget_is_evicted(number: int, shared: FaultBed) -> None:
    filling = _filling(f"all-but-{number}")
    protected = tuple(gang for gang in filling if gang is not filling[number])
    shared.create(*filling)
    shared.wait_bound(*filling)
    _protect(shared.api, *protected)
    try:
        shared.create(RECLAIMING)
        state = shared.wait_bound(*protected, RECLAIMING)
        assert not any(pod.node for pod in state.pods_of(filling[number].name))
    finally:
        shared.api.delete(BUDGETS)
