"""The scope of a query: the policy as declared, or one cluster of one environment."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import TYPE_CHECKING, TypeVar

import click

from apportion_compiler.alternatives import alternatives

if TYPE_CHECKING:
    from apportion_compiler.graph.graph import PolicyGraph, Scope

Decorated = TypeVar("Decorated", bound=Callable[..., object])


def place_options(command: Decorated) -> Decorated:
    """Add `--env` and `--cluster`, each with a single value."""
    command = click.option("--cluster", metavar="NAME", help="Cluster; required if the environment has more than one.")(
        command
    )
    return click.option("-e", "--env", metavar="NAME", help="Environment to use.")(command)


def scope_of(graph: PolicyGraph, environment: str | None, cluster: str | None) -> Scope:
    """Return the scope in the options.

    Raises:
        click.UsageError: If it does not exist, or the environment has several clusters and none is given.
    """
    if environment is None:
        if cluster is not None:
            raise click.UsageError("--cluster requires --env")
        return graph.base
    known = graph.declarations.environments
    if environment not in known:
        raise click.UsageError(f"environment {environment} does not exist{_instead(environment, list(known))}")
    clusters = [c.name for c in known[environment].clusters]
    if cluster is None and len(clusters) > 1:
        raise click.UsageError(
            f"environment {environment} has more than one cluster; choose one: --cluster {clusters[0]}"
        )
    if cluster is not None and cluster not in clusters:
        raise click.UsageError(f"environment {environment} has no cluster {cluster}{_instead(cluster, clusters)}")
    return graph.scope(environment, cluster or clusters[0])


def cluster_scope(graph: PolicyGraph, environment: str | None, cluster: str | None) -> Scope:
    """Return the scope of a cluster: the one in the options, or the only one.

    Raises:
        click.UsageError: If it does not exist, or is ambiguous.
    """
    if environment is None:
        names = [known.name for known in graph.policy.environments]
        if len(names) != 1:
            raise click.UsageError(
                f"specify an environment: --env {names[0]}" if names else "the policy has no environments"
            )
        environment = names[0]
    return scope_of(graph, environment, cluster)


def _instead(name: str, known: list[str]) -> str:
    close = get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]}?" if close else f"; {alternatives(known)}"
