r"""Sanitization of text from unreviewed policies for all output: the only module that escapes text.

`plain_text` converts a text to one line when a message is composed. `escaped_text`, `escaped_json` and
`escaped_commands` are the boundary: all printed text and every report file pass through one of them, regardless of
earlier steps. `comment_lines` and `fenced` embed text in other languages.

Control, format, bidirectional and surrogate characters become `\x1b`-style escapes. CI systems interpret `::command::`
at the start of a line and `##[command]` (GitHub) or `##vso[command]` (Azure) anywhere in it as commands, so these are
broken up.

Source: github.com/actions/runner `src/Runner.Common/ActionCommand.cs`: leading white space is ignored.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

MAX_MESSAGE_CHARACTERS = 2_000
_REFUSED_CATEGORIES = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
_HASH_COMMAND = re.compile(r"##(?=\w*\[)")
_ANNOTATION = re.compile(r"::(?:error|warning|notice) ")
_BACKTICKS = re.compile(r"`{3,}")


def plain_text(text: str, limit: int = MAX_MESSAGE_CHARACTERS) -> str:
    """Return one line of printable characters.

    Args:
        text: Any text.
        limit: Maximum number of characters of the input; truncation is marked with an ellipsis.
    """
    shown = text[:limit]
    if not shown.isprintable():
        shown = "".join(_plain_character(character) for character in shown)
    shown = _parted(shown)
    return shown + "…" if len(text) > limit else shown


def escaped_text(text: str) -> str:
    """Return lines of printable characters that no CI system interprets as commands."""
    return "\n".join(_parted(_escaped_line(line)) for line in text.split("\n"))


def escaped_json(text: str) -> str:
    """Return equivalent JSON in which strings contain only printable characters."""
    if not text.replace("\n", "").isprintable():
        text = "\n".join(
            line if line.isprintable() else "".join(map(_json_character, line)) for line in text.split("\n")
        )
    return _HASH_COMMAND.sub(r"#\\u0023", text)


def escaped_commands(text: str) -> str:
    """Return annotations for GitHub, one per line; other lines are escaped so that they are not commands."""
    lines = (_escaped_line(line) for line in text.split("\n"))
    return "\n".join(_HASH_COMMAND.sub("# #", line) if _ANNOTATION.match(line) else _parted(line) for line in lines)


def comment_lines(notes: Iterable[str]) -> str:
    """Return comments of YAML, shell or Python, one per line, for arbitrary notes."""
    return "".join(f"# {plain_text(' '.join(note.split()), len(note))}\n" for note in notes)


def fenced(text: str) -> str:
    """Return a Markdown code block that no run of backticks in the text can end."""
    fence = "`" * max((len(run) + 1 for run in _BACKTICKS.findall(text)), default=3)
    return f"{fence}\n{text.rstrip(chr(10))}\n{fence}\n"


def unprintable(text: str) -> str | None:
    """Return the first control, format or bidirectional character, as `U+202E RIGHT-TO-LEFT OVERRIDE`; None without."""
    if text.isprintable():
        return None
    found = next((c for c in text if unicodedata.category(c) in _REFUSED_CATEGORIES), None)
    return None if found is None else f"U+{ord(found):04X} {unicodedata.name(found, 'control character')}"


def _parted(line: str) -> str:
    line = _HASH_COMMAND.sub("# #", line)
    return line.replace("::", ": :", 1) if line.lstrip().startswith("::") else line


def _escaped_line(line: str) -> str:
    return line if line.isprintable() else "".join(map(_escaped_character, line))


def _escaped_character(character: str) -> str:
    # White space of other widths is harmless, and used in pages.
    if character.isprintable() or character == "\t" or unicodedata.category(character) == "Zs":
        return character
    return character.encode("unicode_escape").decode("ascii")


def _json_character(character: str) -> str:
    if character.isprintable() or character == "\t" or unicodedata.category(character) == "Zs":
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[n]:02x}{units[n + 1]:02x}" for n in range(0, len(units), 2))


def _plain_character(character: str) -> str:
    if character == "\t":
        return "    "
    return " " if unicodedata.category(character) == "Zs" else _escaped_character(character)


def is_utf8(name: str) -> bool:
    """Return whether a file name is text: names are bytes, and may be invalid UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
