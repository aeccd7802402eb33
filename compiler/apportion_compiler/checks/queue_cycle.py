"""AP102: the parents of queues form a cycle."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity, ValueEdit
from apportion_compiler.graph.declarations import Declarations

QUEUE_CYCLE = Rule("AP102", "queue-cycle", Severity.ERROR, "the parents of queues form a cycle", required=True)

_SHOWN = 8
"""Maximum number of queues in the message; the related places list every queue of the cycle."""


def queue_cycle(declarations: Declarations, as_of: date) -> Iterator[Diagnostic]:
    """Report the cycles. A queue has one parent, so that cycles are disjoint."""
    if not _has_cycle(declarations):
        return
    import networkx as nx

    tree = declarations.tree
    order = {id_: index for index, id_ in enumerate(declarations.by_id)}
    for component in nx.strongly_connected_components(tree):
        members = sorted(component, key=order.__getitem__)
        if len(members) > 1 or tree.has_edge(members[0], members[0]):
            yield _finding(declarations, members)


def _has_cycle(declarations: Declarations) -> bool:
    """Follow the parents upwards, visiting each queue once: valid policies need no graph."""
    by_id = declarations.by_id
    acyclic: set[str] = set()
    for start in by_id:
        path: set[str] = set()
        id_: str | None = start
        while id_ is not None and id_ in by_id and id_ not in acyclic:
            if id_ in path:
                return True
            path.add(id_)
            id_ = by_id[id_].parent
        acyclic |= path
    return False


def _finding(declarations: Declarations, members: list[str]) -> Diagnostic:
    by_id = declarations.by_id
    # A nested queue does not declare its parent: the finding points to a queue whose `parent` can be changed.
    first = next(id_ for id_ in members if by_id[id_].queue.parent is not None)
    cycle = [first]
    while (parent := by_id[cycle[-1]].parent) is not None and parent != first:
        cycle.append(parent)
    if len(cycle) == 1:
        message = f"`{first}` is its own ancestor"
        hint = f"remove `parent` to make `{first}` a top-level queue"
    else:
        left_out = f" → {len(cycle) - _SHOWN} more" if len(cycle) > _SHOWN else ""
        path = " → ".join(f"`{id_}`" for id_ in cycle[:_SHOWN])
        message = f"the parents of {len(cycle)} queues form a cycle: {path}{left_out} → `{first}`"
        hint = "give one of them a parent outside the cycle, or remove `parent` from the queue that belongs at the top"
    source = by_id[first].queue.source
    return Diagnostic(
        QUEUE_CYCLE,
        f"queue {first}",
        message,
        source,
        tuple(Related(by_id[id_].queue.source, f"the parent of `{id_}` is `{by_id[id_].parent}`") for id_ in cycle[1:]),
        hint,
        ValueEdit(source, ("parent",), None) if len(cycle) == 1 else None,
    )
