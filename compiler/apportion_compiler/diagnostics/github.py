"""Findings as GitHub workflow commands, which become annotations of a pull request.

GitHub shows ten annotations of each level per step and drops the rest, which can go to the job summary.

Source: https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from apportion_compiler.diagnostics.positions import Positions
from apportion_compiler.diagnostics.report import Finding, Read, Report
from apportion_compiler.diagnostics.text import summary
from apportion_policy.evaluation.sanitized_text import plain_text

SHOWN_PER_LEVEL = 10
_MARKDOWN = frozenset("&<>|`*_~[]!@#\\")
_COMMANDS = {"error": "error", "warning": "warning", "waived": "notice"}


def render_github(report: Report, read: Read, in_repository: Callable[[str], str], *, limited: bool) -> tuple[str, str]:
    """Return the commands, and the omitted findings as Markdown for the job summary.

    Args:
        report: The findings.
        read: Returns the text of a file.
        in_repository: Returns a path relative to the repository's root.
        limited: Whether to stop at GitHub's maximum; otherwise all findings are returned as commands.
    """
    positions = Positions(read)
    written: Counter[str] = Counter()
    commands: list[str] = []
    rest: list[Finding] = []
    for finding in report.findings:
        written[finding.level] += 1
        if limited and written[finding.level] > SHOWN_PER_LEVEL:
            rest.append(finding)
        else:
            commands.append(_command(finding, positions, in_repository))
    return "".join(f"{command}\n" for command in commands), _table(report, rest, in_repository) if rest else ""


def _command(finding: Finding, positions: Positions, in_repository: Callable[[str], str]) -> str:
    d = finding.diagnostic
    properties = {"title": f"{d.code} {d.rule.name}"}
    if not d.at.file.startswith("<"):
        properties = {"file": in_repository(d.at.file), **properties}
    region = positions.region(d.at)
    if region is not None:
        properties |= {"line": str(region.line), "endLine": str(region.end_line)}
        # GitHub accepts columns only for annotations within one line.
        if region.end_line == region.line:
            properties |= {"col": str(region.column), "endColumn": str(region.end_column)}
    lines = [d.message, f"in {d.where}"]
    lines += [f"{in_repository(r.at.file)}:{r.at.line}: {r.message}" for r in d.related]
    if d.suppression is not None:
        lines.append(f"waived until {d.suppression.expires} by {d.suppression.owner}: {d.suppression.reason}")
    if d.hint is not None:
        lines.append(f"hint: {d.hint}")
    shown = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{_COMMANDS[finding.level]} {shown}::{_data(chr(10).join(map(plain_text, lines)))}"


def _table(report: Report, rest: list[Finding], in_repository: Callable[[str], str]) -> str:
    lines = [
        f"### apportion: {summary(report)}",
        "",
        f"GitHub shows at most {SHOWN_PER_LEVEL} annotations per level; the table lists the remaining findings.",
        "",
        "| level | rule | location | finding |",
        "| --- | --- | --- | --- |",
    ]
    for finding in rest:
        d = finding.diagnostic
        place = f"{in_repository(d.at.file)}:{d.at.line}" if d.at.line else in_repository(d.at.file)
        cells = (finding.level, d.code, _cell(place), f"{_cell(d.message)} ({_cell(d.address)})")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Return text escaped for Markdown: no code, links, images, mentions or markup."""
    return "".join(f"&#{ord(c)};" if c in _MARKDOWN else c for c in plain_text(text))


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(plain_text(text)).replace(":", "%3A").replace(",", "%2C")
