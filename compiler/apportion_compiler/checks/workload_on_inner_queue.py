"""AP116: limits for single persons on a queue in which nobody runs work."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity
from apportion_compiler.graph.declarations import Declarations
from apportion_policy.cluster import Engine

WORKLOAD_ON_INNER_QUEUE = Rule(
    "AP116", "workload-on-inner-queue", Severity.ERROR, "limits for single persons on a queue that is not a leaf"
)


def workload_on_inner_queue(declarations: Declarations, as_of: date) -> Iterator[Diagnostic]:
    """Look for `users` on queues that another queue names as its parent.

    YuniKorn alone counts a person's work over a whole subtree, so a policy that is for it alone may say so.
    """
    engines = {cluster.engine for _, cluster in declarations.clusters}
    if engines == {Engine.YUNIKORN}:
        return
    first_child = {declared.parent: declared.queue for declared in reversed(declarations.queues)}
    for id_, declared in declarations.by_id.items():
        queue = declared.queue
        child = first_child.get(id_)
        if child is None or not queue.users:
            continue
        names = f"`{queue.users[0].user}`" + (f" and {len(queue.users) - 1} more" if len(queue.users) > 1 else "")
        yield Diagnostic(
            WORKLOAD_ON_INNER_QUEUE,
            f"queue {id_}",
            f"`{id_}` limits single persons ({names}), but nobody runs work in a queue that has queues below it",
            queue.source,
            (Related(child.source, f"`{child.id}` hangs below `{id_}`"),),
            f"move `users` to the queues below `{id_}`, such as `{child.id}`",
        )
