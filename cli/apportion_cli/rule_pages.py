"""A rule's documentation page, for `apportion explain`."""

from __future__ import annotations

import textwrap
from difflib import get_close_matches

import click

from apportion_cli.console import Style, current

REQUIRED = "This rule is required: severities, waivers and `--fail-on` cannot disable it."

_FENCE = "```"


def rule_page(code: str) -> str:
    """Return the page of a rule as Markdown; on a terminal, wrapped and with styled headings.

    Raises:
        click.UsageError: If there is no such rule.
    """
    from apportion_compiler.checks import RULES
    from apportion_compiler.rule_pages import page_text

    rule = RULES.get(code)
    if rule is None:
        near = get_close_matches(code, RULES, n=3)
        raise click.UsageError(
            f"unknown rule {code}" + (f"; did you mean {' or '.join(near)}?" if near else "") + " (see apportion rules)"
        )
    text = page_text(rule) or f"# {rule.code}: {rule.name}\n\n{rule.summary}\n"
    if rule.required:
        heading, _, rest = text.partition("\n")
        text = f"{heading}\n\n{REQUIRED}\n{rest}"
    console = current()
    width = console.width()
    return text if width is None else for_terminal(text, min(width, 100), console.style())


def for_terminal(page: str, width: int, style: Style) -> str:
    """Return Markdown with wrapped paragraphs, headings without markup, and indented code."""
    lines: list[str] = []
    in_code = False
    for line in page.splitlines():
        if line.startswith(_FENCE):
            in_code = not in_code
        elif in_code:
            lines.append(f"    {line}")
        elif line.startswith("#"):
            lines.append(style("heading", line.lstrip("# ")))
        else:
            indent = "  " if line.startswith(("* ", "- ")) else ""
            wrapped = textwrap.wrap(
                line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
            )
            lines += wrapped or [""]
    return "\n".join(lines) + "\n"
