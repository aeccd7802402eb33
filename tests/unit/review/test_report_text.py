"""The wording of a review as text: its verdict, rollout, gates and amounts."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.review.crafted_reviews import POLICY, fates, reviewed, row, side, with_fates

from apportion_review.drains import drains
from apportion_review.fates.records import Fate
from apportion_review.fates.unmanaged import Unmanaged
from apportion_review.report.comment import comment
from apportion_review.report.document import review_json
from apportion_review.report.impact_rows import gpus_text
from apportion_review.report.page import review_page
from apportion_review.report.redaction import redacted
from apportion_review.report.text import review_text
from apportion_review.report.verdict import verdict
from apportion_review.review import Review, Rollout, RolloutStep

OWNER = {'owner: "@acme/platform"': 'owner: "@acme/fleet"'}
CUT = {"guaranteed: {gpu: 16}": "guaranteed: {gpu: 12}"}


def text_of(review: Review) -> str:
    return review_text(review, lambda _, text: text, 100)


def test_verdict_lists_approvals(tmp_path: Path) -> None:
    review = with_fates(reviewed(tmp_path, OWNER), [row("train", Fate.SAFE)])
    assert verdict(review).headline == "Approval needed from 1 owner for changes to the organisation."


@pytest.mark.parametrize(
    ("edits", "given", "headline"),
    [
        (CUT, (), "The quotas of 2 queues change, and 1 owner must approve."),
        (CUT, ("@acme/vision-leads",), "The quotas of 2 queues change; approved by @acme/vision-leads."),
        (OWNER, ("@acme/platform",), "Changes to the organisation; approved by @acme/platform."),
        (
            {**CUT, "guaranteed: {gpu: 8}": "guaranteed: {gpu: 4}"},
            ("@acme/vision-leads",),
            "The quotas of 3 queues change, and 1 of 2 owners has not approved.",
        ),
        (
            {**CUT, "guaranteed: {gpu: 8}": "guaranteed: {gpu: 4}"},
            ("@acme/vision-leads", "@acme/speech-leads"),
            "The quotas of 3 queues change; approved by @acme/speech-leads, @acme/vision-leads.",
        ),
    ],
)
def test_verdict_says_who_has_approved(
    edits: dict[str, str], given: tuple[str, ...], headline: str, tmp_path: Path
) -> None:
    review = with_fates(reviewed(tmp_path, edits, given_approvals=given), [row("train", Fate.SAFE)])
    assert verdict(review).headline == headline


def test_verdict_on_destroyed_work_says_who_has_approved(tmp_path: Path) -> None:
    review = with_fates(reviewed(tmp_path, CUT, given_approvals=("@acme/vision-leads",)), [row("a", Fate.EVICTED)])
    assert (
        verdict(review).headline
        == "1 running workload is evicted immediately on prod/one; approved by @acme/vision-leads."
    )


def test_rollout_step_lists_drains_before_actions(tmp_path: Path) -> None:
    review = reviewed(tmp_path, CUT)
    rollout = Rollout((RolloutStep(("change Queue `vision`",), ("`vision`: wait until 1 workload finishes",)),), (), ())
    review = replace(review, clusters=(replace(review.clusters[0], rollout=rollout),))
    assert "    1. drain `vision`: wait until 1 workload finishes; then change Queue `vision`\n" in text_of(review)


def test_deleted_queue_is_drained_before_the_update_that_deletes_it(tmp_path: Path) -> None:
    """A queue that gets another name is one that is deleted: its work does not move."""
    shown = " ".join(text_of(reviewed(tmp_path, {"id: vision,": "id: sight,"})).split())
    assert (
        "1. drain `vision`, which is deleted: wait until its workloads finish, or first add `sight` in a separate change, so "
        "that work can be submitted to it before this change is applied; then create ClusterQueue `sight`, "
    ) in shown


def test_drain_counts_the_running_work_of_a_deleted_queue(tmp_path: Path) -> None:
    base, head = (side(tmp_path, POLICY.replace("id: vision,", f"id: {name},"), name) for name in ("vision", "sight"))
    running = [row("a", Fate.STUCK), row("b", Fate.ON_DEMAND), row("c", Fate.SAFE, queue="speech")]
    texts = [each.text for each in drains("prod/one", base, head, fates(running), {"vision": "sight"})]
    assert len(texts) == 1
    assert texts[0].startswith(
        "`vision`, which is deleted: wait until its 2 running workloads finish, or first add `sight`"
    )
    assert drains("prod/one", base, head, fates(running[2:]), {"vision": "sight"}) == ()


@pytest.mark.parametrize(
    ("gpus", "text"),
    [({"gpu": 1000}, "1 GPU"), ({"gpu": 16000}, "16 GPUs"), ({"gpu": 500}, "0.5 GPUs"), ({"h100": 16000}, "16 H100")],
)
def test_gpu_counts_are_pluralised(gpus: dict[str, int], text: str) -> None:
    assert gpus_text(gpus) == text


OTHERS = (
    Unmanaged("Deployment", "web", "embedder", ("default-scheduler",), {"h100": 2000}, 2),
    Unmanaged("Job", "lab", "sweep", ("slurm-bridge",), {"h100": 6000}, 6),
)
COUNTED = "2 running workloads with 8 H100 are not managed by Kueue v0.18.3 (schedulers default-scheduler,"


@pytest.fixture
def with_others(tmp_path: Path) -> Review:
    """A review of a cluster on which work runs that is not the engine's."""
    review = with_fates(reviewed(tmp_path, CUT), [row("train", Fate.SAFE)])
    cluster = review.clusters[0]
    assert cluster.fates is not None
    return replace(review, clusters=(replace(cluster, fates=replace(cluster.fates, unmanaged=OTHERS)),))


def test_work_that_is_not_the_engines_is_counted_in_every_report_and_named_in_the_text(with_others: Review) -> None:
    shown = " ".join(text_of(with_others).split())
    assert f"{COUNTED} slurm-bridge): they use capacity on their nodes" in shown
    assert "no quota in the policy causes them to be evicted. embedder, sweep" in shown
    for report in (comment(with_others), review_page(with_others)):
        assert "2 running workloads with 8 H100 are not managed by" in report
        assert "embedder" not in report
    listed = json.loads(review_json(with_others))["clusters"][0]["fates"]["unmanaged"]
    assert [(each["name"], each["schedulers"], each["gpus"]) for each in listed] == [
        ("embedder", ["default-scheduler"], {"h100": 2000}),
        ("sweep", ["slurm-bridge"], {"h100": 6000}),
    ]


def test_redaction_reaches_work_that_is_not_the_engines(with_others: Review) -> None:
    report = text_of(redacted(with_others)) + review_json(redacted(with_others))
    assert not {"embedder", "sweep"} & set(re.findall(r"\w+", report))


def test_unknown_fates_are_counted_also_where_the_base_has_them(tmp_path: Path) -> None:
    rows = [row("a", Fate.UNKNOWN, Fate.UNKNOWN), row("b", Fate.SAFE)]
    assert "  outcomes of 2 running workloads, 1 unknown: Kueue v0.18.3; " in text_of(
        with_fates(reviewed(tmp_path, CUT), rows)
    )
