"""`apportion preview`: what `up` would do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from apportion_cli.console import current
from apportion_cli.options import Output, as_of_option, output_option
from apportion_cli.verbosity import console_options

if TYPE_CHECKING:
    from datetime import date


def stack_options(command: click.decorators.FC) -> click.decorators.FC:
    """Add ENV and `--dir`, the way to a stack."""
    for decorate in (
        click.option(
            "--dir",
            "folder",
            type=click.Path(path_type=Path, file_okay=False, exists=True),
            default=Path(),
            help="Folder of Pulumi.yaml, or one below it.",
        ),
        click.argument("environment", metavar="ENV"),
    ):
        command = decorate(command)
    return command


@click.command()
@stack_options
@click.option("--plan-only", is_flag=True, help="Ask neither the engine's preview nor a cluster.")
@output_option("text", "json")
@as_of_option
@console_options
def preview(environment: str, folder: Path, *, plan_only: bool, outputs: tuple[Output, ...], as_of: date) -> None:
    """Say what `up` would do to the clusters of ENV: how many updates, and what changes in each target.

    ENV is the stack, whose configuration names the policy and its environment. Needs `pulumi` on PATH.
    """
    from apportion_cli.delivery import deliver
    from apportion_cli.stack_report import plan_json, plan_text
    from apportion_cli.stacks import DeployedStack

    console = current()
    stack = DeployedStack(environment, folder)
    plan = stack.plan(as_of)
    for output in outputs or (Output("text"),):
        deliver(console, output, plan_json(plan) if output.format == "json" else plan_text(plan))
    if not plan_only and plan.n_updates:
        stack.preview(console.err)
