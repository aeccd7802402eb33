"""AP117: a queue claims a namespace of the cluster's own, which the admission policies leave alone."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Rule, Severity
from apportion_compiler.graph.graph import PolicyGraph

RESERVED_NAMESPACE = Rule(
    "AP117", "reserved-namespace", Severity.ERROR, "a queue claims a namespace that belongs to the cluster"
)

RESERVED = frozenset({"kube-system", "kube-public", "kube-node-lease"})
"""Made by the API server for itself (`k8s.io/api/core/v1`, and pkg/controlplane/controller/systemnamespaces)."""


def reserved_namespace(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Look for namespaces that Kubernetes makes for itself."""
    for node in graph.leaves:
        for namespace in node.queue.namespaces:
            if namespace in RESERVED:
                yield Diagnostic(
                    RESERVED_NAMESPACE,
                    node.address,
                    f"`{node.id}` claims the namespace {namespace}, which belongs to the cluster itself",
                    node.queue.source,
                    hint=f"give `{node.id}` a namespace of its own, such as `{node.id}`",
                )
