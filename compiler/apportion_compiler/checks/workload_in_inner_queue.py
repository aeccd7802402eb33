"""AP116: per-user limits on a queue that does not run workloads."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.graph.graph import PolicyGraph

WORKLOAD_IN_INNER_QUEUE = Rule(
    "AP116", "workload-in-inner-queue", Severity.ERROR, "per-user limits are set on a queue that is not a leaf"
)


def workload_in_inner_queue(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Report `users` on queues with children.

    It is valid if all engines of the policy count a user's workloads over a whole subtree.
    """
    engines = {cluster.engine for _, cluster in graph.declarations.clusters}
    if engines and all(TRAITS[engine.value].limits_users_of_subtrees for engine in engines):
        return
    for node in graph.nodes.values():
        users = node.queue.users
        if not node.children or not users:
            continue
        child = graph.nodes[node.children[0]]
        names = f"`{users[0].user}`" + (f" and {len(users) - 1} more" if len(users) > 1 else "")
        yield Diagnostic(
            WORKLOAD_IN_INNER_QUEUE,
            node.address,
            f"`{node.id}` has per-user limits ({names}), but only leaf queues run workloads",
            node.queue.source,
            (Related(child.queue.source, f"`{child.id}` is a child of `{node.id}`"),),
            f"move `users` to the queues below `{node.id}`, such as `{child.id}`",
        )
