"""Text from an unreviewed policy, made harmless for terminals and CI logs."""

from __future__ import annotations

import unicodedata

MAX_MESSAGE_CHARACTERS = 2_000


def plain_text(text: str, limit: int = MAX_MESSAGE_CHARACTERS) -> str:
    r"""Return one line in which every character prints as itself.

    Control, format, bidirectional and surrogate characters become `\x1b`-style escapes. CI systems take
    `::command::` at the start of a line and `##[command]` (GitHub) or `##vso[command]` (Azure) anywhere in it as
    instructions to themselves, so the signs are parted.

    Args:
        text: Anything.
        limit: Characters kept of the input; what is cut off is marked with an ellipsis.
    """
    shown = text[:limit]
    if not shown.isprintable():
        shown = "".join(_plain_character(character) for character in shown)
    shown = shown.replace("##[", "# #[").replace("##vso[", "# #vso[")
    if shown.lstrip().startswith("::"):
        shown = shown.replace("::", ": :", 1)
    return shown + "…" if len(text) > limit else shown


def _plain_character(character: str) -> str:
    if character.isprintable() or character == "\t":
        return character if character != "\t" else "    "
    if unicodedata.category(character) == "Zs":
        return " "
    return character.encode("unicode_escape").decode("ascii")
