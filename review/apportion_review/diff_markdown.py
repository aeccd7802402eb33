"""The difference between two policies as Markdown, for a comment on a pull request."""

from __future__ import annotations

from apportion_api.counted_nouns import counted
from apportion_policy.evaluation.sanitized_text import fenced
from apportion_review.diff_report import DiffReport
from apportion_review.diff_text import diff_text
from apportion_review.report.markdown import fitting

_WIDTH = 96
_MAX_BYTES = 65_000
"""Code hosts reject comments from 65,536 characters; the rest is for the heading, the fence and the last sentence."""


def diff_markdown(report: DiffReport) -> str:
    """Return the report as a heading and a fenced block, in which no text of a policy is interpreted as Markdown."""
    changed = len({(s.kind, s.name) for s in report.statements if not s.is_derived})
    title = f"{counted(changed, 'object')} changed" if report.differs else "no difference"
    heading = f"### Policy: {title}\n"
    if not report.differs and not report.notes:
        return heading
    lines = diff_text(report, _plain, _WIDTH).splitlines()
    kept = fitting(lines, _MAX_BYTES)
    block = fenced("\n".join(kept))
    if len(kept) == len(lines):
        return f"{heading}\n{block}"
    more = counted(len(lines) - len(kept), "more line is", "more lines are")
    return f"{heading}\n{block}\n{more} in the text and JSON reports.\n"


def _plain(role: str, text: str) -> str:
    return text
