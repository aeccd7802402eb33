"""Findings as text: `file:line:` first, so that terminals and editors link it, then an excerpt with carets."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from apportion_api.counted_nouns import counted
from apportion_compiler.diagnostics.diagnostic import Diagnostic
from apportion_compiler.diagnostics.report import Finding, Read, Report
from apportion_compiler.diagnostics.text_excerpt import Style, excerpt
from apportion_compiler.spans import Place, Span, place, span_of, split_lines
from apportion_policy.evaluation.sanitized_text import plain_text
from apportion_policy.source import SourceLocation

if TYPE_CHECKING:
    from apportion_compiler.fixes import TextEdit

Shown = Callable[[str], str]
"""Returns the displayed path of a file, such as one relative to the current folder."""


def unstyled(role: str, text: str) -> str:
    """Return text unchanged."""
    return text


def render_text(
    report: Report, *, shown: Shown, read: Read, style: Style = unstyled, width: int | None = None, brief: bool = False
) -> str:
    """Return the findings as text, separated by blank lines; `brief` is one line each, without waived findings.

    Findings that are identical on several clusters are shown once, with the names of all clusters.

    Args:
        report: The findings.
        shown: Returns the displayed path of a file.
        read: Returns the text to quote from.
        style: Applies colours; the roles are place, error, warning, waived, gutter, caret, hint, docs.
        width: Columns to wrap to; None for no wrapping.
        brief: Whether to show first lines only.
    """
    texts = _Texts(shown, read, style, width)
    if brief:
        return "".join(f"{texts.head(f)}\n" for f, _ in _alike(report.findings) if f.level != "waived")
    return "\n".join("".join(f"{line}\n" for line in texts.lines(f, on)) for f, on in _alike(report.findings))


def summary(report: Report) -> str:
    """Return one line: the number of findings by level, and the numbers of queues and environments."""
    found = [_n(report.count(level), noun) for level, noun in _NOUNS if report.count(level)]
    text = ", ".join(found) or "no findings"
    if report.n_objects is not None:
        return f"{text} in {_n(report.n_objects, 'object')}"
    if report.n_queues is None or report.n_environments is None:
        return text
    text += f" in {_n(report.n_queues, 'queue')}, {_n(report.n_environments, 'environment')}"
    return (
        text
        if report.reached == "checks"
        else f"{text}; quotas and pools are not checked until the policy's structure is valid"
    )


_NOUNS = (("error", "error"), ("warning", "warning"), ("waived", "waived"))


def _n(count: int, noun: str) -> str:
    return counted(count, noun, "waived" if noun == "waived" else None)


def _alike(findings: Iterable[Finding]) -> Iterable[tuple[Finding, str]]:
    """Yield findings that differ only in their scope once each, with all their scopes as text."""
    # Locations do not take part in the comparison of findings.
    places: dict[tuple[Finding, Place], tuple[Finding, list[str]]] = {}
    for finding in findings:
        apart = replace(finding, diagnostic=replace(finding.diagnostic, scope=None))
        places.setdefault((apart, place(finding.diagnostic.at)), (finding, []))[1].append(finding.diagnostic.where)
    for finding, (first, *others) in places.values():
        on = [where.removeprefix(f"{finding.diagnostic.address} on ") for where in others]
        yield finding, first if not on else f"{', '.join((first, *on[:-1]))} and {on[-1]}"


class _Texts:
    """Rendering of findings with one set of options."""

    __slots__ = ("_lines", "_read", "_shown", "_style", "_width")

    def __init__(self, shown: Shown, read: Read, style: Style, width: int | None) -> None:
        self._shown = shown
        self._read = read
        self._style = style
        self._width = width
        self._lines: dict[str, list[str] | None] = {}

    def lines(self, finding: Finding, places: str) -> list[str]:
        d = finding.diagnostic
        lines = [self.head(finding), *self._excerpt(finding)]
        if not d.address.startswith("file "):
            lines += self._detail(f"in {places}")
        for related in d.related:
            lines += self._detail(f"{self._place(related.at)}{related.message}")
        if d.suppression is not None:
            s = d.suppression
            lines += self._detail(f"waived until {s.expires} by {s.owner}: {s.reason} ({self._place(s.at)[:-2]})")
        if d.hint is not None and d.suppression is None:
            lines += self._detail(d.hint, role="hint", label="hint: ")
        if finding.edit is not None and d.suppression is None:
            asked = "--unsafe-fixes" if finding.is_unsafe else "--fix"
            lines += self._detail(f"{self._fix(finding.edit)} (validate {asked})", role="hint", label="fix: ")
        lines += self._detail(d.rule.docs_command, role="docs", label="docs: ")
        return lines

    def head(self, finding: Finding) -> str:
        d = finding.diagnostic
        at, label = self._place(replace(d.at, line=_line(finding))), f"{finding.level}[{d.code}]"
        text = self._wrapped(f"{at}{label} {plain_text(d.message)}", "", "    ")
        if text[0].startswith(f"{at}{label}"):
            text[0] = self._style("place", at) + self._style(finding.level, label) + text[0][len(at) + len(label) :]
        return "\n".join(text)

    def _place(self, at: SourceLocation) -> str:
        file = plain_text(self._shown(at.file))
        return f"{file}:{at.line}: " if at.line else f"{file}: "

    def _detail(self, text: str, *, role: str | None = None, label: str = "") -> list[str]:
        wrapped = self._wrapped(f"  {label}{plain_text(text)}", "", "    ")
        if role is not None and wrapped[0].startswith(f"  {label}"):
            wrapped[0] = "  " + self._style(role, label) + wrapped[0][2 + len(label) :]
        return wrapped

    def _wrapped(self, text: str, first: str, later: str) -> list[str]:
        if self._width is None or len(text) <= self._width:
            return [text]
        return textwrap.wrap(
            text, self._width, initial_indent=first, subsequent_indent=later,
            break_long_words=False, break_on_hyphens=False, drop_whitespace=True,
        ) or [text]  # fmt: skip

    def _source(self, file: str) -> list[str] | None:
        if file not in self._lines:
            text = self._read(file)
            self._lines[file] = None if text is None else split_lines(text)
        return self._lines[file]

    def _excerpt(self, finding: Finding) -> list[str]:
        at = finding.diagnostic.at
        lines = self._source(at.file) if at.line else None
        return [] if lines is None else excerpt(lines, _marked(finding, span_of(at, lines)), self._style, self._width)

    def _fix(self, edit: TextEdit) -> str:
        lines = self._source(edit.file) or []
        span = edit.span
        new = edit.text.strip(", \n")
        at = f"{self._shown(edit.file)}:{span.line}"
        if (span.line, span.column) == (span.end_line, span.end_column):
            return f"{at}: add `{new}`"
        old = lines[span.line - 1][span.column :] if span.line <= len(lines) else ""
        if span.end_line == span.line:
            old = old[: span.end_column - span.column]
        if not edit.text:
            return f"{at}: remove `{old.strip(', ')}`"
        if "\n" in edit.text:
            return f"{at}: add `{new.rpartition(chr(10))[2].strip()}`"
        return f"{at}: replace `{old.strip()}` with `{new}`"


def _line(finding: Finding) -> int:
    """Return the line that the excerpt marks, which is also that of the header."""
    own = finding.diagnostic.at.line
    return _marked(finding, Span(own, 0, own, 0)).line if own else own


def _marked(finding: Finding, own: Span) -> Span:
    """Return the value that the fix changes, if it is in the declaration of the finding."""
    d: Diagnostic = finding.diagnostic
    if finding.edit is None or d.fix is None or place(d.fix.at) != place(d.at):
        return own
    span = finding.edit.span
    is_value = (span.line, span.column) < (span.end_line, span.end_column) and "\n" not in finding.edit.text
    return span if is_value and finding.edit.text else own
