"""Untrusted texts of policies and clusters in GitHub's and GitLab's Markdown, displayed literally."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from apportion_policy.evaluation.sanitized_text import plain_text

# A character reference displays a character without starting a link, a tag or other markup.
_REFERENCES = {ord(c): f"&#{ord(c)};" for c in "&<>@#*_[]()~|\\!`$:"}
_IN_CODE = {ord("`"): "'", ord("|"): "¦", ord("<"): "‹", ord(">"): "›"}
# Code hosts search for mentions and issue references after resolving character references: only a zero-width space
# prevents notifications.
_REFERENCE_TO_SOMETHING = re.compile(r"(&#(?:33|35|64);)(?=\w)")
_HARMLESS_COLON = re.compile(r"&#58;(?=\s|$)")
_MENTION = re.compile(r"@[A-Za-z0-9][A-Za-z0-9-]{0,38}(?:/[A-Za-z0-9][A-Za-z0-9._-]{0,99})?")
_EVERYBODY = frozenset(("@all", "@everyone", "@here", "@channel"))
"""Mentions that notify every member of a project (GitLab's `@all`) or of a channel to which comments are forwarded."""
_MAX_NAME = 120
_MAX_SENTENCE = 300


def code(text: str, limit: int = _MAX_NAME) -> str:
    """Return a text, truncated to a number of characters, as a code span that is valid in a table."""
    # Tools that search the raw text for a marker or a tag do not recognise code spans.
    shown = plain_text(text, limit).translate(_IN_CODE).strip()
    return f"`{shown or ' '}`"


def prose(text: str) -> str:
    """Return a sentence in which names in backticks become code spans, without other markup."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return _plain(text)
    return "".join(code(part) if number % 2 else _plain(part) for number, part in enumerate(parts))


def _plain(text: str) -> str:
    shown = _HARMLESS_COLON.sub(":", plain_text(text, _MAX_SENTENCE).translate(_REFERENCES))
    return _REFERENCE_TO_SOMETHING.sub(r"\1&#8203;", shown).replace("&#40;", "(").replace("&#41;", ")")


def mention(owner: str) -> str:
    """Return an owner as a mention, or as a code span if it is not a handle of a code host, or one of everybody."""
    return owner if _MENTION.fullmatch(owner) and owner.casefold() not in _EVERYBODY else code(owner)


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table whose cells are Markdown."""
    return [_row(heading), _row(["---"] * len(heading)), *map(_row, rows)]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def folded(title: str, lines: Sequence[str]) -> list[str]:
    """Return a collapsible section."""
    return ["<details>", f"<summary>{_plain(title)}</summary>", "", *lines, "", "</details>"]


def shortened(lines: Sequence[str], budget: int, what: str) -> list[str]:
    """Return the first lines that fit into a budget of bytes, and the number of others.

    Args:
        lines: Self-contained lines.
        budget: Bytes in UTF-8, including line ends.
        what: Noun for the omitted lines.
    """
    kept = fitting(lines, budget)
    if len(kept) == len(lines):
        return kept
    return [*kept, "", f"Omitted {what}: {len(lines) - len(kept):,}. See the JSON and HTML reports."]


def fitting(lines: Sequence[str], budget: int) -> list[str]:
    """Return the first lines that fit into a budget of bytes in UTF-8, including line ends."""
    left = budget
    for number, line in enumerate(lines):
        left -= len(line.encode()) + 1
        if left < 0:
            return list(lines[:number])
    return list(lines)
