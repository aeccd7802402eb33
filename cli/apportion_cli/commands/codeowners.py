"""`apportion codeowners`: a CODEOWNERS file from the owners of a policy."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import click

from apportion_cli.console import current
from apportion_cli.delivery import deliver
from apportion_cli.errors import PreconditionError
from apportion_cli.exit_codes import ExitCode
from apportion_cli.options import Output, limit_options, limits, policy_argument, today
from apportion_cli.verbosity import console_options


@click.command()
@policy_argument
@click.option(
    "--write",
    type=click.Path(),
    metavar="FILE",
    help="Add or replace the generated block in this file, leaving other lines unchanged.",
)
@click.option(
    "--check",
    type=click.Path(),
    metavar="FILE",
    help="Exit with 10 if the block in this file is missing or out of date.",
)
@limit_options
@console_options
def codeowners(
    policy: str, *, write: str | None, check: str | None, time_limit: float | None, memory_limit: int | None
) -> int:
    """Write a CODEOWNERS file: each file of POLICY belongs to the owners of the queues that it declares.

    Everything else in a policy, such as its node pools and rules, belongs to the organisation's owner. Owners that are
    not handles, such as `group:default/vision`, are written as comments.

    \b
    apportion codeowners
    apportion codeowners --write .github/CODEOWNERS
    apportion codeowners --check .github/CODEOWNERS
    """  # noqa: D301 - click takes the character, and writes the lines below it as they are
    from apportion_cli.findings import show_findings
    from apportion_cli.inputs import read_policy
    from apportion_compiler.compile import check_policy
    from apportion_review.codeowners import codeowners as block_of
    from apportion_review.codeowners import with_block
    from apportion_review.policy_facts import facts_of

    if write is not None and check is not None:
        raise click.UsageError("--write and --check are mutually exclusive")
    console = current()
    inputs = read_policy(policy, limits(time_limit, memory_limit))
    checked = None if inputs.policy is None else check_policy(inputs.policy, date.fromisoformat(today()))
    if checked is None or checked.graph is None:
        found = inputs.diagnostics if checked is None else checked.diagnostics
        return show_findings(console, inputs, found, "error")
    block = block_of(facts_of(checked.graph), inputs.sources.in_repository)
    file = write or check
    if file is None:
        console.out(block)
        return ExitCode.OK
    text = _text(file)
    try:
        wanted = with_block(text, block)
    except ValueError as wrong:
        raise PreconditionError(f"{file}: {wrong}") from None
    if wanted == text:
        console.report(f"{file} is up to date\n")
        return ExitCode.OK
    if check is not None:
        console.report(f"{file} is not up to date: run apportion codeowners --write {file}\n")
        return ExitCode.CHANGES
    deliver(console, Output("codeowners", file), wanted)
    console.report(f"wrote {file}\n")
    return ExitCode.OK


def _text(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as refused:
        raise PreconditionError(f"{file} cannot be read: {refused}") from None
