"""AP101: a queue references a parent that is not declared."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import date

from apportion_compiler.checks.suggestions import is_misspelt, suggester
from apportion_compiler.diagnostics.diagnostic import Applicability, Diagnostic, Rule, Severity, ValueEdit
from apportion_compiler.graph.declarations import Declarations

UNKNOWN_PARENT = Rule(
    "AP101", "unknown-parent", Severity.ERROR, "a queue references a parent that is not declared", required=True
)


def unknown_parent(declarations: Declarations, as_of: date) -> Iterator[Diagnostic]:
    """Check the parent of every queue."""
    known = declarations.by_id
    suggest = suggester(known)
    for declared in declarations.queues:
        queue, parent = declared.queue, declared.parent
        if parent is None or parent in known:
            continue
        meant = suggest(parent)
        if meant == queue.id:
            meant = None
        yield Diagnostic(
            UNKNOWN_PARENT,
            f"queue {queue.id}",
            f"`{queue.id}` has the parent `{parent}`, which is not declared",
            queue.source,
            hint=f"set its parent to `{meant}`"
            if meant is not None
            else f"declare a queue `{parent}`, or remove `parent` to make `{queue.id}` a top-level queue",
            fix=None
            if meant is None
            else ValueEdit(queue.source, ("parent",), meant, _applicability(parent, meant, known)),
        )


def _applicability(parent: str, meant: str, known: Collection[str]) -> Applicability:
    return Applicability.SAFE if is_misspelt(parent, meant, known) else Applicability.UNSAFE
