"""Rounding, overflow and refusals of other engines' divisions, beyond their own tables."""

from __future__ import annotations

import pytest

from apportion_runtime.engines.base.proportions import largest_ratio, largest_remainders
from apportion_runtime.engines.koordinator.division import Member, Quota, redistribute, runtime_quotas
from apportion_runtime.engines.kueue.quota_tree import UNLIMITED, CohortTree, Node
from apportion_runtime.engines.kueue.quota_tree import Quota as FlavorQuota

GPU = ("default", "gpu")


def test_rounding_uses_largest_remainders() -> None:
    assert largest_remainders(10, {"a": 1, "b": 1, "c": 4}) == {"a": 2, "b": 2, "c": 6}
    assert largest_remainders(11, {"a": 1, "b": 1, "c": 4}) == {"a": 2, "b": 2, "c": 7}


def test_equal_remainders_are_ordered_by_name() -> None:
    assert largest_remainders(2, {"c": 1, "b": 1, "a": 1}) == {"a": 1, "b": 1, "c": 0}


def test_no_weight_or_amount_gives_zero() -> None:
    assert largest_remainders(5, {"a": 0, "b": -1}) == {"a": 0, "b": 0}
    assert largest_remainders(-5, {"a": 1}) == {"a": 0}


def test_amounts_beyond_64_bits_are_split_exactly() -> None:
    given = largest_remainders(2**62 + 1, {"a": 2**61, "b": 2**61})
    assert given == {"a": 2**61 + 1, "b": 2**61}


def test_equal_ratios_are_ordered_by_name() -> None:
    assert largest_ratio([("gpu", 2.0), ("cpu", 2.0), ("memory", 1.0)]) == ("cpu", 2.0)
    assert largest_ratio([("gpu", 0.0)]) == ("", 0.0)


def test_guarantee_that_is_not_lent_stays_idle() -> None:
    members = [Member("idle", 30, 0, 1, lends=False), Member("busy", 10, 100, 1)]
    assert redistribute(50, members) == {"idle": 30, "busy": 20}


def test_unneeded_share_is_redistributed() -> None:
    members = [Member("small", 0, 10, 3), Member("large", 0, 100, 1), Member("weightless", 5, 100, 0)]
    assert redistribute(65, members) == {"small": 10, "large": 50, "weightless": 5}


def test_quota_with_missing_parent_is_skipped() -> None:
    assert runtime_quotas(10, [Quota("lost", parent="gone", own_request=5, weight=1)]).keys() == set()


def test_guarantees_are_scaled_down_proportionally() -> None:
    quotas = [Quota(name, min=10, max=100, weight=0, own_request=50) for name in ("a", "b", "c")]
    found = runtime_quotas(20, quotas, scale_min=True)
    assert [found[name].min for name in "abc"] == [6, 6, 6]


def test_unlimited_quota_is_bounded_by_its_cohort() -> None:
    tree = CohortTree(
        [
            Node("a", "cohort", {GPU: FlavorQuota(UNLIMITED)}, usage={GPU: 5}),
            Node("b", "cohort", {GPU: FlavorQuota(2)}),
        ]
    )
    assert tree.quota["cohort"][GPU] == UNLIMITED
    assert tree.available("b", GPU) == UNLIMITED


def test_overdraft_leaves_negative_quota() -> None:
    tree = CohortTree([Node("a", None, {GPU: FlavorQuota(2)}, usage={GPU: 5})])
    assert tree.available("a", GPU) == -3


def test_share_without_lendable_quota_is_zero() -> None:
    tree = CohortTree(
        [
            Node("a", "cohort", {GPU: FlavorQuota(0)}, usage={GPU: 5}),
            Node("b", "cohort", {GPU: FlavorQuota(9, lending_limit=0)}),
        ]
    )
    share = tree.dominant_share("a")
    assert (share.ratio, share.resource, share.borrowing) == (0.0, "", True)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([Node("a", "b", is_cohort=True), Node("b", "a", is_cohort=True)], "a is its own ancestor"),
        ([Node("a"), Node("a")], "a is listed twice"),
    ],
)
def test_invalid_tree_is_refused(nodes: list[Node], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CohortTree(nodes)
