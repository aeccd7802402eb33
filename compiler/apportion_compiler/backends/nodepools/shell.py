"""Shell text for providers' command line tools. Every value is quoted; a coordinate is a variable of the script."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from apportion_policy.evaluation.sanitized_text import comment_lines

_WIDTH = 100


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of the script, expanded as one word."""

    name: str


Word = str | tuple[str, Variable]
"""A word of a command: text, or text with a variable after it, as in `--cluster="$CLUSTER"`."""


def flag(name: str, value: object) -> str:
    """Return `--name=value`; the form with `=` takes values that begin with a dash."""
    return f"--{name}={value}"


def switch(name: str, *, on: bool) -> str:
    """Return `--enable-name` or `--no-enable-name`."""
    return f"--enable-{name}" if on else f"--no-enable-{name}"


def quoted(word: Word) -> str:
    """Return a word as the shell reads it back."""
    if isinstance(word, str):
        return shlex.quote(word)
    text, variable = word
    return f'{shlex.quote(text) if text else ""}"${variable.name}"'


def command(words: Sequence[Word], *, indent: str = "") -> str:
    """Return a command, one word a line where it is long."""
    quoted_words = [quoted(word) for word in words]
    line = indent + " ".join(quoted_words)
    if len(line) <= _WIDTH:
        return line
    head = next((n for n, word in enumerate(words) if _is_flag(word)), 1)
    return f" \\\n{indent}  ".join((indent + " ".join(quoted_words[:head]), *quoted_words[head:]))


def _is_flag(word: Word) -> bool:
    return (word if isinstance(word, str) else word[0]).startswith("-")


def script(
    *, notes: Iterable[str], defaults: Mapping[str, str], needed: Mapping[str, str], parts: Iterable[str]
) -> str:
    """Return a whole script.

    Args:
        notes: Sentences for its head.
        defaults: Variables that have a value unless the caller gives one.
        needed: Variables that the caller must give, and what each is, in words without a brace or a quote.
        parts: Commands.
    """
    lines = ["#!/bin/sh", comment_lines(notes).rstrip("\n"), "set -eu"]
    for name, value in defaults.items():
        # In `${X:=…}` a quote would be taken as text by some shells and end the word in others.
        lines.append(f'[ -n "${{{name}:-}}" ] || {name}={shlex.quote(value)}')
    for name, what in needed.items():
        lines.append(f': "${{{name}:?set it to {what}}}"')
    return "\n".join([*lines, *(f"\n{part}" for part in parts)]) + "\n"
