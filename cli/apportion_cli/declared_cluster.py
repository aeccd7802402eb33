"""A cluster of a policy: its compiled objects, and the program that they are compiled from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

import click

from apportion_cli.errors import PreconditionError
from apportion_cli.scopes import cluster_scope

if TYPE_CHECKING:
    from apportion_compiler.ir.program import Program
    from apportion_policy.evaluation.limits import Limits
    from apportion_policy.policy import Policy


@dataclass(frozen=True, slots=True)
class DeclaredCluster:
    """A cluster of a policy.

    Attributes:
        program: Its program.
        objects: Its compiled objects.
    """

    program: Program
    objects: Sequence[Mapping[str, object]]


def read_cluster(policy: str, *, env: str | None, cluster: str | None, within: Limits, as_of: date) -> DeclaredCluster:
    """Evaluate a policy and return one of its clusters.

    Raises:
        PreconditionError: If the policy has errors.
        click.UsageError: If the cluster is ambiguous or does not exist.
    """
    from apportion_cli.inputs import read_policy

    inputs = read_policy(policy, within)
    if inputs.policy is None:
        raise _wrong(policy)
    return compiled_cluster(inputs.policy, policy, env=env, cluster=cluster, as_of=as_of)


def compiled_cluster(
    policy: Policy, source: str, *, env: str | None, cluster: str | None, as_of: date
) -> DeclaredCluster:
    """Return one cluster of a policy read from `source`. Raises the same errors as `read_cluster`."""
    from apportion_compiler.compile import check_policy, compile_policy
    from apportion_compiler.diagnostics.diagnostic import has_errors
    from apportion_compiler.errors import UnknownTargetError
    from apportion_compiler.targets import targets_of

    checked = check_policy(policy, as_of)
    if checked.graph is None:
        raise _wrong(source)
    scope = cluster_scope(checked.graph, env, cluster)
    assert scope.environment is not None
    assert scope.cluster is not None
    try:
        targets = targets_of(policy, (scope.environment.name,))
    except UnknownTargetError as unknown:
        raise click.UsageError(str(unknown)) from unknown
    own = tuple(target for target in targets if target.cluster == scope.cluster.name)
    compilation = compile_policy(policy, own, as_of)
    if has_errors(compilation.diagnostics):
        raise _wrong(source)
    objects = [dict(made) for output in compilation.outputs.values() for made in output.manifests]
    return DeclaredCluster(compilation.programs[own[0]], objects)


def _wrong(policy: str) -> PreconditionError:
    return PreconditionError("the policy has errors", hint=f"run apportion validate {policy}")
