"""`validate --fix`: apply the fixes that change one value of the author's own text, and show what they changed."""

from __future__ import annotations

import os
import stat
import tempfile
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from apportion_cli.console import Console, Style
from apportion_cli.errors import CannotError
from apportion_cli.validation import validated

if TYPE_CHECKING:
    from apportion_cli.inputs import Inputs
    from apportion_compiler.diagnostics.report import Report
    from apportion_compiler.fixes import TextEdit
    from apportion_policy.evaluation.limits import Limits

# One fix can uncover the next fault, as where a parent's guarantee was hidden behind an unknown id.
_MAX_ROUNDS = 10


def fix_policy(console: Console, policy: str, limits: Limits, as_of: date) -> None:
    """Apply fixes until none is left, and print the changes to standard error.

    Raises:
        CannotError: If a file cannot be written.
    """
    before: dict[str, str] = {}
    inputs: Inputs | None = None
    for _ in range(_MAX_ROUNDS):
        inputs, report = validated(policy, limits, as_of, ())
        changed = _apply(inputs, report)
        for name, text in changed.items():
            before.setdefault(name, text)
        if not changed:
            break
    if inputs is not None and before:
        console.err(_changes(inputs, before, console.style(stderr=True)))


def _apply(inputs: Inputs, report: Report) -> dict[str, str]:
    """Apply one round of edits that do not touch each other; return the former text of each file changed."""
    from apportion_compiler.fixes import apply_edits, compatible

    wanted = (f.edit for f in report.findings if f.edit is not None and f.level != "waived")
    by_file: dict[str, list[TextEdit]] = {}
    for edit in compatible(wanted):
        by_file.setdefault(edit.file, []).append(edit)
    former: dict[str, str] = {}
    for name, edits in by_file.items():
        text = inputs.sources.read(name)
        assert text is not None
        former[name] = text
        _write(inputs.sources.path(name), apply_edits(text, edits))
    inputs.sources.forget()
    return former


def _write(path: Path, text: str) -> None:
    """Replace a file at once, so that no reader sees half of it; a link stays one."""
    target = Path(os.path.realpath(path))
    try:
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode("utf-8"))
        Path(temporary).chmod(stat.S_IMODE(target.stat().st_mode))
        Path(temporary).replace(target)
    except OSError as refused:
        raise CannotError(f"{path} cannot be written: {refused.strerror}") from refused


def _changes(inputs: Inputs, before: dict[str, str], style: Style) -> str:
    from apportion_compiler.fixes import unified_diff

    sources = inputs.sources
    diffs = [unified_diff(sources.near(name), text, sources.read(name) or "") for name, text in sorted(before.items())]
    lines = [_colored(line, style) for diff in diffs for line in diff.splitlines()]
    n_files = f"{len(before)} file" + ("" if len(before) == 1 else "s")
    return "\n".join((*lines, f"fixed {n_files}", ""))


def _colored(line: str, style: Style) -> str:
    if line.startswith(("---", "+++")):
        return style("heading", line)
    return style("added", line) if line.startswith("+") else style("removed", line) if line.startswith("-") else line
