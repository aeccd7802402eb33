"""`apportion drift`: compare clusters with the applied state."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from apportion_cli.commands.preview import stack_options
from apportion_cli.console import current
from apportion_cli.errors import PreconditionError
from apportion_cli.exit_codes import ExitCode
from apportion_cli.options import Output, as_of_option, json_option, limit_options, limits, output_option
from apportion_cli.settings import variable
from apportion_cli.verbosity import console_options

if TYPE_CHECKING:
    from datetime import date

    from apportion_compiler.rollout.drift import DriftedObject
    from apportion_policy.evaluation.limits import Limits


@click.command()
@stack_options
@click.option(
    "--export",
    "exports",
    multiple=True,
    metavar="FILE",
    help="Objects exported from a cluster managed by Argo CD or Flux (kubectl get … -A -o json --show-managed-fields).",
)
@click.option(
    "-p", "--policy", default=".", envvar=variable("policy"), type=click.Path(), help="Policy to compare with --export."
)
@click.option(
    "--cluster", metavar="NAME", help="Cluster that the export comes from; required if ENV has more than one."
)
@output_option("text", "json")
@json_option
@as_of_option
@limit_options
@console_options
def drift(
    environment: str,
    folder: Path,
    *,
    exports: tuple[str, ...],
    policy: str,
    cluster: str | None,
    outputs: tuple[Output, ...],
    as_of: date,
    time_limit: float | None,
    memory_limit: int | None,
) -> int:
    """Detect drift: compare the clusters of ENV with what was applied; exit 10 if they differ.

    ENV is a Pulumi stack, whose clusters are queried. With --export, ENV is an environment of the policy, and the
    export is compared with the compiled policy. The command makes no changes.

    \b
    apportion drift prod
    apportion drift prod --export cluster.json
    """  # noqa: D301 - click takes the character, and writes the lines below it as they are
    from apportion_cli.delivery import deliver
    from apportion_cli.drift_report import drift_json, drift_text

    if exports:
        found = _from_export(
            environment, cluster, exports, policy, as_of=as_of, within=limits(time_limit, memory_limit)
        )
    else:
        if cluster is not None:
            raise click.UsageError("--cluster requires --export: a stack always covers all of its clusters")
        from apportion_cli.stacks import DeployedStack

        found = DeployedStack(environment, folder).drift()
    for output in outputs or (Output("text"),):
        deliver(current(), output, (drift_json if output.format == "json" else drift_text)(environment, found))
    return ExitCode.CHANGES if found else ExitCode.OK


def _from_export(
    environment: str, cluster: str | None, exports: tuple[str, ...], policy: str, *, as_of: date, within: Limits
) -> tuple[DriftedObject, ...]:
    from apportion_cli.inputs import read_policy
    from apportion_cli.manifest_files import read_objects

    inputs = read_policy(policy, within)
    from apportion_compiler.compile import compile_policy
    from apportion_compiler.diagnostics.diagnostic import has_errors
    from apportion_compiler.errors import UnknownTargetError
    from apportion_compiler.rollout.drift import drift as drifted
    from apportion_compiler.targets import targets_of

    if inputs.policy is None:
        raise PreconditionError("the policy has errors", hint=f"run apportion validate {policy}")
    try:
        targets = targets_of(inputs.policy, (environment,), ())
    except UnknownTargetError as unknown:
        raise click.UsageError(str(unknown)) from unknown
    clusters = list(dict.fromkeys(target.cluster for target in targets))
    if cluster is None and len(clusters) > 1:
        raise click.UsageError(
            f"environment {environment} has more than one cluster; choose one: --cluster {clusters[0]}"
        )
    if cluster is not None and cluster not in clusters:
        raise click.UsageError(f"environment {environment} has no cluster {cluster}")
    wanted = tuple(target for target in targets if target.cluster == (cluster or clusters[0]))
    compilation = compile_policy(inputs.policy, wanted, as_of)
    if has_errors(compilation.diagnostics):
        raise PreconditionError("the policy has errors", hint=f"run apportion validate {policy}")
    manifests = [m for output in compilation.outputs.values() for m in output.manifests]
    return drifted(manifests, read_objects(exports))
