"""`apportion diff`: compare two policies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from apportion_cli.console import current
from apportion_cli.exit_codes import ExitCode
from apportion_cli.options import (
    Output,
    as_of_option,
    json_option,
    limit_options,
    limits,
    optional_day,
    output_option,
)
from apportion_cli.settings import variable
from apportion_cli.verbosity import console_options

if TYPE_CHECKING:
    from datetime import date

_WIDTH = 100


@click.command()
@click.argument("base", metavar="BASE")
@click.argument("head", required=False, metavar="[HEAD]")
@click.option(
    "-p",
    "--policy",
    default=".",
    envvar=variable("policy"),
    type=click.Path(),
    help="Path to the policy within a revision, and within the working tree if HEAD is omitted.",
)
@output_option("text", "json", "markdown")
@json_option
@as_of_option
@click.option(
    "--base-as-of",
    callback=optional_day,
    metavar="DATE",
    help="Evaluate BASE as of this date (default: same as --as-of).",
)
@click.option(
    "--cluster",
    metavar="ENV/NAME",
    help="Cluster to compare with a rendered tree or an export; required if there is more than one.",
)
@limit_options
@console_options
def diff(
    base: str,
    head: str | None,
    *,
    policy: str,
    outputs: tuple[Output, ...],
    as_of: date,
    base_as_of: date | None,
    cluster: str | None,
    time_limit: float | None,
    memory_limit: int | None,
) -> int:
    """Compare two policies; exit 10 if they differ.

    BASE and HEAD are git revisions or paths: a policy, a rendered tree, or an export of a cluster's objects. Without
    HEAD, BASE is compared with the policy in the working tree. `BASE..HEAD` is accepted. Both are evaluated in a sandbox
    and need no cluster, credentials or Pulumi. Formatting, comments and the order of declarations do not matter.

    \b
    apportion diff main
    apportion diff v1.4.0 main -p policy.py -o json
    apportion diff rendered --cluster prod/main
    """  # noqa: D301 - click takes the character, and writes the lines below it as they are
    from apportion_cli.delivery import deliver
    from apportion_cli.diff_objects import compare_objects, holds_objects
    from apportion_cli.diff_sides import InvalidSideError, read_sides
    from apportion_cli.findings import show_findings

    if head is None and ".." in base and not Path(base).exists():
        base, _, head = base.partition("..")
    console = current()
    within = limits(time_limit, memory_limit)
    of_objects = holds_objects(base) or holds_objects(head)
    if cluster is not None and not of_objects:
        raise click.UsageError(
            "--cluster requires a rendered tree or an export: two policies are compared on every cluster"
        )
    if base_as_of is not None and of_objects:
        raise click.UsageError(
            "--base-as-of requires two policies, because rendered objects were compiled for a fixed date"
        )
    try:
        if of_objects:
            report = compare_objects(base, head or None, policy, cluster=cluster, within=within, as_of=as_of)
        else:
            from apportion_review.policy_side import diff_report

            report = diff_report(
                *read_sides(base, head or None, policy, within=within, as_of=as_of, base_as_of=base_as_of)
            )
    except InvalidSideError as invalid:
        return show_findings(console, invalid.inputs, invalid.diagnostics, "error")
    for output in outputs or (Output("text"),):
        if output.format == "json":
            from apportion_review.diff_document import diff_json

            text = diff_json(report)
        elif output.format == "markdown":
            from apportion_review.diff_markdown import diff_markdown

            text = diff_markdown(report)
        else:
            from apportion_review.diff_text import diff_text

            text = diff_text(report, console.style(), console.width() or _WIDTH)
        deliver(console, output, text)
    return ExitCode.CHANGES if report.differs else ExitCode.OK
