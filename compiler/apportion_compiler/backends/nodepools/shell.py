"""Shell scripts for providers' command-line tools, from the templates in this package.

Every value is quoted. Values that no policy contains, such as a cluster's id, are variables of the script.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from apportion_policy.evaluation.sanitized_text import comment_lines

if TYPE_CHECKING:
    from jinja2 import Environment

_WIDTH = 100


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of the script, expanded as one word."""

    name: str


Word = str | tuple[str, Variable]
"""A word of a command: text, or text followed by a variable, as in `--cluster="$CLUSTER"`."""


def flag(name: str, value: object) -> str:
    """Return `--name=value`; the form with `=` accepts values that begin with a dash."""
    return f"--{name}={value}"


def switch(name: str, *, on: bool) -> str:
    """Return `--enable-name` or `--no-enable-name`."""
    return f"--enable-{name}" if on else f"--no-enable-{name}"


def quoted(word: Word) -> str:
    """Return a word quoted for the shell."""
    if isinstance(word, str):
        return shlex.quote(word)
    text, variable = word
    return f'{shlex.quote(text) if text else ""}"${variable.name}"'


def command(text: str, words: Sequence[Word], *, indent: int = 0) -> str:
    """Return a command, split into one word per line if it is long: the first words as text, then the others."""
    margin, head = " " * indent, text.split()
    every = [*head, *words]
    quoted_words = [quoted(word) for word in every]
    line = margin + " ".join(quoted_words)
    if len(line) <= _WIDTH:
        return line
    n_first = next((n for n, word in enumerate(every) if _is_flag(word)), 1)
    return f" \\\n{margin}  ".join((margin + " ".join(quoted_words[:n_first]), *quoted_words[n_first:]))


def _is_flag(word: Word) -> bool:
    return (word if isinstance(word, str) else word[0]).startswith("-")


def script(
    template: str,
    *,
    notes: Iterable[str],
    needed: Mapping[str, str],
    defaults: Mapping[str, str] = MappingProxyType({}),
    **values: object,
) -> str:
    """Return a complete script.

    Args:
        template: Name of the template.
        notes: Sentences for the header.
        needed: Variables that the caller must set, with descriptions that contain no brace or quote.
        defaults: Variables with a default value.
        values: Variables of the template.
    """
    return _templates().get_template(template).render(notes=notes, needed=needed, defaults=defaults, **values)


@cache
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader("apportion_compiler.backends.nodepools"),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    found.globals["command"] = command  # pyright: ignore[reportArgumentType] -- inferred from the defaults alone
    found.filters |= {"comment": _comment, "quoted": quoted}
    return found


def _comment(note: str) -> str:
    return comment_lines((note,)).rstrip("\n")
