"""Required approvals of a change, and its gates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.review.crafted_reviews import POLICY, reviewed, row, side, with_fates

from apportion_review.approvals import approvals
from apportion_review.fates.records import Fate
from apportion_review.gates import FailOn, Thresholds, gates, lost_gpu_s
from apportion_review.policy_review import ReviewInputs, policy_review
from apportion_review.review import Review

CUT = {"guaranteed: {gpu: 16}": "guaranteed: {gpu: 12}"}
MOVE = {**CUT, "guaranteed: {gpu: 8}": "guaranteed: {gpu: 12}"}
SPEECH = POLICY.splitlines()[6]


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        pytest.param({}, {}, id="nothing changes"),
        pytest.param({"guaranteed: {gpu: 8}": "guaranteed: {gpu: 12}"}, {}, id="a queue that gains agrees"),
        pytest.param(
            MOVE, {"@acme/vision-leads": "`vision` guaranteed −4 GPUs (16 → 12)"}, id="the loser of a move is asked"
        ),
        pytest.param(
            {**CUT, "@acme/vision-leads": "@mallory"},
            {
                "@acme/vision-leads": "`vision` guaranteed −4 GPUs (16 → 12); the owner of `vision` changes",
                "@mallory": "the owner of `vision` changes",
            },
            id="the former owner is asked",
        ),
        pytest.param(
            {f"{SPEECH}\n": ""},
            {"@acme/speech-leads": "`speech` is removed: 8 GPUs guaranteed, parent research, owner @acme/speech-leads"},
            id="a queue is removed",
        ),
        pytest.param(
            {"guaranteed: {gpu: 16}": "guaranteed: {gpu: 16}, limit: {gpu: 32}"},
            {"@acme/vision-leads": "`vision` limit unset → 32 GPUs"},
            id="a limit appears",
        ),
        pytest.param(
            {
                "guaranteed: {gpu: 16}": "guaranteed: {gpu: 16}, overrides: [{begin: 2999-01-01, end: 2999-01-02, reason: a, "
                "owner: '@mallory', limit: {gpu: 0}}]"
            },
            {
                "@acme/vision-leads": "override `vision from 2999-01-01 to 2999-01-02` is not in effect yet and is not evaluated"
            },
            id="an override begins later",
        ),
        pytest.param(
            {"environments:": "rules: {overcommit: 1.5}\nenvironments:"},
            {"@acme/platform": "rules: overcommit 1 → 1.5"},
            id="rules belong to the organisation",
        ),
    ],
)
def test_required_approvals(edits: dict[str, str], expected: dict[str, str], tmp_path: Path) -> None:
    found = reviewed(tmp_path, edits).approvals
    assert {each.owner: "; ".join(each.reasons) for each in found} == expected


PRODUCT = """\
- {id: product, owner: "@acme/product-leads"}
- {id: search, parent: product, owner: "@acme/search", namespaces: [search], guaranteed: {gpu: 8}}
"""
KAI = {
    'engine: kueue, engine_version: "0.18.3"': 'engine: kai, engine_version: "0.17.0", pools: [h100]',
    "environments:": (
        "node_pools:\n- {id: h100, provider: {kind: fixed}, min_nodes: 8, max_nodes: 8, cpu: 96, memory: 1Ti, "
        "accelerator: {model: h100, count: 8}}\nenvironments:"
    ),
}
LIMITED = {"namespaces: [search], guaranteed: {gpu: 8}": "namespaces: [search], guaranteed: {gpu: 8}, limit: {gpu: 8}"}
LEAVES = "`vision` leaves `research`"
LEAVES_WITH_SHARE = f"`research` loses 10% or more of its fair share on prod/one; {LEAVES}"


@pytest.mark.parametrize(
    ("both", "parent", "expected"),
    [
        pytest.param(
            {},
            "parent: product, ",
            {
                "@acme/research-leads": LEAVES,
                "@acme/product-leads": "`vision` moves to `product` and competes with `search`",
            },
            id="without shares, the new parent's queues compete with it",
        ),
        pytest.param(
            KAI,
            "parent: product, ",
            {
                "@acme/research-leads": LEAVES_WITH_SHARE,
                "@acme/product-leads": "`vision` moves to `product`, and the share of `search` shrinks",
                "@acme/search": "`search` loses 10% or more of its fair share on prod/one",
            },
            id="with shares, those of the new parent's queues shrink",
        ),
        pytest.param(
            {**KAI, **LIMITED},
            "parent: product, ",
            {"@acme/research-leads": LEAVES_WITH_SHARE},
            id="where no share shrinks, the new parent loses nothing",
        ),
        pytest.param(
            {},
            "",
            {
                "@acme/research-leads": LEAVES,
                "@acme/platform": "`vision` moves to the top level and competes with `product` and `research`",
            },
            id="the top level is the organisation's",
        ),
    ],
)
def test_owners_of_both_parents_of_a_move(
    both: dict[str, str], parent: str, expected: dict[str, str], tmp_path: Path
) -> None:
    text = POLICY.replace("- {id: research,", f"{PRODUCT}- {{id: research,")
    for before, after in both.items():
        assert before in text
        text = text.replace(before, after)
    head = text.replace("id: vision, parent: research, ", f"id: vision, {parent}")
    review = policy_review(side(tmp_path, text, "base"), side(tmp_path, head, "head"), ReviewInputs())
    assert {each.owner: "; ".join(each.reasons) for each in review.approvals} == expected


def test_owner_of_evictable_work_must_approve(tmp_path: Path) -> None:
    review = with_fates(reviewed(tmp_path, {}), [row("a", Fate.EVICTED), row("b", Fate.EVICTED), row("c", Fate.SAFE)])
    (found,) = approvals(review.diff.found, review.diff.statements, review.clusters, given=("@ACME/Vision-Leads",))
    assert (found.owner, found.reasons, found.is_given) == (
        "@acme/vision-leads",
        ("2 running workloads of `vision` evicted on prod/one",),
        True,
    )


def _gate(review: Review, thresholds: Thresholds) -> tuple[str, bool]:
    (gate,) = gates(thresholds, review.diff, review.clusters, review.approvals)
    return gate.found, gate.has_failed


ROWS = [row("a", Fate.EVICTED), row("b", Fate.ON_DEMAND), row("c", Fate.STUCK), row("d", Fate.EVICTED, Fate.EVICTED)]


@pytest.mark.parametrize(
    ("thresholds", "found", "has_failed"),
    [
        (Thresholds(max_evictions=1), "2 (1 evicted now, 1 reclaimable on demand)", True),
        (Thresholds(max_evictions=2), "2 (1 evicted now, 1 reclaimable on demand)", False),
        (Thresholds(max_lost_gpu_s=16 * 1_000 * 4_440), "19.8 GPU-hours", False),
        (Thresholds(max_lost_gpu_s=16 * 1_000 * 4_440 - 1), "19.8 GPU-hours", True),
        (Thresholds(fail_on=FailOn.DESTRUCTIVE), "3 running workloads", True),
        (Thresholds(requires_approvals=True), "no approval from @acme/vision-leads", True),
    ],
)
def test_gates_on_running_work(thresholds: Thresholds, found: str, *, has_failed: bool, tmp_path: Path) -> None:
    review = with_fates(reviewed(tmp_path, CUT), ROWS)
    assert _gate(review, thresholds) == (found, has_failed)


def test_unknown_fates_fail_gates(tmp_path: Path) -> None:
    review = reviewed(tmp_path, CUT)
    assert _gate(review, Thresholds(max_evictions=5)) == ("0; unknown on prod/one", True)
    assert _gate(review, Thresholds(max_lost_gpu_s=5)) == ("0.0 GPU-hours; unknown on prod/one", True)
    assert _gate(review, Thresholds(fail_on=FailOn.UNKNOWN))[1]
    assert not _gate(review, Thresholds(fail_on=FailOn.DESTRUCTIVE))[1]


def test_unchanged_cluster_passes_without_a_snapshot(tmp_path: Path) -> None:
    assert _gate(reviewed(tmp_path, {}), Thresholds(max_evictions=0)) == ("0", False)


def test_work_without_start_time_has_unknown_cost(tmp_path: Path) -> None:
    review = with_fates(reviewed(tmp_path, CUT), [row("a", Fate.EVICTED, started=None)])
    assert lost_gpu_s(review.clusters[0]) is None
    assert _gate(review, Thresholds(max_lost_gpu_s=10**12))[1]


def test_share_loss_requires_approval_above_the_threshold(tmp_path: Path) -> None:
    from apportion_review.shares.records import Demand, QueueAmounts, ShareChange

    review = reviewed(tmp_path, {})
    ends = [QueueAmounts(0, None, {Demand.EVERYONE: share}) for share in (10_000, 9_000)]
    clusters = (replace(review.clusters[0], shares=(ShareChange("speech", "gpu/h100", "", *ends),)),)
    owners = {
        percent: [a.owner for a in approvals(review.diff.found, (), clusters, share_loss=percent)]
        for percent in (10, 11)
    }
    assert owners == {10: ["@acme/speech-leads"], 11: []}
