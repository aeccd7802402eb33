"""The engines of a policy, for faults that depend on the engine."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from apportion_compiler.engines.registry import DEFAULT_ENGINE, TRAITS
from apportion_compiler.graph.graph import PolicyGraph, Scope
from apportion_policy.engine import Engine


def engines_that_hold_to_guarantee() -> frozenset[Engine]:
    """Return the engines on which non-preemptible work may use the guarantee of its queue and nothing beyond."""
    return frozenset(engine for engine in Engine if TRAITS[engine.value].holds_to_guarantee)


def engines_of(graph: PolicyGraph) -> tuple[Engine, ...]:
    """Return the engines of the policy's clusters, each once; the default engine for a policy that has no cluster yet."""
    used = {cluster.engine for _, cluster in graph.declarations.clusters}
    return tuple(engine for engine in Engine if engine in used) or (DEFAULT_ENGINE,)


def scopes_on(graph: PolicyGraph, engines: AbstractSet[Engine]) -> tuple[Scope, ...]:
    """Return the clusters of some engines, after the policy as written where it is for no other engine.

    A check that says a fault once, in the first scope that has it, then says it as written where it holds everywhere.
    """
    clusters = tuple(s for s in graph.scopes if s.cluster is not None and s.cluster.engine in engines)
    return (graph.base, *clusters) if set(engines_of(graph)) <= engines else clusters


def engine_list(engines: tuple[Engine, ...]) -> str:
    """Return the engines' names as a sentence has them: `kai`, `kai and ack`."""
    *first, last = (engine.value for engine in engines)
    return f"{', '.join(first)} and {last}" if first else last
