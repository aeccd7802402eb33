"""The engines of a policy, for faults that depend on the engine."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from apportion_compiler.engines.registry import DEFAULT_ENGINE, TRAITS
from apportion_compiler.graph.graph import PolicyGraph, Scope
from apportion_policy.engine import Engine


def engines_that_hold_to_guarantee() -> frozenset[Engine]:
    """Return the engines that confine non-preemptible workloads to the guarantee of their queue."""
    return frozenset(engine for engine in Engine if TRAITS[engine.value].holds_to_guarantee)


def engines_of(graph: PolicyGraph) -> tuple[Engine, ...]:
    """Return the engines of the policy's clusters without duplicates; without clusters, the default engine."""
    used = {cluster.engine for _, cluster in graph.declarations.clusters}
    return tuple(engine for engine in Engine if engine in used) or (DEFAULT_ENGINE,)


def scopes_on(graph: PolicyGraph, engines: AbstractSet[Engine]) -> tuple[Scope, ...]:
    """Return the clusters of the given engines, preceded by the policy as written if all clusters use these engines.

    A check that reports a fault in the first scope that has it then reports it as written if it exists everywhere.
    """
    clusters = tuple(s for s in graph.scopes if s.cluster is not None and s.cluster.engine in engines)
    return (graph.base, *clusters) if set(engines_of(graph)) <= engines else clusters


def engine_list(engines: tuple[Engine, ...]) -> str:
    """Return the engines' titles as a list in a sentence: `KAI Scheduler`, `KAI Scheduler and Kueue`."""
    *first, last = (TRAITS[engine.value].title for engine in engines)
    return f"{', '.join(first)} and {last}" if first else last
