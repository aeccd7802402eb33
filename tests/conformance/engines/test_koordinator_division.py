"""Koordinator's own test tables of runtime quotas, and the cases in which KAI's division is equal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from apportion_runtime.core.division import QueueDemand, divide
from apportion_runtime.engines.koordinator.division import Member, Quota, redistribute, runtime_quotas

_DATA = Path(__file__).parent / "koordinator"
SIBLINGS: list[dict[str, Any]] = json.loads((_DATA / "redistribution.json").read_text(encoding="utf-8"))
TREES: list[dict[str, Any]] = json.loads((_DATA / "quota-tree-runtime.json").read_text(encoding="utf-8"))
RESOURCES = ("cpu", "memory")


def _members(case: dict[str, Any]) -> list[Member]:
    return [
        Member(n["name"], n["min"], n["request"], n["sharedWeight"], n["guarantee"], n["allowLent"])
        for n in case["nodes"]
    ]


def test_number_of_cases() -> None:
    assert (len(SIBLINGS), len(TREES)) == (12, 28)


@pytest.mark.parametrize("case", SIBLINGS, ids=lambda case: case["name"])
def test_siblings(case: dict[str, Any]) -> None:
    runtime = redistribute(case["total"], _members(case))
    want = case.get("wantExactByRule", case["wantRuntime"])
    assert {name: runtime[name] for name in want} == want
    assert sum(runtime.values()) == case.get("wantSum", sum(runtime.values()))
    assert all(runtime[name] >= least for name, least in case.get("wantAtLeast", {}).items())


@pytest.mark.parametrize("case", SIBLINGS, ids=lambda case: case["name"])
def test_siblings_by_the_division_of_kai(case: dict[str, Any]) -> None:
    """If all quotas lend, the rule is KAI's: guarantees up to the request, then the surplus by weight, in whole units.

    The guarantee is the quota, and the shared weight the over-quota weight. KAI breaks ties of remainders by age,
    Koordinator by name: here the order of ages is that of the names.
    """
    members = _members(case)
    assert all(member.lends for member in members)
    demands = [
        QueueDemand(m.name, m.guaranteed, -1.0, m.weight, m.request, 100, float(age))
        for age, m in enumerate(sorted(members, key=lambda member: member.name))
    ]
    divide(case["total"], demands, k_value=1.0)
    assert {demand.name: demand.share for demand in demands} == redistribute(case["total"], members)


@pytest.mark.parametrize("resource", RESOURCES)
@pytest.mark.parametrize("case", TREES, ids=lambda case: case["name"])
def test_trees(case: dict[str, Any], resource: str) -> None:
    quotas = [
        Quota(
            name=quota["name"],
            parent=quota["parent"],
            min=quota["min"].get(resource, 0),
            max=quota["max"].get(resource),
            weight=quota["sharedWeight"].get(resource, 0),
            lends=quota["allowLentResource"],
            own_request=case["requests"].get(quota["name"], {}).get(resource, 0),
        )
        for quota in case["quotas"]
    ]
    found = runtime_quotas(case["totalResource"][resource], quotas, scale_min=case["scaleMinQuotaEnabled"])
    want = {name: amounts[resource] for name, amounts in case["wantRuntime"].items() if resource in amounts}
    assert {name: found[name].runtime for name in want} == want
    want = {name: amounts[resource] for name, amounts in case.get("wantAutoScaleMin", {}).items()}
    assert {name: found[name].min for name in want} == want
