"""AP117: a queue claims a namespace of Kubernetes, an engine or a cluster add-on.

The owner of a queue gets rights in its namespaces, so the rule is required.
"""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Rule, Severity
from apportion_compiler.graph.graph import PolicyGraph
from apportion_compiler.reserved_names import namespace_owner
from apportion_policy.queue import Queue

RESERVED_NAMESPACE = Rule(
    "AP117",
    "reserved-namespace",
    Severity.ERROR,
    "a queue lists a namespace reserved by the cluster or one of its components",
    required=True,
)


def reserved_namespace(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Report reserved namespaces."""
    added = graph.policy.rules.reserved_namespaces
    for node in graph.leaves:
        for namespace in _claimed(node.queue):
            owner = namespace_owner(namespace, added)
            if owner is not None:
                yield Diagnostic(
                    RESERVED_NAMESPACE,
                    node.address,
                    f"`{node.id}` lists the namespace {namespace}, which belongs to {owner}",
                    node.queue.source,
                    hint=f"give `{node.id}` its own namespace"
                    + (f", such as `{node.id}`" if namespace_owner(node.id, added) is None else ""),
                )


def _claimed(queue: Queue) -> Iterator[str]:
    """Yield each namespace once: those of the queue, and those of its LocalQueues."""
    local = () if queue.kueue is None else queue.kueue.local_queues or ()
    yield from dict.fromkeys((*queue.namespaces, *(one.namespace for one in local)))
