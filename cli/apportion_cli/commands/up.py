"""`apportion up`: apply a policy to clusters."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from apportion_cli.commands.preview import refuse_deletion_of_used, snapshot_options, stack_options
from apportion_cli.console import current
from apportion_cli.options import Output, allow_missing_layers_option, as_of_option, json_option, output_option
from apportion_cli.progress import progress
from apportion_cli.verbosity import console_options

if TYPE_CHECKING:
    from datetime import date

_CLEAR = "Clear the lock? Make sure that no update of this stack is running."


@click.command()
@stack_options
@click.option("-y", "--yes", is_flag=True, help="Apply without asking for confirmation.")
@click.option("--unlock", is_flag=True, help="Clear the lock left by an interrupted update, after confirmation.")
@click.option("--refresh", is_flag=True, help="Refresh the state from the clusters first, and revert manual changes.")
@snapshot_options
@output_option("text", "json")
@json_option
@as_of_option
@allow_missing_layers_option
@console_options
def up(
    environment: str,
    folder: Path,
    *,
    yes: bool,
    unlock: bool,
    refresh: bool,
    snapshots: tuple[str, ...],
    delete_used: bool,
    outputs: tuple[Output, ...],
    as_of: date,
) -> None:
    """Apply the policy to the clusters of ENV in a sequence of valid updates.

    ENV is a Pulumi stack, whose configuration specifies the policy and its environment. If an update was
    interrupted, run the command again: it offers to clear the lock and completes the update. Requires `pulumi` on PATH.

    \b
    apportion up prod
    apportion up prod --snapshot pods.json --yes
    """  # noqa: D301 - click takes the character, and writes the lines below it as they are
    from apportion_cli.delivery import deliver
    from apportion_cli.stack_report import plan_text, up_json
    from apportion_cli.stacks import DeployedStack, LockedError

    console = current()
    stack = DeployedStack(environment, folder)
    if unlock and (yes or _agrees(_CLEAR)):
        stack.unlock()
    plan = stack.plan(as_of)
    console.err(plan_text(plan))
    refuse_deletion_of_used(plan, snapshots, delete_used=delete_used)
    if not yes and not _agrees("Apply these changes?"):
        raise click.Abort
    # Pulumi's output goes to standard error, so that a pipe gets only the result.
    with progress(console, plan.n_objects) as (say, done):
        try:
            n_updates = stack.up(say, done, refresh=refresh)
        except LockedError as locked:
            if not sys.stdin.isatty():
                raise
            console.err(f"{locked}\n")
            if not _agrees(_CLEAR):
                raise
            stack.unlock()
            n_updates = stack.up(say, done, refresh=refresh)
    for output in outputs or (Output("text"),):
        text = up_json(plan, n_updates) if output.format == "json" else f"{environment} matches the policy\n"
        deliver(console, output, text)


def _agrees(question: str) -> bool:
    if not sys.stdin.isatty():
        raise click.UsageError(f"{question} Standard input is not a terminal; pass --yes to confirm")
    return click.confirm(question, err=True)
