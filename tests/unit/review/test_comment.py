"""The comment on a pull request: its summary, its size limits, and hostile names."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.review.crafted_reviews import reviewed, row, with_fates

from apportion_review.fates.records import Fate, WorkloadFate
from apportion_review.report.comment import MARKER, comment
from apportion_review.report.redaction import redacted
from apportion_review.report.verdict import Level, verdict
from apportion_review.review import Approval, Gate, Review

CUT = {"guaranteed: {gpu: 16}": "guaranteed: {gpu: 12}"}
NAMES = st.from_regex(r"[a-z]([a-z0-9-]{0,30}[a-z0-9])?", fullmatch=True)
HOSTILE = [
    "<script>alert(1)</script>",
    "</details><h1>",
    "`code` | cell | x",
    "@acme/everyone #1 http://evil.example [a](b)",
    "```\n# heading",
    MARKER,
    "a\nb",
    "<!--",
]


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory) -> Review:
    return reviewed(tmp_path_factory.mktemp("cut"), CUT)


def first_screen(text: str) -> list[str]:
    return text.partition("<details>")[0].splitlines()


def test_marker_and_verdict_come_first(cut: Review) -> None:
    lines = comment(with_fates(cut, [row("a", Fate.EVICTED), row("b", Fate.SAFE)])).splitlines()
    assert lines[:2] == [
        MARKER,
        "### 🔴 1 running workload is evicted immediately on prod/one. Needs approval from @acme/vision-leads.",
    ]


def test_unaffected_review_is_two_lines(tmp_path: Path) -> None:
    review = reviewed(tmp_path, {"id: research,": "id: research, title: Research,"})
    lines = comment(review).splitlines()
    assert (len(lines), lines[1][:5]) == (3, "### 🟢")
    assert lines[1].endswith("no queue loses anything: queue `research` title unset → Research.")


def test_path_of_a_policy_with_errors_keeps_its_case(cut: Review) -> None:
    broken = replace(cut, broken=(("a/policy.py", "has 1 error"),))
    assert verdict(broken).headline.startswith("a/policy.py has 1 error;")


def test_verdict_counts_no_owners_if_none_must_approve(cut: Review) -> None:
    found = verdict(replace(cut, approvals=()))
    assert (
        found.headline == "What happens to work already running on prod/one is unknown; the quotas of 2 queues change."
    )


def test_incomplete_fates_are_unknown_above_the_fold(cut: Review) -> None:
    planted = with_fates(cut, [row("a", Fate.ON_DEMAND, Fate.ON_DEMAND)])
    held = planted.clusters[0]
    assert held.fates is not None
    fates = replace(held.fates, why_incomplete="the search stopped")
    found = replace(planted, clusters=(replace(held, fates=fates),))
    assert verdict(found).level is Level.UNKNOWN
    screen = first_screen(comment(found))
    assert screen[1].startswith("### 🟠 The list of evictions on prod/one is incomplete")
    assert any(
        "pending work may evict more workloads than listed, because the search stopped" in line for line in screen
    )


def test_missing_snapshot_is_unknown(cut: Review) -> None:
    text = comment(cut)
    assert verdict(cut).level is Level.UNKNOWN
    assert "What happens to work already running on prod/one is unknown" in text.splitlines()[1]
    assert "safe" not in text


@pytest.mark.parametrize("base", [Fate.SAFE, Fate.ON_DEMAND, Fate.STUCK])
def test_newly_unknown_work_is_named(base: Fate, cut: Review) -> None:
    lines = first_screen(comment(with_fates(cut, [row("train", Fate.UNKNOWN, base, rule="its queue does not exist")])))
    assert lines[1].startswith("### 🟠 What happens to 1 running workload on prod/one is unknown.")
    assert "| `train` | `vision` | 8 H100 | unknown | its queue does not exist |" in lines


def test_work_unknown_on_both_sides_is_counted(cut: Review) -> None:
    text = comment(with_fates(cut, [row("train", Fate.UNKNOWN, Fate.UNKNOWN)]))
    assert "`train`" not in text
    assert "Other running work: 1 unknown." in text


@settings(max_examples=60, deadline=None)
@given(
    names=st.lists(NAMES, unique=True, max_size=40),
    fate=st.sampled_from([Fate.EVICTED, Fate.STUCK, Fate.ON_DEMAND, Fate.UNKNOWN]),
    data=st.data(),
)
def test_every_planted_loss_is_above_the_fold(names: list[str], fate: Fate, data: st.DataObject, cut: Review) -> None:
    """Each by its name, or counted in the row of what does not fit."""
    rows = [
        row(name, fate, queue=f"q{data.draw(st.integers(0, 9))}", rule=f"rule {data.draw(st.integers(0, 2))}")
        for name in names
    ]
    screen = first_screen(comment(with_fates(cut, [*rows, row("zz-safe", Fate.SAFE)])))
    table = [line for line in screen if line.startswith("| ")][2:]
    shown = sum(_count(line) for line in table if f"**{fate.value}**" in line or f"| {fate.value} |" in line)
    assert shown == len(names)
    assert len(screen) <= 25


def _count(line: str) -> int:
    cell = line.split("|")[1]
    more = re.search(r"(\d+) more", cell)
    return len(re.findall(r"`[^`]+`", cell)) + (int(more[1]) if more else 0)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_escaped(text: str, cut: Review) -> None:
    planted = with_fates(cut, [row(text, Fate.EVICTED, queue=text, rule=text), row(text, Fate.STUCK)])
    planted = replace(planted, approvals=(Approval(text, (text,)),), gates=(Gate(text, text, text, has_failed=True),))
    made = comment(planted)
    assert made.count(MARKER) == 1
    outside = re.sub(r"`[^`\n]*`", "", re.sub(r"(?ms)^```.*?^```$", "", made))
    for part in ("<script", "<h1", "@acme/everyone", "http://", "[a]"):
        assert part not in outside
    assert made.count("<details>") == made.count("</details>")
    widths = {line.count("|") for line in made.splitlines() if line.startswith("| ") and "running" not in line}
    assert len({w for w in widths if w > 2}) <= 3


@settings(max_examples=25, deadline=None)
@given(size=st.integers(1, 2000), text=st.sampled_from(["a", "ü" * 250, "x|<&@" * 50]))
def test_comment_length_is_limited(size: int, text: str, cut: Review) -> None:
    rows = [row(f"{text}-{n}", Fate.EVICTED, queue=f"{text}-{n % 40}", rule=text * 4) for n in range(size)]
    planted = with_fates(cut, rows)
    owners = tuple(Approval(f"{text}-{n}", (text,) * 3) for n in range(min(size, 300)))
    made = comment(replace(planted, approvals=owners))
    assert len(made.encode()) < 65_536
    assert len(first_screen(made)) <= 25
    assert made.count("<details>") == made.count("</details>")
    assert made.count("```") % 2 == 0


def test_redaction_reaches_every_text(cut: Review) -> None:
    rows = [
        row("secret-model", Fate.EVICTED, rule="preempted for secret-model-7 in tenant-x"),
        row("other", Fate.SAFE, queue="tenant-x"),
    ]
    planted: Review = with_fates(cut, rows)
    planted = replace(planted, gates=(Gate("g", "1", "secret-model", has_failed=True),))
    made = comment(redacted(planted))
    assert "secret-model" not in made
    assert "workload names are redacted" in made
    shown: list[WorkloadFate] = [r for c in redacted(planted).clusters for r in (c.fates.rows if c.fates else ())]
    assert len({r.workload.name for r in shown}) == 2
