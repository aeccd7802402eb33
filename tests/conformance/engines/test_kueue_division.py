"""Kueue's own tables of available quota, and of dominant shares."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from apportion_runtime.engines.kueue.quota_tree import UNLIMITED, CohortTree, FlavorResource, Node, Quota

_DATA = Path(__file__).parent / "kueue"
AVAILABLE: list[dict[str, Any]] = json.loads((_DATA / "available-quota.json").read_text(encoding="utf-8"))
SHARES: list[dict[str, Any]] = json.loads((_DATA / "dominant-resource-share.json").read_text(encoding="utf-8"))


def _flavor_resource(text: str) -> FlavorResource:
    flavor, _, resource = text.partition("/")
    return flavor, resource


def _amounts(amounts: Mapping[str, int]) -> dict[FlavorResource, int]:
    return {_flavor_resource(text): amount for text, amount in amounts.items()}


def _quota(quota: Mapping[str, int]) -> Quota:
    borrowing, lending = quota.get("borrowingLimit"), quota.get("lendingLimit")
    # The engine treats a quantity beyond its integers as unlimited.
    return Quota(
        min(quota["nominal"], UNLIMITED),
        None if borrowing is None else min(borrowing, UNLIMITED),
        None if lending is None else min(lending, UNLIMITED),
    )


def _tree(case: dict[str, Any], *, in_use: bool = True) -> CohortTree:
    def quotas(node: dict[str, Any]) -> dict[FlavorResource, Quota]:
        return {_flavor_resource(text): _quota(quota) for text, quota in node["quotas"].items()}

    usage = case["usage"] if in_use else {}
    cohorts = [
        Node(c["name"], c.get("parent"), quotas(c), c["fairWeight"], is_cohort=True)
        for c in case["snapshot"]["cohorts"]
    ]
    queues = [
        Node(q["name"], q.get("cohort"), quotas(q), q["fairWeight"], _amounts(usage.get(q["name"], {})))
        for q in case["snapshot"]["clusterQueues"]
    ]
    return CohortTree([*cohorts, *queues])


def test_number_of_cases() -> None:
    assert (len(AVAILABLE), len(SHARES)) == (8, 16)


@pytest.mark.parametrize("case", AVAILABLE, ids=lambda case: case["name"])
def test_available(case: dict[str, Any]) -> None:
    """The engine does not report negative amounts, although it calculates with them."""
    tree, empty = _tree(case), _tree(case, in_use=False)
    for name, want in case["wantAvailable"].items():
        assert {text: max(0, tree.available(name, _flavor_resource(text))) for text in want} == want
    for name, want in case["wantPotentialAvailable"].items():
        assert {text: tree.potential(name, _flavor_resource(text)) for text in want} == want
        assert {text: empty.available(name, _flavor_resource(text)) for text in want} == want


@pytest.mark.parametrize("case", SHARES, ids=lambda case: case["name"])
def test_dominant_share(case: dict[str, Any]) -> None:
    """The additional request is in the ClusterQueue `cq`, as in the engine's own test."""
    tree = _tree(case)
    for want in case["want"]:
        share = tree.dominant_share(want["name"], _amounts(case["extraRequest"]) if want["name"] == "cq" else None)
        assert (share.rounded, share.resource, share.borrowing) == (
            want["roundedWeightedShare"],
            want["dominantResource"],
            want["borrowing"],
        ), want["name"]
    assert {want["name"] for want in case["want"]} == set(tree.names())
