"""Guarantees, limits and capacity of a cluster, before and after a change."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.review.crafted_reviews import reviewed, side

from apportion_policy.quantity import UNLIMITED
from apportion_review.policy_review import ReviewInputs, policy_review
from apportion_review.report.impact_rows import quota_rows
from apportion_review.shares.records import QueueAmounts, ShareChange

VISION = "{id: vision, parent: research,"


def _rows(folder: Path, edits: dict[str, str]) -> dict[tuple[str, str], ShareChange]:
    (cluster,) = reviewed(folder, edits).clusters
    return {(row.queue, row.resource): row for row in cluster.shares}


def test_amounts_of_both_sides(tmp_path: Path) -> None:
    rows = _rows(tmp_path, {"guaranteed: {gpu: 16}": "guaranteed: {gpu: 12}, limit: {gpu: unlimited}"})
    vision = rows["vision", "gpu"]
    assert (vision.base, vision.head, vision.is_touched) == (
        QueueAmounts(16_000, None, {}),
        QueueAmounts(12_000, UNLIMITED, {}),
        True,
    )
    assert rows["speech", "gpu"].base == rows["speech", "gpu"].head == QueueAmounts(8_000, None, {})
    assert next(iter(rows))[0] != "speech"


def test_parent_limit_applies_to_children(tmp_path: Path) -> None:
    rows = _rows(tmp_path, {"id: research,": "id: research, limit: {gpu: 24},"})
    assert rows["speech", "gpu"].head == QueueAmounts(8_000, 24_000, {})
    assert not rows["speech", "gpu"].is_touched


def test_renamed_queue_is_one_row(tmp_path: Path) -> None:
    rows = _rows(tmp_path, {"id: vision,": "id: images,"})
    assert [key for key in rows if key[0] in ("vision", "images")] == [("images", "gpu")]


def test_removed_queue_has_no_head(tmp_path: Path) -> None:
    text = '- {id: speech, parent: research, owner: "@acme/speech-leads", namespaces: [speech], guaranteed: {gpu: 8}}\n'
    row = _rows(tmp_path, {text: ""})["speech", "gpu"]
    assert (row.base, row.head, row.owner) == (QueueAmounts(8_000, None, {}), None, "@acme/speech-leads")


@pytest.mark.parametrize(
    ("edits", "cells"),
    [
        ({"guaranteed: {gpu: 16}": "guaranteed: {gpu: 12}"}, ("16 → **12** (−4)", "-", "loses")),
        ({"guaranteed: {gpu: 16}": "guaranteed: {gpu: 16}, limit: {gpu: 20}"}, ("16", "unset → **20**", "loses")),
        ({f"{VISION} owner": f"{VISION} limit: {{gpu: 20}}, owner"}, ("16", "unset → **20**", "loses")),
    ],
)
def test_cells_of_the_table(edits: dict[str, str], cells: tuple[str, str, str], tmp_path: Path) -> None:
    row = next(row for row in quota_rows(reviewed(tmp_path, edits).clusters) if row.queue == "vision")
    assert (row.guaranteed, row.limit, row.effect) == cells


def test_new_queue_has_no_former_amounts_and_no_total_beside_its_model(tmp_path: Path) -> None:
    base = (Path(__file__).parent / "policy.yaml").read_text()
    head = base.replace(
        "- id: product\n",
        "- {id: images, parent: research, namespaces: [images], guaranteed: {gpu: {h100: 4}}}\n- id: product\n",
    )
    review = policy_review(side(tmp_path, base, "base"), side(tmp_path, head, "head"), ReviewInputs())
    rows = [row for row in quota_rows(review.clusters) if row.queue == "images"]
    assert {(row.resource, row.guaranteed.partition(" →")[0]) for row in rows} == {("gpu/h100", "—")}


def test_limit_of_zero_is_shown_if_there_was_none(tmp_path: Path) -> None:
    base = (Path(__file__).parent / "policy.yaml").read_text()
    head = base.replace("- id: product\n", "- id: product\n  limit: {gpu: 0}\n")
    review = policy_review(side(tmp_path, base, "base"), side(tmp_path, head, "head"), ReviewInputs())
    rows = [row for row in quota_rows(review.clusters) if row.queue == "search"]
    assert {(row.resource, row.limit) for row in rows} == {("gpu", "unset → **0**")}


def test_headroom_counts_the_guarantees_of_the_top_queues(tmp_path: Path) -> None:
    (cluster,) = reviewed(tmp_path, {"guaranteed: {gpu: 16}": "guaranteed: {gpu: 12}"}).clusters
    (row,) = cluster.headroom
    assert (row.resource, row.capacity_after, row.guaranteed_before, row.guaranteed_after) == (
        "gpu",
        None,
        24_000,
        20_000,
    )
