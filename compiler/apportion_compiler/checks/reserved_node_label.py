"""AP613: a node pool sets a label that is reserved for Apportion, the engine, the provider or Kubernetes.

Engines select nodes by the labels in `pool_label_keys.py`; workloads of no queue reach a node with a different value,
or a scheduler ignores it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Rule, Severity
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.graph.graph import PolicyGraph
from apportion_compiler.kubernetes_names import label_value
from apportion_compiler.pool_label_keys import (
    GPU_MODEL_LABEL,
    POOL_LABEL,
    PROVIDER_NAMES,
    is_kubernetes_label,
    is_provider_label,
)
from apportion_policy.identifiers import identity_of
from apportion_policy.pool import NodePool

RESERVED_NODE_LABEL = Rule(
    "AP613",
    "reserved-node-label",
    Severity.ERROR,
    "a node pool sets a reserved label",
    required=True,
)


def reserved_node_label(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Check each label of each pool."""
    for pool in graph.declarations.pools.values():
        expected = _expected(graph, pool)
        for key, value in sorted(pool.labels.items()):
            contradicted = _contradicted(key, value, expected)
            fault = contradicted or _not_set(pool, key)
            if fault is not None:
                yield Diagnostic(
                    RESERVED_NODE_LABEL,
                    f"node pool {pool.id}",
                    f"`{pool.id}` has the node label {key}={value}, {fault}",
                    pool.source,
                    hint=f"remove {key} from `labels`",
                    severity=None if contradicted else Severity.WARNING,
                )


def _expected(graph: PolicyGraph, pool: NodePool) -> Mapping[str, tuple[str | None, str]]:
    """Return, for each label that Apportion sets, its value on this pool and the component that selects by it."""
    model = None if pool.accelerator is None else pool.accelerator.model
    engines = {
        scope.cluster.engine.value
        for scope in graph.scopes
        if scope.cluster is not None and pool.id in map(identity_of, scope.cluster.pools)
    }
    expected: dict[str, tuple[str | None, str]] = {
        POOL_LABEL: (label_value(pool.id), "engines select nodes by this label"),
        GPU_MODEL_LABEL: (None if model is None else label_value(model), "workloads select GPUs by this label"),
    }
    for engine in engines:
        if (label := TRAITS[engine].node_label) is not None:
            expected[label.key] = (label_value(pool.id) if label.value == "pool" else model, label.purpose)
    return expected


def _contradicted(key: str, value: str, expected: Mapping[str, tuple[str | None, str]]) -> str | None:
    if key not in expected or expected[key][0] == value:
        return None
    meant, why = expected[key]
    return f"but {why}: " + (f"its value must be {meant}" if meant is not None else "it must not be set on this pool")


def _not_set(pool: NodePool, key: str) -> str | None:
    if pool.provider.kind == "fixed":
        return None
    if is_provider_label(pool.provider.kind, key):
        return f"which {PROVIDER_NAMES[pool.provider.kind]} sets itself"
    if is_kubernetes_label(key):
        return f"but {key.rpartition('/')[0]} is reserved for Kubernetes: the label is not set when the pool is created"
    return None
