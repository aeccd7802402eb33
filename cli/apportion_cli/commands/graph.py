"""`apportion graph`: the organisation's tree with its quotas."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from apportion_cli.console import current
from apportion_cli.exit_codes import ExitCode
from apportion_cli.options import Output, fail_on_option, limits, output_option, reading_options
from apportion_cli.scopes import place_options
from apportion_compiler.alternatives import alternatives

if TYPE_CHECKING:
    from datetime import date

    from apportion_compiler.orgtree.report import TreeReport

_DRAWINGS = ("text", "mermaid", "svg", "json")


@click.command()
@place_options
@click.option(
    "-r",
    "--resource",
    help="Resource to show: gpu, gpu/<model>, cpu or memory (default: gpu, if the policy declares it).",
)
@click.option("--depth", type=click.IntRange(min=1), metavar="N", help="Number of levels to show.")
@click.option("--plain", is_flag=True, help="Use ASCII characters only.")
@output_option(*_DRAWINGS)
@fail_on_option
@reading_options
def graph(
    policy: str,
    env: str | None,
    cluster: str | None,
    resource: str | None,
    depth: int | None,
    *,
    plain: bool,
    outputs: tuple[Output, ...],
    fail_on: str,
    as_of: date,
    time_limit: float | None,
    memory_limit: int | None,
) -> int:
    """Draw the queue tree of POLICY with guaranteed quotas and limits.

    Shows the policy as written, or with --env the values on a cluster of that environment.

    \b
    apportion graph policy.py --env prod
    apportion graph --resource gpu/h100 -o svg=queues.svg
    """  # noqa: D301 - click takes the character, and writes the lines below it as they are
    from apportion_cli.delivery import deliver
    from apportion_cli.findings import show_findings
    from apportion_cli.inputs import read_policy

    inputs = read_policy(policy, limits(time_limit, memory_limit))
    from apportion_cli.scopes import scope_of
    from apportion_compiler.compile import check_policy
    from apportion_compiler.orgtree.report import resources_of, tree_report

    console = current()
    if inputs.policy is None:
        return show_findings(console, inputs, inputs.diagnostics, fail_on)
    checked = check_policy(inputs.policy, as_of)
    if checked.graph is None:
        return show_findings(console, inputs, checked.diagnostics, fail_on)
    scope = scope_of(checked.graph, env, cluster)
    known = resources_of(scope)
    if not known or (resource is not None and resource not in known):
        raise click.UsageError(f"no queue declares {resource or 'any resource'}; {alternatives(known)}")
    report = tree_report(checked.graph, scope, resource or known[0], depth)
    for output in outputs or (Output("text"),):
        deliver(console, output, _drawn(report, output.format, width=console.width() or 80, plain=plain))
    return ExitCode.OK


def _drawn(report: TreeReport, form: str, *, width: int, plain: bool) -> str:
    match form:
        case "mermaid":
            from apportion_compiler.orgtree.mermaid import mermaid_tree

            return mermaid_tree(report)
        case "svg":
            from apportion_compiler.orgtree.svg import svg_tree

            return svg_tree(report)
        case "json":
            from apportion_compiler.orgtree.json_document import json_tree

            return json_tree(report)
        case _:
            from apportion_compiler.orgtree.text import draw_tree

            return draw_tree(report, width=width, ascii_only=plain)
