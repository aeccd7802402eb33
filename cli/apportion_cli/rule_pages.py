"""A rule's documentation page, for `apportion explain`."""

from __future__ import annotations

from difflib import get_close_matches

import click


def rule_page(code: str) -> str:
    """Return the page of a rule as Markdown.

    Raises:
        click.UsageError: If there is no such rule.
    """
    from apportion_compiler.checks import RULES
    from apportion_compiler.rule_pages import page_text

    rule = RULES.get(code)
    if rule is None:
        near = get_close_matches(code, RULES, n=3)
        raise click.UsageError(
            f"there is no rule {code}" + (f"; there is {', '.join(near)}" if near else "") + " (see apportion rules)"
        )
    text = page_text(rule)
    return text if text is not None else f"# {rule.code}: {rule.name}\n\n{rule.summary}\n"
