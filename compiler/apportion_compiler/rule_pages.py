"""The documentation page of each rule, as Markdown: `pages` links to docs/diagnostics, and is a folder in the wheel."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from apportion_compiler.diagnostics.diagnostic import Rule

_PAGES = Path(__file__).parent / "pages"


@cache
def page_text(rule: Rule) -> str | None:
    """Return a rule's page, None if this installation does not include it."""
    file = _PAGES / Path(rule.docs).name
    return file.read_text(encoding="utf-8") if file.is_file() else None
