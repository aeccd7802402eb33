"""AP108: a queue is nested in one queue and declares a different parent."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity, ValueEdit
from apportion_compiler.graph.declarations import Declarations

CONFLICTING_PARENT = Rule(
    "AP108", "conflicting-parent", Severity.ERROR, "a nested queue declares a different parent", required=True
)


def conflicting_parent(declarations: Declarations, as_of: date) -> Iterator[Diagnostic]:
    """Report nested queues whose `parent` differs from the enclosing queue."""
    for declared in declarations.queues:
        if declared.conflicting_parent is None or declared.parent is None:
            continue
        queue, outer = declared.queue, declarations.by_id[declared.parent].queue
        yield Diagnostic(
            CONFLICTING_PARENT,
            f"queue {queue.id}",
            f"`{queue.id}` is nested in `{outer.id}`, but declares `{declared.conflicting_parent}` as its parent",
            queue.source,
            (Related(outer.source, f"`{queue.id}` is nested in `{outer.id}`"),),
            f"remove `parent` to keep it in `{outer.id}`, or remove the queue from `children` in `{outer.id}`",
            ValueEdit(queue.source, ("parent",), None),
        )
