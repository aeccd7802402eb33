"""`apportion validate`: every finding about a policy, in the forms that people and CI systems read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from apportion_cli.console import current
from apportion_cli.options import (
    Output,
    environment_option,
    fail_on_option,
    limits,
    output_option,
    reading_options,
)
from apportion_cli.settings import variable

if TYPE_CHECKING:
    from datetime import date

FORMATS = ("text", "json", "sarif", "junit", "github")
ENGINES = ("kai", "kueue", "volcano", "koordinator", "ack", "yunikorn", "native")


@click.command()
@environment_option
@output_option(*FORMATS, variable=variable("output"))
@fail_on_option
@click.option(
    "--manifests",
    multiple=True,
    type=click.Path(),
    metavar="PATH",
    help="Judge raw objects instead: a file, a folder, or - for standard input; may be repeated.",
)
@click.option(
    "--engine",
    "engines",
    multiple=True,
    type=click.Choice(ENGINES),
    help="Engine whose rules hold for --manifests (default: those that the objects are for).",
)
@click.option(
    "--fix", is_flag=True, help="Apply fixes that change nothing of what anybody is granted, and show the changes."
)
@click.option(
    "--unsafe-fixes",
    is_flag=True,
    help="Apply, too, fixes that change quotas, names or machines; nothing that would cause an error.",
)
@reading_options
@click.pass_context
def validate(
    ctx: click.Context,
    policy: str,
    env: tuple[str, ...],
    *,
    outputs: tuple[Output, ...],
    fail_on: str,
    manifests: tuple[str, ...],
    engines: tuple[str, ...],
    fix: bool,
    unsafe_fixes: bool,
    as_of: date,
    time_limit: float | None,
    memory_limit: int | None,
) -> int:
    """Check POLICY: its structure, its quotas, its pools, and what each engine makes of it.

    POLICY is a Python file, `file.py:name`, a YAML or JSON document, or a folder that holds policy.py or
    policy.yaml (default: the current folder). It runs in a confined process and reaches no network.
    Waived findings are counted, and shown with --verbose.

    With --manifests, check Kubernetes objects that anybody wrote: what their engine would refuse, accept and ignore,
    or leave pending for ever.
    """
    if manifests or engines:
        return _manifests(ctx, manifests, engines, outputs, as_of)
    from apportion_cli.validation import publish, validated

    console = current()
    chosen = limits(time_limit, memory_limit)
    if fix or unsafe_fixes:
        from apportion_cli.fixing import fix_policy

        fix_policy(console, lambda: validated(policy, chosen, as_of, ()), unsafe=unsafe_fixes)
    inputs, report = validated(policy, chosen, as_of, env)
    return publish(console, inputs, report, outputs, fail_on)


def _manifests(
    ctx: click.Context, manifests: tuple[str, ...], engines: tuple[str, ...], outputs: tuple[Output, ...], as_of: date
) -> int:
    if not manifests:
        raise click.UsageError("--engine needs --manifests", ctx)
    for name, option in (
        ("policy", "POLICY"),
        ("fix", "--fix"),
        ("unsafe_fixes", "--unsafe-fixes"),
        ("env", "--env"),
    ):
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{option} and --manifests exclude each other", ctx)
    from apportion_cli.manifest_validation import validated_manifests
    from apportion_cli.validation import publish

    inputs, report = validated_manifests(manifests, engines, as_of)
    return publish(current(), inputs, report, outputs, str(ctx.params["fail_on"]))
