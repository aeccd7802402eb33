"""`apportion validate`: every finding about a policy, in the forms that people and CI systems read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

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


@click.command()
@environment_option
@output_option(*FORMATS, variable=variable("output"))
@fail_on_option
@click.option("--fix", is_flag=True, help="Apply the fixes that change one value, and show what they changed.")
@reading_options
def validate(
    policy: str,
    env: tuple[str, ...],
    *,
    outputs: tuple[Output, ...],
    fail_on: str,
    fix: bool,
    as_of: date,
    time_limit: float | None,
    memory_limit: int | None,
) -> int:
    """Check POLICY: its structure, its quotas, its pools, and what each engine makes of it.

    POLICY is a Python file, `file.py:name`, a YAML or JSON document, or a folder that holds policy.py or
    policy.yaml (default: the current folder). It runs in a confined process and reaches no network.
    """
    from apportion_cli.validation import publish, validated

    console = current()
    chosen = limits(time_limit, memory_limit)
    if fix:
        from apportion_cli.fixing import fix_policy

        fix_policy(console, policy, chosen, as_of)
    inputs, report = validated(policy, chosen, as_of, env)
    return publish(console, inputs, report, outputs, fail_on)
