"""AP115: a queue without an owner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Rule, Severity
from apportion_compiler.graph.graph import PolicyGraph

OBJECT_WITHOUT_OWNER = Rule("AP115", "object-without-owner", Severity.WARNING, "a queue has no owner")


def object_without_owner(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Report top-level queues without an owner; their descendants inherit it."""
    ownerless = Counter(node.path[0] for node in graph.nodes.values() if graph.owners[node.id] is None)
    for root in graph.roots:
        n_below = ownerless[root.id] - 1
        if n_below < 0:
            continue
        below = f", and neither {_queues(n_below)} below it" if n_below else ""
        yield Diagnostic(
            OBJECT_WITHOUT_OWNER,
            root.address,
            f"`{root.id}` has no owner{below}",
            root.queue.source,
            hint="set an `owner`, such as `@acme/research`, on the queue or on the organisation",
        )


def _queues(n: int) -> str:
    return "does the queue" if n == 1 else f"do the {n} queues"
