"""The targets of a policy: on each cluster its engine's backend, the plain objects, and companions."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from difflib import get_close_matches

from apportion_compiler.alternatives import alternatives
from apportion_compiler.backends import BACKENDS, EMITTERS
from apportion_compiler.backends.nodepools import NAME as NODE_POOLS
from apportion_compiler.compile import Target
from apportion_compiler.engines.registry import PLAIN_KUBERNETES, TRAITS
from apportion_compiler.errors import UnknownTargetError
from apportion_policy.cluster import Cluster, Environment
from apportion_policy.engine import Engine
from apportion_policy.identifiers import identity_of
from apportion_policy.policy import Policy
from apportion_policy.providers import Fixed


def targets_of(
    policy: Policy, environments: Collection[str] = (), backends: Collection[str] = ()
) -> tuple[Target, ...]:
    """Return the targets of the given environments and backends; all by default.

    Raises:
        UnknownTargetError: If the policy has no such environment, no cluster of them has such a target, or a
            cluster's engine has no backend in this version.
    """
    known = {environment.name: environment for environment in policy.environments}
    for name in environments:
        if name not in known:
            raise UnknownTargetError(_unknown("environment", name, known))
    for name in backends:
        if name not in EMITTERS:
            raise UnknownTargetError(_unknown("target", name, EMITTERS))
    targets: list[Target] = []
    for environment in policy.environments:
        if environments and environment.name not in environments:
            continue
        for cluster in environment.clusters:
            for backend in dict.fromkeys(_of_cluster(policy, environment, cluster)):
                if not backends or backend in backends:
                    targets.append(Target(environment.name, cluster.name, backend))
    if not targets:
        wanted = f"the target {' or '.join(backends)}" if backends else "any target"
        raise UnknownTargetError(f"no cluster in the policy uses {wanted}")
    return tuple(targets)


def _of_cluster(policy: Policy, environment: Environment, cluster: Cluster) -> Iterator[str]:
    yield _backend(cluster.engine, environment.name, cluster.name)
    yield PLAIN_KUBERNETES
    held = {identity_of(pool) for pool in cluster.pools}
    if any(pool.id in held and not isinstance(pool.provider, Fixed) for pool in policy.node_pools):
        yield NODE_POOLS


def _backend(engine: Engine, environment: str, cluster: str) -> str:
    if engine.value not in BACKENDS:
        raise UnknownTargetError(
            f"{environment}/{cluster} runs {TRAITS[engine.value].title}, which this version does not support (it supports "
            f"{', '.join(TRAITS[name].title for name in BACKENDS)})"
        )
    return engine.value


def _unknown(kind: str, name: str, known: Collection[str]) -> str:
    close = get_close_matches(name, known, n=1)
    return f"{kind} {name} does not exist; " + (f"did you mean {close[0]}?" if close else alternatives(known))
