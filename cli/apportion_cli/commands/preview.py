"""`apportion preview`: preview the changes of `up`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from apportion_cli.console import current
from apportion_cli.errors import PreconditionError
from apportion_cli.options import Output, allow_missing_layers_option, as_of_option, json_option, output_option
from apportion_cli.verbosity import console_options

if TYPE_CHECKING:
    from datetime import date

    from apportion_cli.stacks import Plan


def stack_options(command: click.decorators.FC) -> click.decorators.FC:
    """Add ENV and `--dir`, which select a stack."""
    for decorate in (
        click.option(
            "--dir",
            "folder",
            type=click.Path(path_type=Path, file_okay=False, exists=True),
            default=Path(),
            help="Directory that contains Pulumi.yaml, or a directory below it.",
        ),
        click.argument("environment", metavar="ENV"),
    ):
        command = decorate(command)
    return command


def snapshot_options(command: click.decorators.FC) -> click.decorators.FC:
    """Add `--snapshot` and `--delete-used`, which protect queues in use from deletion."""
    for decorate in (
        click.option(
            "--delete-used", is_flag=True, help="Delete queues even if --snapshot shows that they are in use."
        ),
        click.option(
            "--snapshot",
            "snapshots",
            multiple=True,
            metavar="FILE",
            help="Objects exported from the clusters (kubectl get pods,… -A -o json), used to avoid deleting queues that are in use.",
        ),
    ):
        command = decorate(command)
    return command


def refuse_deletion_of_used(plan: Plan, snapshots: tuple[str, ...], *, delete_used: bool) -> None:
    """Raise `PreconditionError` if the plan deletes queues in use, unless that is permitted."""
    from apportion_cli.manifest_files import read_objects

    used = () if delete_used or not snapshots else plan.in_use(read_objects(snapshots))
    if used:
        raise PreconditionError(
            f"{'; '.join(used)}; nothing was changed",
            hint="wait for the work to finish, move it, or pass --delete-used",
        )


@click.command()
@stack_options
@click.option(
    "--policy",
    type=click.Path(path_type=Path, exists=True),
    help="Preview this policy instead of the stack's; the program and configuration still come from --dir.",
)
@click.option(
    "--plan-only", is_flag=True, help="Show the plan without running Pulumi's preview or contacting a cluster."
)
@snapshot_options
@output_option("text", "json", "md")
@json_option
@as_of_option
@allow_missing_layers_option
@console_options
def preview(
    environment: str,
    folder: Path,
    *,
    policy: Path | None,
    plan_only: bool,
    snapshots: tuple[str, ...],
    delete_used: bool,
    outputs: tuple[Output, ...],
    as_of: date,
) -> None:
    """Preview the changes that `up` would make to the clusters of ENV, by queue, and the number of updates.

    ENV is a Pulumi stack, whose configuration specifies the policy and its environment. Requires `pulumi` on PATH.

    \b
    apportion preview prod
    apportion preview prod -o md=comment.md
    """  # noqa: D301 - click takes the character, and writes the lines below it as they are
    from apportion_cli.delivery import deliver
    from apportion_cli.stack_report import plan_json, plan_markdown, plan_text
    from apportion_cli.stacks import DeployedStack

    console = current()
    stack = DeployedStack(environment, folder, policy)
    plan = stack.plan(as_of)
    written = {"json": plan_json, "md": plan_markdown, "text": plan_text}
    for output in outputs or (Output("text"),):
        deliver(console, output, written[output.format](plan))
    refuse_deletion_of_used(plan, snapshots, delete_used=delete_used)
    if not plan_only and plan.n_updates:
        stack.preview(console.err)
