"""The wording of a review as text: its verdict, rollout, gates and amounts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.review.crafted_reviews import reviewed, row, with_fates

from apportion_review.fates.records import Fate
from apportion_review.report.impact_rows import gpus_text
from apportion_review.report.text import review_text
from apportion_review.report.verdict import verdict
from apportion_review.review import Review, Rollout, RolloutStep

OWNER = {'owner: "@acme/platform"': 'owner: "@acme/fleet"'}
CUT = {"guaranteed: {gpu: 16}": "guaranteed: {gpu: 12}"}


def text_of(review: Review) -> str:
    return review_text(review, lambda _, text: text, 100)


def test_verdict_names_what_the_owners_approve(tmp_path: Path) -> None:
    review = with_fates(reviewed(tmp_path, OWNER), [row("train", Fate.SAFE)])
    assert verdict(review).headline == "Approval needed from 1 owner for changes to the organisation."


def test_a_step_names_its_drains_and_then_its_actions_under_one_number(tmp_path: Path) -> None:
    review = reviewed(tmp_path, CUT)
    rollout = Rollout((RolloutStep(("change Queue `vision`",), ("`vision`: wait until 1 workload finishes",)),), (), ())
    review = replace(review, clusters=(replace(review.clusters[0], rollout=rollout),))
    assert "    1. drain `vision`: wait until 1 workload finishes; then change Queue `vision`\n" in text_of(review)


@pytest.mark.parametrize(
    ("gpus", "text"),
    [({"gpu": 1000}, "1 GPU"), ({"gpu": 16000}, "16 GPUs"), ({"gpu": 500}, "0.5 GPUs"), ({"h100": 16000}, "16 H100")],
)
def test_gpus_of_an_unknown_model_have_a_plural(gpus: dict[str, int], text: str) -> None:
    assert gpus_text(gpus) == text
