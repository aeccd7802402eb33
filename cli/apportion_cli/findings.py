"""Print findings, and map them to an exit code."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from apportion_cli.commands.version import version_text
from apportion_cli.console import Console
from apportion_cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from apportion_cli.inputs import Inputs
    from apportion_compiler.diagnostics.diagnostic import Diagnostic
    from apportion_compiler.diagnostics.report import Phase, Report


def report_on(inputs: Inputs, diagnostics: Iterable[Diagnostic], as_of: date, *, reached: Phase = "checks") -> Report:
    """Return the report of findings about a policy; `reached` is the last phase that ran once it was evaluated."""
    from apportion_compiler.diagnostics.report import Finding, Report

    found = tuple(diagnostics)
    policy = inputs.policy
    findings = tuple(map(Finding, found))
    if policy is not None and any(d.fix is not None for d in found):
        from apportion_compiler.diagnostics.report import with_edits
        from apportion_compiler.fixes import shared_places

        findings = with_edits(found, inputs.sources.read, shared_places(policy))
    return Report(
        findings,
        inputs.entry,
        as_of,
        version_text(),
        reached if policy is not None else "evaluation",
        None if policy is None else _n_queues(inputs),
        None if policy is None else len(policy.environments),
    )


def text_of(report: Report, inputs: Inputs, console: Console, *, stderr: bool = False, waived: bool = True) -> str:
    """Return the findings as text for a terminal or a log, with the summary unless quiet."""
    from apportion_compiler.diagnostics.text import render_text, summary

    shown = report if waived else replace(report, findings=tuple(f for f in report.findings if f.level != "waived"))
    text = render_text(
        shown,
        shown=inputs.sources.near,
        read=inputs.sources.read,
        style=console.style(stderr=stderr),
        width=console.width(stderr=stderr),
        brief=console.quiet,
    )
    if console.quiet:
        return text
    line = summary(report)
    width = console.width(stderr=stderr)
    return text + ("\n" if text else "") + (line if width is None else textwrap.fill(line, width)) + "\n"


def exit_code(report: Report, inputs: Inputs, fail_on: str) -> ExitCode:
    """Return the exit code of a report."""
    if inputs.is_unreadable:
        return ExitCode.CANNOT
    return ExitCode.FINDINGS if report.fails(fail_on) else ExitCode.OK


def show_findings(console: Console, inputs: Inputs, diagnostics: Iterable[Diagnostic], fail_on: str) -> ExitCode:
    """Print findings to standard error, for commands with another result. Return the exit code.

    Waived findings are counted, and shown only if verbose.
    """
    # Text output does not depend on the date.
    report = report_on(inputs, diagnostics, date.min)
    if report.findings:
        console.err(text_of(report, inputs, console, stderr=True, waived=console.verbose))
    print_inputs(console, inputs)
    return exit_code(report, inputs, fail_on)


def print_inputs(console: Console, inputs: Inputs) -> None:
    """Print the policy's output and, if verbose, the files read."""
    if inputs.printed and (console.verbose or inputs.policy is None):
        console.err("the policy printed:\n" + "".join(f"  {line}\n" for line in inputs.printed.splitlines()))
    for file in inputs.files:
        console.note(f"read {inputs.sources.near(file)}")


def _n_queues(inputs: Inputs) -> int:
    assert inputs.policy is not None
    stack = list(inputs.policy.queues)
    count = 0
    while stack:
        queue = stack.pop()
        count += 1
        stack.extend(queue.children)
    return count
