"""AP106: a namespace belongs to more than one queue."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity
from apportion_compiler.graph.declarations import Declarations
from apportion_policy.queue import Queue

NAMESPACE_SHARED = Rule(
    "AP106", "namespace-shared", Severity.ERROR, "a namespace belongs to more than one queue", required=True
)


def namespace_shared(declarations: Declarations, as_of: date) -> Iterator[Diagnostic]:
    """Group queues by namespace; duplicate queues are reported as AP103."""
    users: dict[str, list[Queue]] = {}
    for declared in declarations.by_id.values():
        for namespace in declared.queue.namespaces:
            users.setdefault(namespace, []).append(declared.queue)
    for namespace, queues in users.items():
        if len(queues) > 1:
            yield _finding(namespace, queues)


def _finding(namespace: str, queues: list[Queue]) -> Diagnostic:
    distinct = {queue.id: queue for queue in queues}
    at = queues[1].source
    if len(distinct) == 1:
        times = "twice" if len(queues) == 2 else f"{len(queues)} times"
        message, hint = f"`{queues[0].id}` lists the namespace `{namespace}` {times}", "list it once"
        related: tuple[Related, ...] = ()
    else:
        first, second, *more = distinct
        at = distinct[second].source
        others = f"`{first}`"
        if more:
            others += f" and `{more[0]}`" if len(more) == 1 else f" and {len(more)} other queues"
        message = f"the namespace `{namespace}` of `{second}` also belongs to {others}"
        hint = f"keep `{namespace}` in one queue, and give the others their own namespaces"
        related = tuple(Related(distinct[id_].source, f"`{id_}` lists `{namespace}`") for id_ in (first, *more))
    return Diagnostic(NAMESPACE_SHARED, f"namespace {namespace}", message, at, related, hint)
