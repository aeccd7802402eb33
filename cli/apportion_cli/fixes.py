"""`validate --fix`: apply fixes that change one value of the author's text, and show the changes.

The policy is evaluated again after each step. A step that causes a new error is reverted.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from apportion_api.counted_nouns import agreeing, counted
from apportion_cli.console import Console, Style
from apportion_cli.errors import PreconditionError

if TYPE_CHECKING:
    from apportion_cli.inputs import Inputs
    from apportion_compiler.diagnostics.diagnostic import Diagnostic
    from apportion_compiler.diagnostics.report import Finding, Report
    from apportion_compiler.fixes import TextEdit

Evaluate = Callable[[], "tuple[Inputs, Report]"]

# A fix can uncover another fault, for example if a parent's guarantee was hidden behind an unknown id.
_MAX_STEPS = 100


def fix_policy(console: Console, evaluate: Evaluate, *, unsafe: bool) -> None:
    """Apply all fixes, and print the changes to standard error.

    Args:
        console: Receives the output.
        evaluate: Evaluates the policy and returns its findings.
        unsafe: Whether to apply fixes that may differ from the author's intent.

    Raises:
        PreconditionError: If a file cannot be written.
    """
    inputs, report = evaluate()
    before: dict[str, str] = {}
    refused: dict[str, str] = {}
    one_by_one = False
    for _ in range(_MAX_STEPS):
        step = _next_step(report, refused, unsafe=unsafe)[: 1 if one_by_one else None]
        if not step:
            break
        former = _apply(inputs, step)
        try:
            inputs, after = evaluate()
        except BaseException:
            _restore(inputs, former)
            raise
        caused = _caused(report, after)
        if caused is None:
            report = after
            for name, text in former.items():
                before.setdefault(name, text)
            continue
        _restore(inputs, former)
        one_by_one = True
        if len(step) == 1:
            refused[_key(step[0])] = _refusal(inputs, step[0], caused)
    changed = {name: text for name, text in before.items() if inputs.sources.read(name) != text}
    if changed:
        console.err(_changes(inputs, changed, console.style(stderr=True)))
    for message in refused.values():
        console.err(f"{message}\n")
    left = 0 if unsafe else sum(f.edit is not None and f.is_unsafe and f.level != "waived" for f in report.findings)
    if left:
        fixes = f"{counted(left, 'more fix', 'more fixes')} {agreeing(left, 'changes', 'change')}"
        console.err(f"{fixes} quotas, names or machines: review each, then pass --unsafe-fixes\n")


def _next_step(report: Report, refused: dict[str, str], *, unsafe: bool) -> list[Finding]:
    """Return findings whose fixes do not overlap; of unsafe fixes, only the first in each file."""
    from apportion_compiler.fixes import compatible

    wanted = [
        finding
        for finding in report.findings
        if finding.edit is not None and finding.level != "waived" and (unsafe or not finding.is_unsafe)
    ]
    by_edit = {f.edit: f for f in reversed(wanted) if f.edit is not None and _key(f) not in refused}
    step = [by_edit[edit] for edit in compatible(f.edit for f in wanted if f.edit in by_edit)]
    # Several findings may have the same cause, each with its own fix: the first in a file may be enough.
    first: dict[str, Finding] = {}
    for finding in step:
        if finding.is_unsafe and finding.edit is not None:
            first.setdefault(finding.edit.file, finding)
    return [finding for finding in step if not finding.is_unsafe or finding in first.values()]


def _key(finding: Finding) -> str:
    edit = finding.edit
    assert edit is not None
    return f"{finding.diagnostic.fingerprint} {edit.file} {edit.text}"


def _apply(inputs: Inputs, step: Sequence[Finding]) -> dict[str, str]:
    """Write the edits of a step; return the former text of each changed file."""
    from apportion_compiler.fixes import apply_edits

    by_file: dict[str, list[TextEdit]] = {}
    for finding in step:
        assert finding.edit is not None
        by_file.setdefault(finding.edit.file, []).append(finding.edit)
    former: dict[str, str] = {}
    for name, edits in by_file.items():
        text = inputs.sources.read(name)
        assert text is not None
        former[name] = text
        _write(inputs.sources.path(name), apply_edits(text, edits))
    inputs.sources.forget()
    return former


def _restore(inputs: Inputs, former: dict[str, str]) -> None:
    for name, text in former.items():
        _write(inputs.sources.path(name), text)
    inputs.sources.forget()


def _caused(before: Report, after: Report) -> Diagnostic | None:
    """Return an error that a step caused.

    If the step let the checks reach a later phase, the findings of that phase are not caused by it.
    """
    if before.reached == "structure" and after.reached == "checks":
        return None
    known = {(f.diagnostic.code, f.diagnostic.where) for f in before.findings if f.level == "error"}
    errors = (f.diagnostic for f in after.findings if f.level == "error")
    return next((error for error in errors if (error.code, error.where) not in known), None)


def _refusal(inputs: Inputs, finding: Finding, caused: Diagnostic) -> str:
    d = finding.diagnostic
    at = f"{inputs.sources.near(d.at.file)}:{d.at.line}"
    return f"{at}: {d.code} was not fixed: the fix would cause {caused.code}: {caused.message}"


def _write(path: Path, text: str) -> None:
    """Replace a file atomically; a link remains a link."""
    target = Path(os.path.realpath(path))
    try:
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode("utf-8"))
        Path(temporary).chmod(stat.S_IMODE(target.stat().st_mode))
        Path(temporary).replace(target)
    except OSError as refused:
        raise PreconditionError(f"{path} cannot be written: {refused.strerror}") from refused


def _changes(inputs: Inputs, before: dict[str, str], style: Style) -> str:
    from apportion_compiler.fixes import unified_diff

    sources = inputs.sources
    diffs = [
        unified_diff(near := sources.near(name), f"{near} (fixed)", text, sources.read(name) or "")
        for name, text in sorted(before.items())
    ]
    lines = [_colored(line, style) for diff in diffs for line in diff.splitlines()]
    n_files = counted(len(before), "file")
    return "\n".join((*lines, f"fixed {n_files}", ""))


def _colored(line: str, style: Style) -> str:
    if line.startswith(("---", "+++")):
        return style("heading", line)
    return style("added", line) if line.startswith("+") else style("removed", line) if line.startswith("-") else line
