"""AP126: a queue has a LocalQueue in a namespace of a queue with a different owner.

Workloads of that namespace may then be charged to this queue: a LocalQueue named `default` gets all workloads without a
queue name. The rule is required.
"""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity
from apportion_compiler.graph.graph import PolicyGraph

LOCAL_QUEUE_OF_ANOTHER_OWNER = Rule(
    "AP126",
    "local-queue-of-another-owner",
    Severity.ERROR,
    "a queue has a LocalQueue in a namespace of a queue with a different owner",
    required=True,
)


def local_queue_of_another_owner(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Compare the owner of each LocalQueue's queue with that of its namespace."""
    of_namespace = {namespace: node for node in graph.leaves for namespace in node.queue.namespaces}
    for node in graph.leaves:
        declared = None if node.queue.kueue is None else node.queue.kueue.local_queues
        for local in declared or ():
            holder = of_namespace.get(local.namespace)
            if holder is None or graph.owners[holder.id] == graph.owners[node.id]:
                continue
            yield Diagnostic(
                LOCAL_QUEUE_OF_ANOTHER_OWNER,
                node.address,
                f"`{node.id}` has the LocalQueue {local.name} in the namespace {local.namespace}, which belongs to "
                f"`{holder.id}` (owner: {graph.owners[holder.id] or 'none'})",
                local.source,
                related=(Related(holder.queue.source, f"`{holder.id}` lists {local.namespace}"),),
                hint=f"remove this LocalQueue from `{node.id}`, or give both queues the same owner",
            )
