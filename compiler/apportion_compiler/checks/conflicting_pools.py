"""AP616: node pools of one cluster that conflict in shared settings, or are indistinguishable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_compiler.checks.pool_settings import field_list
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity
from apportion_compiler.graph.graph import PolicyGraph, Scope
from apportion_compiler.machine_types import gke_machine
from apportion_policy.pool import NodePool
from apportion_policy.providers import Gke, Karpenter

CONFLICTING_POOLS = Rule(
    "AP616",
    "conflicting-pools",
    Severity.WARNING,
    "node pools in a cluster conflict or are indistinguishable",
)

_DESCRIBED = ("role", "ami_alias", "subnet_tags", "security_group_tags")
"""The fields of a node class: all of them, or none if the class is managed elsewhere."""


def conflicting_pools(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Compare the pools of every cluster; each pair is reported once."""
    reported: set[tuple[str, str]] = set()
    for scope in graph.scopes:
        if scope.cluster is None:
            continue
        pools = graph.pools_of(scope.cluster)
        for earlier, later, message, hint in _pairs(pools):
            if (later.id, message) not in reported:
                reported.add((later.id, message))
                yield _finding(scope, earlier, later, message, hint)


def _finding(scope: Scope, earlier: NodePool, later: NodePool, message: str, hint: str) -> Diagnostic:
    return Diagnostic(
        CONFLICTING_POOLS,
        f"node pool {later.id}",
        f"`{later.id}` {message}",
        later.source,
        () if earlier is later else (Related(earlier.source, f"`{earlier.id}` is the other pool"),),
        hint,
        scope=scope.name,
    )


def _pairs(pools: Sequence[NodePool]) -> Iterator[tuple[NodePool, NodePool, str, str]]:
    yield from _requested(pools)
    yield from _windows(pools)
    yield from _node_classes(pools)


def _requested(pools: Sequence[NodePool]) -> Iterator[tuple[NodePool, NodePool, str, str]]:
    """Report pools that GKE creates on request with the same accelerator, by which alone it distinguishes them."""
    known: dict[str, NodePool] = {}
    for pool in pools:
        if not isinstance(pool.provider, Gke) or not pool.provider.node_auto_provisioning or pool.accelerator is None:
            continue
        name = pool.accelerator.provider_name or _included_accelerator(pool)
        if name is None:
            continue
        if name in known:
            yield (
                known[name],
                pool,
                f"has the same accelerator {name} as `{known[name].id}`, and GKE creates both pools by accelerator, so it cannot tell them apart",
                "merge them into one pool, or set `node_auto_provisioning` to false in one of them",
            )
        known.setdefault(name, pool)


def _included_accelerator(pool: NodePool) -> str | None:
    """Return the accelerator that a machine type includes."""
    machine = None if pool.machine_type is None else gke_machine(pool.machine_type)
    return None if machine is None else machine.accelerator


def _windows(pools: Sequence[NodePool]) -> Iterator[tuple[NodePool, NodePool, str, str]]:
    """Report conflicting maintenance settings: a GKE cluster has one window, and one exclusion of each name."""
    first: NodePool | None = None
    exclusions: dict[str, NodePool] = {}
    for pool in pools:
        maintenance = pool.maintenance if isinstance(pool.provider, Gke) else None
        if maintenance is None:
            continue
        if maintenance.window is not None:
            held = None if first is None or first.maintenance is None else first.maintenance.window
            if first is not None and held != maintenance.window:
                yield (
                    first,
                    pool,
                    f"has a different maintenance window from `{first.id}`, but a GKE cluster has only one",
                    "set the same window in both",
                )
            first = first or pool
        for exclusion in maintenance.exclusions:
            other = exclusions.setdefault(exclusion.name, pool)
            if other.maintenance is not None and exclusion not in other.maintenance.exclusions:
                yield (
                    other,
                    pool,
                    f"declares the maintenance exclusion {exclusion.name} differently from `{other.id}`",
                    f"declare the same exclusion in both, or rename {exclusion.name} in one of them",
                )


def _node_classes(pools: Sequence[NodePool]) -> Iterator[tuple[NodePool, NodePool, str, str]]:
    described: dict[str, tuple[NodePool, Mapping[str, object]]] = {}
    for pool in pools:
        settings = pool.provider
        if not isinstance(settings, Karpenter):
            continue
        given = {field: value for field in _DESCRIBED if (value := getattr(settings, field))}
        missing = [field for field in _DESCRIBED if field not in given]
        if given and missing:
            yield (
                pool,
                pool,
                f"declares the node class {settings.node_class} without {field_list(missing)}",
                f"set {field_list(missing)}, or remove {field_list(list(given))} if the node class is created elsewhere",
            )
        elif given:
            other = described.setdefault(settings.node_class, (pool, given))
            if other[1] != given:
                yield (
                    other[0],
                    pool,
                    f"declares the node class {settings.node_class} differently from `{other[0].id}`",
                    "declare the same node class in both, or set a different `node_class` in one of them",
                )
