"""The documentation page of each rule, as Markdown: in the wheel beside this file, in a checkout under docs/."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from apportion_compiler.diagnostics.diagnostic import Rule

_INSTALLED = Path(__file__).parent / "pages"
_CHECKOUT = Path(__file__).parents[2]


@cache
def page_text(rule: Rule) -> str | None:
    """Return a rule's page, None where this installation lacks it."""
    for file in (_INSTALLED / Path(rule.docs).name, _CHECKOUT / rule.docs):
        if file.is_file():
            return file.read_text(encoding="utf-8")
    return None
