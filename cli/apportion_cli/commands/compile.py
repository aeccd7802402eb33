"""`apportion compile`: write the rendered trees, or check whether they are up to date."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from apportion_cli.console import current
from apportion_cli.errors import PreconditionError
from apportion_cli.exit_codes import ExitCode
from apportion_cli.options import (
    Output,
    environment_option,
    fail_on_option,
    limits,
    output_option,
    reading_options,
)
from apportion_policy.engine import Engine

if TYPE_CHECKING:
    from datetime import date

    from apportion_cli.compile_report import TargetReport

TARGETS = (*(engine.value for engine in Engine), "node-pools")
"""Names of all targets, because help must not load the backends; a test compares them."""


@click.command(name="compile")
@environment_option
@click.option(
    "-t",
    "--target",
    "targets",
    multiple=True,
    shell_complete=lambda _, __, incomplete: [name for name in TARGETS if name.startswith(incomplete)],
    metavar="NAME",
    help=f"Limit to this target: {', '.join(TARGETS)}; may be repeated.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("rendered"),
    show_default=True,
    help="Directory to write the rendered manifests to.",
)
@click.option("--check", is_flag=True, help="Write nothing; exit with 10 if the rendered manifests are out of date.")
@click.option(
    "--base",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIRECTORY",
    help="Directory of manifests rendered from the base revision; prune.json lists only objects found in it.",
)
@click.option(
    "--strict-fidelity", is_flag=True, help="Fail, and write nothing, if a target only approximates the policy."
)
@output_option("text", "json")
@fail_on_option
@reading_options
def compile_(
    policy: str,
    env: tuple[str, ...],
    targets: tuple[str, ...],
    out: Path,
    *,
    check: bool,
    base: Path | None,
    strict_fidelity: bool,
    outputs: tuple[Output, ...],
    fail_on: str,
    as_of: date,
    time_limit: float | None,
    memory_limit: int | None,
) -> int:
    """Compile POLICY to rendered/<environment>/<cluster>/<target>/ for each of its clusters.

    Each tree contains the objects in apply order, a kustomization, an inventory and a prune list. Output is
    deterministic: the same policy and date yield the same bytes.

    \b
    apportion compile policy.py --env prod
    apportion compile --check --base ../main/rendered
    """  # noqa: D301 - click takes the character, and writes the lines below it as they are
    from apportion_cli.delivery import deliver
    from apportion_cli.findings import show_findings
    from apportion_cli.inputs import read_policy

    inputs = read_policy(policy, limits(time_limit, memory_limit))
    from apportion_compiler.compile import check_policy, compile_on_demand
    from apportion_compiler.diagnostics.diagnostic import has_errors
    from apportion_compiler.errors import UnknownTargetError
    from apportion_compiler.targets import targets_of

    console = current()
    if inputs.policy is None:
        return show_findings(console, inputs, inputs.diagnostics, fail_on)
    try:
        wanted = targets_of(inputs.policy, env, targets)
    except UnknownTargetError as unknown:
        raise click.UsageError(str(unknown)) from unknown
    compilation = compile_on_demand(check_policy(inputs.policy, as_of), wanted)
    exit_code = show_findings(console, inputs, compilation.diagnostics, fail_on)
    if has_errors(compilation.diagnostics):
        return ExitCode.FINDINGS if check else exit_code
    if not compilation.outputs:
        if check:
            raise PreconditionError(
                "no cluster was compiled, so nothing was compared", hint="add an environment to the policy"
            )
        return exit_code
    from apportion_cli.compile_report import render, report_json, report_text

    is_whole = not env and not targets
    report = render(compilation, out, write=not check and not strict_fidelity, is_whole=is_whole, base=base)
    approximated = _approximated(report.targets) if strict_fidelity else ()
    if strict_fidelity and not check and not approximated:
        report = render(compilation, out, write=True, is_whole=is_whole, base=base)
    for output in outputs or (Output("text"),):
        shown = (
            report_json(report)
            if output.format == "json"
            else report_text(
                report, check=check or bool(approximated), width=console.width() or 100, brief=console.quiet
            )
        )
        deliver(console, output, shown)
    if approximated:
        console.err(
            f"apportion: --strict-fidelity: nothing was written; targets that only approximate the policy: {', '.join(approximated)}"
        )
        return ExitCode.FINDINGS
    if exit_code:
        return exit_code
    return ExitCode.CHANGES if check and report.differs else ExitCode.OK


def _approximated(reports: tuple[TargetReport, ...]) -> tuple[str, ...]:
    """Return the features that some target only approximates."""
    lines = (line for report in reports for line in report.fidelity if line.verdict == "approximated")
    return tuple(dict.fromkeys(line.feature.value for line in lines))
