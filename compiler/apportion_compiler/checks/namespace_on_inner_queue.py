"""AP107: a queue with children has namespaces, whose workloads no engine runs there."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity
from apportion_compiler.graph.declarations import Declarations

NAMESPACE_ON_INNER_QUEUE = Rule(
    "AP107",
    "namespace-on-inner-queue",
    Severity.ERROR,
    "namespaces are set on a queue that is not a leaf",
    required=True,
)


def namespace_on_inner_queue(declarations: Declarations, as_of: date) -> Iterator[Diagnostic]:
    """Report namespaces on queues that are the parent of another queue."""
    first_child = {declared.parent: declared.queue for declared in reversed(declarations.queues)}
    for id_, declared in declarations.by_id.items():
        queue = declared.queue
        child = first_child.get(id_)
        if child is None or not queue.namespaces:
            continue
        names = " and ".join(f"`{name}`" for name in queue.namespaces[:2])
        if len(queue.namespaces) > 2:
            names = f"`{queue.namespaces[0]}` and {len(queue.namespaces) - 1} more"
        yield Diagnostic(
            NAMESPACE_ON_INNER_QUEUE,
            f"queue {id_}",
            f"`{id_}` has namespaces ({names}), but only leaf queues run workloads",
            queue.source,
            (Related(child.source, f"`{child.id}` is a child of `{id_}`"),),
            f"move them to a queue below `{id_}`, such as `{child.id}`, or to a new leaf queue",
        )
