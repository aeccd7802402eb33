"""The command blocks of a documentation page, as steps for a shell.

A `console` block, and an untagged one that begins with `$ `, holds commands with what they print. `sh` and `bash` hold
a script. A block of Python or YAML whose first line is a comment with a path is that file.
"""

from __future__ import annotations

import difflib
import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<body>.*?)^(?P=indent)```", re.MULTILINE | re.DOTALL
)
_FILE = re.compile(r"# (?P<path>[\w./-]+\.(?:py|yaml|toml))(?: .*)?\n")
_PROMPT = "$ "
_ELISION = "…"


@dataclass(frozen=True, slots=True)
class Command:
    """What a reader types, and what the page says that it prints: nothing where the page shows nothing."""

    text: str
    printed: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Written:
    """A file that the reader writes."""

    path: str
    text: str
    line: int


Step = Command | Written


def steps(page: Path) -> list[Step]:
    """Return what a reader of a page does, in its order."""
    return steps_of(page.read_text(encoding="utf-8"))


def steps_of(text: str) -> list[Step]:
    """Return what a reader of a text does, in its order."""
    found: list[Step] = []
    for block in _BLOCK.finditer(text):
        body = textwrap.dedent(block["body"])
        line = text.count("\n", 0, block.start()) + 2
        match block["language"]:
            case "console":
                found += _session(body, line)
            case "" if body.startswith(_PROMPT):
                found += _session(body, line)
            case "sh" | "bash":
                found.append(Command(body, (), line))
            case "python" | "yaml" | "toml" if named := _FILE.match(body):
                found.append(Written(named["path"], body, line))
            case _:
                pass
    return found


def _session(body: str, line: int) -> list[Command]:
    found: list[Command] = []
    for offset, text in enumerate(body.splitlines()):
        if text.startswith(_PROMPT):
            found.append(Command(text.removeprefix(_PROMPT), (), line + offset))
        elif found[-1].text.endswith("\\") and not found[-1].printed:
            found[-1] = Command(f"{found[-1].text}\n{text}", (), found[-1].line)
        else:
            found[-1] = Command(found[-1].text, (*found[-1].printed, text), found[-1].line)
    return found


def agrees(shown: tuple[str, ...], printed: str) -> bool:
    """Whether a command printed what the page shows; a line `…` stands for any lines, `…` in a line for any text."""
    parts = [
        r"(?:.*\n)*?"
        if line.strip() == _ELISION
        else ".*".join(map(re.escape, line.rstrip().split(_ELISION))) + r" *\n"
        for line in shown
    ]
    return re.fullmatch("".join(parts) + r"\s*", re.sub(r"\x1b\[[0-9;]*m", "", printed) + "\n") is not None


def brought_up_to_date(shown: tuple[str, ...], printed: str) -> list[str]:
    """Return the lines of a page with what the command prints, and the same lines left out as before."""
    rest = re.sub(r"\x1b\[[0-9;]*m", "", printed).splitlines()
    if not any(line.strip() == _ELISION for line in shown):
        return [line.rstrip() for line in rest]
    lines = []
    for line in shown:
        likely = [] if line.strip() == _ELISION or _ELISION in line else difflib.get_close_matches(line, rest, n=1)
        lines.append(likely[0].rstrip() if likely else line)
        rest = rest[rest.index(likely[0]) + 1 :] if likely else rest
    return lines


def with_output(page: str, updates: list[tuple[Command, list[str]]]) -> str:
    """Return a page whose commands print other lines."""
    lines = page.splitlines()
    for command, printed in sorted(updates, key=lambda update: -update[0].line):
        first = command.line - 1 + command.text.count("\n") + 1
        typed = lines[command.line - 1]
        margin = typed[: len(typed) - len(typed.lstrip())]
        lines[first : first + len(command.printed)] = [f"{margin}{line}".rstrip() for line in printed]
    return "\n".join(lines) + "\n"
