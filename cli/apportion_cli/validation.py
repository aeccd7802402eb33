"""The implementation of `validate`: check, and write the requested reports."""

from __future__ import annotations

import os
from datetime import date
from typing import TYPE_CHECKING

import click

from apportion_cli.console import Console, escaped
from apportion_cli.delivery import deliver
from apportion_cli.errors import PreconditionError
from apportion_cli.exit_codes import ExitCode
from apportion_cli.findings import exit_code, print_inputs, report_on, text_of
from apportion_cli.inputs import Inputs, read_policy
from apportion_cli.options import Output

if TYPE_CHECKING:
    from apportion_compiler.diagnostics.diagnostic import Rule
    from apportion_compiler.diagnostics.report import Report
    from apportion_policy.evaluation.limits import Limits

_AUTHORING, _MANIFESTS, _SNAPSHOTS = "AP0", "AP7", "AP8"


def validated(policy: str, limits: Limits, as_of: date, environments: tuple[str, ...]) -> tuple[Inputs, Report]:
    """Return the input, and the findings in the given environments; in all by default.

    Raises:
        click.UsageError: If the policy has no such environment.
    """
    inputs = read_policy(policy, limits)
    if inputs.policy is None:
        return inputs, report_on(inputs, inputs.diagnostics, as_of)
    from apportion_compiler.compile import check_policy, in_environments

    known = [environment.name for environment in inputs.policy.environments]
    for name in environments:
        if name not in known:
            raise click.UsageError(f"the policy has no environment `{name}`; it has {', '.join(known) or 'none'}")
    checked = check_policy(inputs.policy, as_of)
    found = in_environments(checked, environments)
    return inputs, report_on(inputs, found, as_of, reached="structure" if checked.graph is None else "checks")


def publish(console: Console, inputs: Inputs, report: Report, outputs: tuple[Output, ...], fail_on: str) -> ExitCode:
    """Write the report in each format and return the exit code.

    Text goes to standard output unless another format does. Raises `PreconditionError` if a file cannot be written.
    """
    for output in outputs:
        if output.format != "text" or output.file is not None:
            deliver(console, output, _rendered(report, inputs, output.format, fail_on))
    if all(output.file is not None for output in outputs if output.format != "text"):
        console.out(text_of(report, inputs, console, waived=console.verbose))
    elif any(output.format == "text" and output.file is None for output in outputs):
        console.err(text_of(report, inputs, console, stderr=True, waived=console.verbose))
    elif not console.quiet:
        from apportion_compiler.diagnostics.text import summary

        console.err(summary(report))
    print_inputs(console, inputs)
    return exit_code(report, inputs, fail_on)


def _rendered(report: Report, inputs: Inputs, form: str, fail_on: str) -> str:
    sources = inputs.sources
    match form:
        case "json":
            from apportion_compiler.diagnostics.json_report import render_json

            return render_json(report, sources.read)
        case "sarif":
            from apportion_compiler.diagnostics.sarif import render_sarif
            from apportion_compiler.rule_pages import page_text

            return render_sarif(report, sources.read, sources.in_repository, page_text)
        case "junit":
            from apportion_compiler.diagnostics.junit import render_junit

            return render_junit(report, sources.in_repository, _rules_run(report), fail_on)
        case "github":
            from apportion_compiler.diagnostics.github import render_github

            summary_file = os.environ.get("GITHUB_STEP_SUMMARY")
            annotations, rest = render_github(report, sources.read, sources.in_repository, limited=bool(summary_file))
            if summary_file and rest:
                _append(summary_file, rest)
            return annotations
        case _:
            return text_of(report, inputs, Console(color=False))


def _rules_run(report: Report) -> tuple[Rule, ...]:
    """Return the rules that were evaluated: after an error, only those of earlier phases."""
    from apportion_compiler.checks import RULES

    families = {"evaluation": (), "structure": (_AUTHORING,), "manifests": (_MANIFESTS,)}.get(report.reached)
    if families is None:
        others = (_MANIFESTS, _SNAPSHOTS)
        return tuple(rule for rule in RULES.values() if not rule.code.startswith(others))
    return tuple(rule for rule in RULES.values() if rule.code.startswith(families))


def _append(file: str, text: str) -> None:
    try:
        with open(file, "a", encoding="utf-8") as summary:  # noqa: PTH123
            summary.write(escaped(text))
    except OSError as refused:
        raise PreconditionError(f"{file} cannot be written: {refused.strerror}") from refused
