"""The difference between two policies as Markdown, for a comment on a pull request."""

from __future__ import annotations

from apportion_api.counted_nouns import counted
from apportion_policy.evaluation.sanitized_text import fenced
from apportion_review.diff_report import DiffReport
from apportion_review.diff_text import diff_text

_WIDTH = 96


def diff_markdown(report: DiffReport) -> str:
    """Return the report as a heading and a fenced block, in which no text of a policy is interpreted as Markdown."""
    changed = len({(s.kind, s.name) for s in report.statements if not s.is_derived})
    title = f"{counted(changed, 'object')} changed" if report.differs else "no difference"
    heading = f"### Policy: {title}\n"
    return (
        heading
        if not report.differs and not report.notes
        else f"{heading}\n{fenced(diff_text(report, _plain, _WIDTH))}"
    )


def _plain(role: str, text: str) -> str:
    return text
