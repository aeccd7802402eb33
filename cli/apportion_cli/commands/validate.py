"""`apportion validate`: check a policy or manifests, with reports for terminals and CI."""

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
from apportion_policy.engine import Engine

if TYPE_CHECKING:
    from datetime import date

    from apportion_policy.evaluation.limits import Limits

FORMATS = ("text", "json", "sarif", "junit", "github")
ENGINES = tuple(engine.value for engine in Engine)


@click.command()
@environment_option
@output_option(*FORMATS, variable=variable("output"))
@fail_on_option
@click.option(
    "--manifests",
    multiple=True,
    type=click.Path(),
    metavar="PATH",
    help="Check Kubernetes manifests instead: a file, a directory, or - for standard input; may be repeated.",
)
@click.option(
    "--engine",
    "engines",
    multiple=True,
    type=click.Choice(ENGINES),
    help="Engine whose rules apply to --manifests (default: detected from the objects).",
)
@click.option(
    "-p",
    "--policy",
    "declared",
    type=click.Path(),
    metavar="POLICY",
    help="Check the workloads in --manifests against a cluster in this policy; requires --env.",
)
@click.option(
    "--cluster", metavar="NAME", help="Cluster to check against; required if the environment has more than one."
)
@click.option(
    "--fix", is_flag=True, help="Apply safe fixes, leaving quotas, names and machines unchanged, and show the diff."
)
@click.option(
    "--unsafe-fixes",
    is_flag=True,
    help="Also apply fixes that change quotas, names or machines.",
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
    declared: str | None,
    cluster: str | None,
    fix: bool,
    unsafe_fixes: bool,
    as_of: date,
    time_limit: float | None,
    memory_limit: int | None,
) -> int:
    """Check POLICY: structure, quotas, node pools, and features that an engine does not support.

    POLICY is a Python file, `file.py:name`, a YAML or JSON document, or a directory with policy.py or policy.yaml
    (default: the current directory). It is evaluated in a sandbox without network access. Waived findings are counted,
    and listed with --verbose.

    With --manifests, check Kubernetes manifests: what their engine would reject, ignore or leave pending. With
    -p POLICY, or next to a rendered tree, workloads are checked against that cluster.

    \b
    apportion validate policy.py --env prod
    apportion validate --manifests job.yaml -p policy.py --env prod
    """  # noqa: D301 - click takes the character, and writes the lines below it as they are
    if manifests or engines or declared or cluster:
        return _manifests(ctx, manifests, engines, outputs, limits(time_limit, memory_limit))
    from apportion_cli.validation import publish, validated

    console = current()
    chosen = limits(time_limit, memory_limit)
    if fix or unsafe_fixes:
        from apportion_cli.fixes import fix_policy

        fix_policy(console, lambda: validated(policy, chosen, as_of, ()), unsafe=unsafe_fixes)
    inputs, report = validated(policy, chosen, as_of, env)
    return publish(console, inputs, report, outputs, fail_on)


def _manifests(
    ctx: click.Context,
    manifests: tuple[str, ...],
    engines: tuple[str, ...],
    outputs: tuple[Output, ...],
    within: Limits,
) -> int:
    given = {name for name in ctx.params if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    policy: str | None = ctx.params["declared"]
    if not manifests:
        option = "--engine" if engines else "--policy" if policy is not None else "--cluster"
        raise click.UsageError(f"{option} requires --manifests", ctx)
    for name, option in (("fix", "--fix"), ("unsafe_fixes", "--unsafe-fixes")):
        if name in given:
            raise click.UsageError(f"{option} and --manifests are mutually exclusive", ctx)
    if "policy" in given:
        raise click.UsageError(
            f"with --manifests, pass the policy as -p {ctx.params['policy']} to check the workloads against a cluster in that policy",
            ctx,
        )
    if policy is None and given & {"env", "cluster"}:
        raise click.UsageError("--env and --cluster require -p POLICY", ctx)
    environments: tuple[str, ...] = () if policy is None else ctx.params["env"]
    if len(environments) > 1:
        raise click.UsageError("workloads are checked against one cluster: pass --env once", ctx)
    from apportion_cli.manifest_validation import validated_manifests
    from apportion_cli.validation import publish

    as_of: date = ctx.params["as_of"]
    declared = None
    if policy is not None:
        from apportion_cli.declared_cluster import read_cluster

        env = environments[0] if environments else None
        declared = read_cluster(policy, env=env, cluster=ctx.params["cluster"], within=within, as_of=as_of)
    inputs, report = validated_manifests(manifests, engines, as_of, declared)
    return publish(current(), inputs, report, outputs, str(ctx.params["fail_on"]))
