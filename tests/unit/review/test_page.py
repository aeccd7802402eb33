"""The HTML page of a review: its parts, and names that contain markup."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.review.crafted_reviews import reviewed, row, with_fates

from apportion_review.fates.records import Fate
from apportion_review.report.page import review_page
from apportion_review.review import Approval, Gate, LoadComparison, QueueLoad, Review, Wait

CUT = {"guaranteed: {gpu: 16}": "guaranteed: {gpu: 12}"}


@pytest.fixture
def cut(tmp_path: Path) -> Review:
    return with_fates(reviewed(tmp_path, CUT), [row("detector", Fate.EVICTED), row("asr", Fate.SAFE)])


def test_parts(cut: Review) -> None:
    load = LoadComparison(
        "load.yaml",
        "sha256:0",
        "Nodes stay.",
        (QueueLoad("vision", (Wait(0), Wait(60)), (Wait(60), Wait(25_200, True)), (0, 2), (0, 1), (0, 0)),),
        2,
    )
    page = review_page(replace(cut, clusters=(replace(cut.clusters[0], load=load),)))
    for part in (
        "<h1>1 running workload is evicted immediately on prod/one.</h1>",
        '<th scope="row">detector</th>',
        "<td>16 → 12 (−4)</td>",
        "<td>1m → ≥ 7h</td>",
        "<td>0 → 2</td>",
        "<strong>@acme/vision-leads</strong>",
        "Kueue v0.18.3, verified against recorded runs; snapshot 14 min old.",
    ):
        assert part in page
    assert "asr" not in page


def test_page_without_changes(tmp_path: Path) -> None:
    page = review_page(reviewed(tmp_path, {}))
    assert "<h1>The policy does not change.</h1>" in page
    assert "<table" not in page


def test_hostile_names_are_escaped(cut: Review) -> None:
    hostile = '</td><script src="//x"></script>'
    planted = with_fates(cut, [row(hostile, Fate.EVICTED, queue=hostile, rule=hostile)])
    planted = replace(
        planted, approvals=(Approval(hostile, (hostile,)),), gates=(Gate(hostile, "", hostile, has_failed=True),)
    )
    page = review_page(planted)
    assert "<script" not in page
    assert "&lt;/td&gt;&lt;script" in page
