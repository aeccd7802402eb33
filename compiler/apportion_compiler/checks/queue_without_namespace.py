"""AP211: a leaf queue without namespaces, which cannot run workloads."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Rule, Severity
from apportion_compiler.graph.declared_amounts import GPU_MODEL_PREFIX
from apportion_compiler.graph.graph import PolicyGraph
from apportion_policy.resources import GPU, amount_text

QUEUE_WITHOUT_NAMESPACE = Rule("AP211", "queue-without-namespace", Severity.WARNING, "a leaf queue has no namespace")


def queue_without_namespace(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Report leaves without a namespace, if the policy assigns namespaces to queues.

    A policy without namespaces, or with a cluster whose admission is managed elsewhere, leaves the assignment to other
    tools.
    """
    elsewhere = any(s.cluster is not None and "admission" in s.cluster.managed_elsewhere for s in graph.scopes)
    if elsewhere or not any(leaf.queue.namespaces for leaf in graph.leaves):
        return
    for leaf in graph.leaves:
        if leaf.queue.namespaces or (leaf.queue.kueue is not None and leaf.queue.kueue.local_queues):
            continue
        amounts = {r: amount for r, amount in graph.base.values[leaf.id].guaranteed.items() if amount != 0}
        if any(resource.startswith(GPU_MODEL_PREFIX) for resource in amounts):
            amounts.pop(GPU, None)
        guaranteed = ", ".join(amount_text(resource, amount) for resource, amount in sorted(amounts.items()))
        idle = f", and its guarantee of {guaranteed} can be used only by other queues" if guaranteed else ""
        yield Diagnostic(
            QUEUE_WITHOUT_NAMESPACE,
            leaf.address,
            f"`{leaf.id}` has no namespace, so it cannot run workloads{idle}",
            leaf.queue.source,
            hint=f'set `namespaces=("{leaf.id}",)`, or remove the queue',
        )
