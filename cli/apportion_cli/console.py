"""All printing: destination, colour, and escaping of control characters.

Printed text can contain anything from a policy, a manifest or a file name, so all of it is escaped here.

A closed pipe (`apportion rules | head`) ends the printing, not the command: its exit code is still that of the result.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TextIO

import click

from apportion_cli.errors import PreconditionError
from apportion_policy.evaluation.sanitized_text import escaped_commands, escaped_json, escaped_text

Style = Callable[[str, str], str]
"""Returns a text styled for a role (`error`, `hint`, …)."""

_STYLES: Mapping[str, Callable[[str], str]] = {
    "error": partial(click.style, fg="red", bold=True),
    "warning": partial(click.style, fg="yellow", bold=True),
    "waived": partial(click.style, fg="blue"),
    "place": partial(click.style, bold=True),
    "caret": partial(click.style, fg="red"),
    "gutter": partial(click.style, dim=True),
    "hint": partial(click.style, fg="cyan"),
    "docs": partial(click.style, dim=True),
    "added": partial(click.style, fg="green"),
    "removed": partial(click.style, fg="red"),
    "heading": partial(click.style, bold=True),
}
_META = "apportion.console"
_ESCAPE = "\x1b["
# Placeholder for the start of a colour until printing: untrusted text cannot contain it.
_COLOR_MARK = f"<{os.urandom(16).hex()}>"
_ESCAPES: Mapping[str, Callable[[str], str]] = {
    "json": escaped_json,
    "jsonl": escaped_json,
    "sarif": escaped_json,
    "github": escaped_commands,
}


@dataclass(frozen=True, slots=True)
class Console:
    """Output settings of this run: `verbosity` is -1 quiet, 0, or 1 verbose; `color` is None if unspecified."""

    verbosity: int = 0
    color: bool | None = None
    debug: bool = False

    @property
    def quiet(self) -> bool:
        """Whether only findings and requested results are printed."""
        return self.verbosity < 0

    @property
    def verbose(self) -> bool:
        """Whether to print progress messages."""
        return self.verbosity > 0

    def out(self, text: str, form: str = "text") -> None:
        """Print the result to standard output.

        Args:
            text: The result.
            form: Its format, as in `-o`.

        Raises:
            PreconditionError: If it cannot be written, for example because the disk is full.
        """
        _write(sys.stdout, escaped(text, form), "standard output")

    def err(self, text: str) -> None:
        """Print to standard error, regardless of verbosity."""
        _write(sys.stderr, escaped(text), "standard error")

    def report(self, text: str) -> None:
        """Print progress or totals unless quiet."""
        if not self.quiet:
            self.out(text)

    def note(self, text: str) -> None:
        """Print to standard error if `--verbose` is set."""
        if self.verbose:
            self.err(text)

    def style(self, *, stderr: bool = False) -> Style:
        """Return the styling function for standard output or standard error."""
        if not wants_color(sys.stderr if stderr else sys.stdout, os.environ, asked=self.color):
            return plain
        return colored

    def width(self, *, stderr: bool = False) -> int | None:
        """Return the columns of the terminal; None if output is not a terminal and must not be wrapped."""
        stream = sys.stderr if stderr else sys.stdout
        if not _is_terminal(stream):
            return None
        import shutil

        return max(40, shutil.get_terminal_size((80, 24)).columns)

    def shows_progress(self) -> bool:
        """Whether a progress bar may be drawn on standard error."""
        return not self.quiet and "CI" not in os.environ and not _is_dumb(os.environ) and _is_terminal(sys.stderr)


def plain(role: str, text: str) -> str:
    """Return text unchanged."""
    return text


def colored(role: str, text: str) -> str:
    """Return text in the colours of a role, for `escaped`."""
    return _STYLES[role](text).replace(_ESCAPE, _COLOR_MARK)


def escaped(text: str, form: str = "text") -> str:
    """Return text with our colours and all other control characters escaped."""
    return _ESCAPES.get(form, escaped_text)(text).replace(_COLOR_MARK, _ESCAPE)


def wants_color(stream: TextIO, environment: Mapping[str, str], *, asked: bool | None) -> bool:
    """Return whether to use colour: from the option, NO_COLOR, FORCE_COLOR, TERM, CLICOLOR, or the terminal."""
    if asked is not None:
        return asked
    if environment.get("NO_COLOR"):
        return False
    if _is_set(environment, "FORCE_COLOR") or _is_set(environment, "CLICOLOR_FORCE"):
        return True
    if _is_dumb(environment) or environment.get("CLICOLOR") == "0":
        return False
    return _is_terminal(stream)


def current(ctx: click.Context | None = None) -> Console:
    """Return the console of the running command."""
    found = (ctx or click.get_current_context()).meta.get(_META, Console())
    assert isinstance(found, Console)
    return found


def set_current(ctx: click.Context, console: Console) -> None:
    """Set the console of the running command."""
    ctx.meta[_META] = console


def drop_output() -> None:
    """Discard further output after a broken pipe."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _write(stream: TextIO, text: str, name: str) -> None:
    # File names may not be text, and terminals may not support every character; in JSON, this is an escape.
    encoding = stream.encoding or "utf-8"
    shown = text.encode(encoding, "backslashreplace").decode(encoding)
    try:
        stream.write(shown if shown.endswith("\n") or not shown else shown + "\n")
        stream.flush()
    except BrokenPipeError:
        drop_output()
    except OSError as refused:
        raise PreconditionError(f"{name} cannot be written: {refused.strerror}") from refused


def _is_terminal(stream: TextIO) -> bool:
    return not stream.closed and stream.isatty()


def _is_dumb(environment: Mapping[str, str]) -> bool:
    return environment.get("TERM") == "dumb"


def _is_set(environment: Mapping[str, str], name: str) -> bool:
    return environment.get(name, "") not in ("", "0", "false")
