"""Kueue's own tables of preemption targets: flat and nested cohorts, with and without fair sharing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from apportion_api.kueue.objects import Preemption
from apportion_runtime.engines.kueue.fair_preemption import fair_targets
from apportion_runtime.engines.kueue.preemption import PreemptionRequest, PreemptionSnapshot, classical_targets
from apportion_runtime.engines.kueue.quota_tree import FlavorResource, Node, Quota
from apportion_runtime.engines.kueue.records import STRATEGIES, Holder, Queue
from apportion_runtime.engines.kueue.usage_tree import UsageTree, cohort_name

_DATA = Path(__file__).parent / "kueue"
_FILES = ("preemption-classical", "preemption-hierarchical", "preemption-fair-sharing")
CASES: list[dict[str, Any]] = [
    case for name in _FILES for case in json.loads((_DATA / f"{name}.json").read_text(encoding="utf-8"))
]


def _flavor_resource(text: str) -> FlavorResource:
    flavor, _, resource = text.partition("/")
    return flavor, resource


def _amounts(amounts: Mapping[str, int]) -> dict[FlavorResource, int]:
    return {_flavor_resource(text): amount for text, amount in amounts.items()}


def _quotas(node: Mapping[str, Any]) -> dict[FlavorResource, Quota]:
    return {
        _flavor_resource(text): Quota(quota["nominal"], quota.get("borrowingLimit"), quota.get("lendingLimit"))
        for text, quota in node["quotas"].items()
    }


def _queue(said: Mapping[str, Any]) -> Queue:
    preemption = said["preemption"]
    borrowing = preemption.get("borrowWithinCohort") or {}
    return Queue(
        name=said["name"],
        cohort=said.get("cohort"),
        quotas=_quotas(said),
        weight=said["fairWeight"],
        preemption=Preemption(
            preemption["withinClusterQueue"],
            preemption["reclaimWithinCohort"],
            borrowing.get("policy", "Never"),
            borrowing.get("maxPriorityThreshold"),
        ),
    )


def _time(said: float | None) -> float:
    return float("-inf") if said is None else said


def _situation(case: Mapping[str, Any]) -> PreemptionSnapshot:
    snapshot = case["snapshot"]
    queues = {said["name"]: _queue(said) for said in snapshot["clusterQueues"]}
    cohorts = [
        Node(
            cohort_name(said["name"]),
            cohort_name(said["parent"]) if said.get("parent") else None,
            _quotas(said),
            said["fairWeight"],
            is_cohort=True,
        )
        for said in snapshot["cohorts"]
    ]
    holders: dict[str, list[Holder]] = {}
    for said in case["admitted"]:
        holders.setdefault(said["clusterQueue"], []).append(
            Holder(
                key=said["name"],
                queue=said["clusterQueue"],
                usage=_amounts(said["usage"]),
                uid=said["uid"] or said["name"],
                priority=said["effectivePriority"],
                ordered_at=_time(said["queueOrderTime"]),
                reserved_at=_time(said["quotaReservedTime"]),
                evicted=said["evicted"],
            )
        )
    ledger = UsageTree(queues.values(), cohorts, [holder for of in holders.values() for holder in of])
    return PreemptionSnapshot(queues, ledger, holders)


def _in_use(ledger: UsageTree) -> dict[tuple[str, FlavorResource], int]:
    return {(name, fr): used for name, usage in ledger.usage.items() for fr, used in usage.items() if used}


def test_number_of_cases() -> None:
    assert len(CASES) == 34 + 14 + 35


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_preemption_targets(case: dict[str, Any]) -> None:
    situation, incoming = _situation(case), case["incoming"]
    before = _in_use(situation.ledger)
    asking = PreemptionRequest(
        situation.queues[incoming["clusterQueue"]],
        _amounts(incoming["requests"]),
        frozenset(_flavor_resource(text) for text in incoming["flavorResourcesNeedingPreemption"]),
        incoming["effectivePriority"],
        _time(incoming["queueOrderTime"]),
    )
    if case["fairSharing"]:
        targets = fair_targets(situation, asking, case["preemptionStrategies"] or STRATEGIES)
    else:
        targets = classical_targets(situation, asking)
    wanted = {(want["name"], want["reason"]) for want in case["wantTargets"]}
    assert {(target.holder.key, target.reason) for target in targets} == wanted
    assert _in_use(situation.ledger) == before, "nothing is left of what was tried"
