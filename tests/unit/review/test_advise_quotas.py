"""The edits of a policy that follow from searched GPUs: shares of a cluster, and guarantees of parents."""

from __future__ import annotations

from fractions import Fraction

import pytest

from apportion_review.advise.problem import Problem, Variable
from apportion_review.advise.quotas import GUARANTEED, LIMIT, ParentGuarantee, SearchedQuota, SearchedQuotas


def _quota(queue: str, present: int, *, field: str = GUARANTEED, share: str = "1") -> SearchedQuota:
    return SearchedQuota(queue, field, "gpu", present, Fraction(share))


@pytest.mark.parametrize(
    ("field", "share", "wanted", "declared"),
    [
        (GUARANTEED, "1", 5, 5),
        (GUARANTEED, "1/100", 43, 4300),
        (GUARANTEED, "2/3", 5, 8),
        (LIMIT, "2/3", 5, 7),
        (LIMIT, "1/2", 3, 6),
    ],
)
def test_edit_results_in_the_gpus_on_the_cluster(field: str, share: str, wanted: int, declared: int) -> None:
    edit = _quota("a", 1, field=field, share=share).edit(wanted)
    assert edit.amount == declared * 1000
    here = declared * Fraction(share)
    assert wanted == (-(-here.numerator // here.denominator) if field == LIMIT else int(here))


def _searched(parent_guarantee: int | None, slack: int) -> SearchedQuotas:
    """Two leaves with four GPUs each, below a parent."""
    leaves = (_quota("a", 4), _quota("b", 4))
    quota = None if parent_guarantee is None else _quota("top", parent_guarantee)
    variables = (Variable(4, 1, 16, (1,)), Variable(4, 1, 16, (0,)))
    problem = Problem(variables, ((0,),), (True,))
    return SearchedQuotas(leaves, problem, (ParentGuarantee("top", ("a", "b"), quota, slack),), ())


@pytest.mark.parametrize(
    ("guarantee", "slack", "vector", "edited"),
    [
        (8, 0, (4, 4), {}),
        (8, 0, (6, 2), {"a": 6, "b": 2}),
        (8, 0, (6, 4), {"a": 6, "top": 10}),
        (8, 0, (4, 1), {"b": 1, "top": 5}),
        (10, 2, (6, 4), {"a": 6}),
        (10, 2, (7, 4), {"a": 7, "top": 11}),
        (10, 2, (4, 1), {"b": 1}),
        (None, 0, (6, 4), {"a": 6}),
    ],
    ids=["none", "moved", "raised", "lowered", "within slack", "beyond slack", "lowered below slack", "undeclared"],
)
def test_parent_changes_only_as_its_children_require(
    guarantee: int | None, slack: int, vector: tuple[int, int], edited: dict[str, int]
) -> None:
    edits = _searched(guarantee, slack).edits(vector)
    assert {edit.queue: edit.amount // 1000 for edit in edits} == edited
