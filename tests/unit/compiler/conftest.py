"""A report with one finding of each level, as every renderer gets it."""

from __future__ import annotations

from datetime import date

import pytest

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity, Suppression, ValueEdit
from apportion_compiler.diagnostics.report import Report, with_edits
from apportion_policy.source import SourceLocation

OVERSUBSCRIBED = Rule("AP201", "quota-oversubscribed", Severity.ERROR, "children are guaranteed more than their parent")
WEIGHTLESS = Rule("AP207", "weight-without-surplus", Severity.WARNING, "a weight without effect")

SOURCES = {
    "acme/policy.py": (
        "from apportion_policy import Queue, Resources\n"
        "\n"
        "research = Queue(id='research', title='Fórschung 研究', guaranteed=Resources(gpu={'h100': 64}))\n"
        "llm = Queue(\n"
        "    id='llm', parent='research', guaranteed=Resources(gpu={'h100': 48}), over_quota_weight=2,\n"
        ")\n"
    ),
    "acme/vision.yaml": "queues:\n- id: vision\n  guaranteed: {gpu: {h100: 32}}\n",
}
# Python counts bytes of UTF-8 here, and the title before it has characters of two and three.
_LINE = SOURCES["acme/policy.py"].encode().splitlines()[2]
RESEARCH = SourceLocation("acme/policy.py", 3, _LINE.index(b"Resources"), 3, len(_LINE) - 1)
LLM = SourceLocation("acme/policy.py", 4, 6, 6, 1)
VISION = SourceLocation("acme/vision.yaml", 3, 14, 3, 31)


@pytest.fixture
def report() -> Report:
    diagnostics = (
        Diagnostic(
            OVERSUBSCRIBED,
            "queue research",
            "children are guaranteed 80 H100, but `research` has 64",
            RESEARCH,
            (Related(LLM, "`llm` takes 48"), Related(VISION, "`vision` takes 32")),
            "raise the guarantee of `research` to 80 H100, or lower the guarantee of `llm` by 16 H100",
            ValueEdit(RESEARCH, ("gpu", "h100"), 80),
            severity=Severity.ERROR,
        ),
        Diagnostic(
            WEIGHTLESS,
            "queue llm",
            "the weight 2 of `llm` has no effect",
            LLM,
            hint="leave it out",
            fix=ValueEdit(LLM, ("over_quota_weight",), None),
            scope="prod/gpu-1",
            severity=Severity.WARNING,
        ),
        Diagnostic(
            OVERSUBSCRIBED,
            "queue research",
            "children are guaranteed 4Ti memory, but `research` has 2Ti",
            RESEARCH,
            severity=Severity.ERROR,
            suppression=Suppression("new machines arrive, 100 % sure", "@acme/sre", "2026-12-01", VISION),
        ),
    )
    return Report(with_edits(diagnostics, SOURCES.get), "acme/policy.py", date(2026, 11, 21), "1.2.3", "checks", 3, 2)


@pytest.fixture
def read() -> object:
    return SOURCES.get
