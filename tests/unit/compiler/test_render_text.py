"""Findings as text."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from unicodedata import east_asian_width

import pytest

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Rule, Severity
from apportion_compiler.diagnostics.report import Finding, Report
from apportion_compiler.diagnostics.text import render_text, summary
from apportion_compiler.diagnostics.text_excerpt import excerpt
from apportion_compiler.spans import Span
from apportion_policy.source import SourceLocation

RULE = Rule("AP201", "quota-oversubscribed", Severity.ERROR, "too much")
SOURCE = {"policy.py": 'Queue(id="a")\n'}


def _text(report: Report, read: object, **options: object) -> str:
    return render_text(report, shown=lambda file: file, read=read, **options)


def _one(diagnostic: Diagnostic) -> Report:
    return Report((Finding(diagnostic),), "policy.py", date(2026, 11, 21), "1.2.3")


def _plain(role: str, text: str) -> str:
    return text


def test_each_severity_is_rendered_with_excerpts(report: Report, read: object) -> None:
    assert _text(report, read) == (
        """\
acme/policy.py:3: error[AP201] children are guaranteed 80 H100, but `research` has 64
    3 | research = Queue(id='research', title='Fórschung 研究', guaranteed=Resources(gpu={'h100': 64}))
      |                                                                                           ^^
  in queue research
  acme/policy.py:4: `llm` takes 48
  acme/vision.yaml:3: `vision` takes 32
  hint: raise the guarantee of `research` to 80 H100, or lower the guarantee of `llm` by 16 H100
  fix: acme/policy.py:3: replace `64` with `80` (validate --unsafe-fixes)
  docs: apportion explain AP201

acme/policy.py:4: warning[AP207] the weight 2 of `llm` has no effect
    4 | llm = Queue(
      |       ^^^^^^
  in queue llm on prod/gpu-1
  hint: leave it out
  fix: acme/policy.py:5: remove `over_quota_weight=2` (validate --unsafe-fixes)
  docs: apportion explain AP207

acme/policy.py:3: waived[AP201] children are guaranteed 4Ti memory, but `research` has 2Ti
    3 | research = Queue(id='research', title='Fórschung 研究', guaranteed=Resources(gpu={'h100': 64}))
      |                                                                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^
  in queue research
  waived until 2026-12-01 by @acme/sre: new machines arrive, 100 % sure (acme/vision.yaml:3)
  docs: apportion explain AP201
"""
    )


def test_brief_prints_one_line_for_each_finding(report: Report, read: object) -> None:
    assert _text(report, read, brief=True).splitlines() == [
        "acme/policy.py:3: error[AP201] children are guaranteed 80 H100, but `research` has 64",
        "acme/policy.py:4: warning[AP207] the weight 2 of `llm` has no effect",
    ]


def test_finding_shared_by_clusters_is_shown_once() -> None:
    one = Diagnostic(RULE, "queue a", "it has too much", SourceLocation("policy.py", 1), scope="prod/x")
    other = replace(one, message="it has less")
    shared = [replace(one, scope=scope) for scope in ("prod/x", "prod/y", "dev/z")]
    findings = tuple(map(Finding, (shared[0], other, *shared[1:])))
    text = _text(Report(findings, "policy.py", date(2026, 11, 21), "1.2.3"), SOURCE.get)
    assert text.count("it has too much") == 1
    assert "  in queue a on prod/x, prod/y and dev/z\n" in text
    assert "  in queue a on prod/x\n" in text
    assert _text(Report(findings, "policy.py", date(2026, 11, 21), "1.2.3"), SOURCE.get, brief=True).count("\n") == 2


def test_same_finding_on_two_lines_is_shown_twice() -> None:
    one = Diagnostic(RULE, "file policy.py", "unknown field `limmit`", SourceLocation("policy.py", 1))
    findings = (Finding(one), Finding(replace(one, at=SourceLocation("policy.py", 2))))
    report = Report(findings, "policy.py", date(2026, 11, 21), "1.2.3")
    shown = _text(report, SOURCE.get, brief=True).splitlines()
    assert [line.partition(": ")[0] for line in shown] == ["policy.py:1", "policy.py:2"]
    assert summary(report) == "2 errors"


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_line_is_wider_than_the_terminal(report: Report, read: object, width: int) -> None:
    def cells(text: str) -> int:
        return sum(2 if east_asian_width(c) in "WF" else 1 for c in text)

    lines = _text(report, read, width=width).splitlines()
    assert [line for line in lines if cells(line) > width and "docs/diagnostics" not in line] == []
    assert lines[0].startswith("acme/policy.py:3: error[AP201]")


def test_summary_counts_by_level(report: Report) -> None:
    assert summary(report) == "1 error, 1 warning, 1 waived in 3 queues, 2 environments"
    assert summary(replace(report, findings=())) == "no findings in 3 queues, 2 environments"
    assert summary(replace(report, n_queues=None)) == "1 error, 1 warning, 1 waived"
    stopped = replace(report, findings=report.findings[:1], n_queues=1, n_environments=1, reached="structure")
    assert summary(stopped) == (
        "1 error in 1 queue, 1 environment; quotas and pools are not checked until the policy's structure is valid"
    )


def test_file_level_finding_has_no_excerpt() -> None:
    fault = Diagnostic(RULE, "file policy.py", "it does not exist", SourceLocation("policy.py", 0))
    assert _text(_one(fault), SOURCE.get) == (
        "policy.py: error[AP201] it does not exist\n  docs: apportion explain AP201\n"
    )


def test_policy_text_cannot_control_the_terminal_or_ci_log() -> None:
    hostile = Diagnostic(
        RULE, "queue a\n::error::x", "\x1b[31mred\r\nnext", SourceLocation("policy.py", 1), hint="\x07##[add-mask]"
    )
    text = _text(_one(hostile), {"policy.py": "x = '\x1b]0;title\x07'\n"}.get)
    assert not {"\x1b", "\r", "\x07"} & set(text)
    assert "\n::" not in text
    assert "##[" not in text


def test_styles_do_not_change_the_text(report: Report, read: object) -> None:
    styled = _text(report, read, style=lambda role, text: f"<{role}>{text}</{role}>")
    assert re.sub(r"</?[a-z]+>", "", styled) == _text(report, read)
    assert "<error>error[AP201]</error>" in styled
    assert "<caret>^^</caret>" in styled


@pytest.mark.parametrize(
    ("line", "span", "width", "expected"),
    [
        ("\tQueue(x)", (1, 1, 1, 9), None, ["    1 |     Queue(x)", "      |     ^^^^^^^^"]),
        ("研究(8)", (1, 3, 1, 4), None, ["    1 | 研究(8)", "      |      ^"]),
        ("abc", (1, 3, 1, 3), None, ["    1 | abc", "      |    ^"]),
        ("f(", (1, 0, 3, 1), None, ["    1 | f(", "      | ^^"]),
        ("", (1, 0, 1, 0), None, []),
        ("x", (7, 0, 7, 1), None, []),
        (
            "a" * 100 + "HERE" + "b" * 100,
            (1, 100, 1, 104),
            40,
            ["    1 | …aaaaaaaaaaHEREbbbbbbbbbbbbbbbb…", "      |            ^^^^"],
        ),
        ("c" * 200, (1, 0, 1, 200), 40, ["    1 | " + "c" * 31 + "…", "      | " + "^" * 31]),
    ],
)
def test_carets_mark_the_span(
    line: str, span: tuple[int, int, int, int], width: int | None, expected: list[str]
) -> None:
    assert excerpt([line], Span(*span), _plain, width) == expected
