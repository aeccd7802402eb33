"""AP402: a priority class with a name that Kubernetes keeps for itself.

Source: kubernetes pkg/apis/scheduling/validation: the prefix `system-` is refused for all but the system's own
classes, which every cluster has from the start.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Rule, Severity, ValueEdit
from apportion_compiler.graph.graph import PolicyGraph
from apportion_policy.identifiers import identity_of
from apportion_policy.priority import PriorityClass

PRIORITY_RESERVED_NAME = Rule(
    "AP402", "priority-reserved-name", Severity.ERROR, "the name of a priority class begins with `system-`"
)
_PREFIX = "system-"
_SYSTEMS_OWN = ("system-cluster-critical", "system-node-critical")


def priority_reserved_name(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Check every class that is to be made; the system's own may be named as installed."""
    used = {identity_of(ref) for node in graph.nodes.values() for ref in node.queue.priority_classes or ()}
    for cls in graph.policy.priority_classes:
        if not cls.name.startswith(_PREFIX) or is_systems_own(cls):
            continue
        hint, fix = _way_out(graph, cls, used)
        yield Diagnostic(
            PRIORITY_RESERVED_NAME,
            f"priority class {cls.name}",
            f"`{cls.name}` begins with `{_PREFIX}`, which Kubernetes keeps for its own classes",
            cls.source,
            (),
            hint,
            fix,
        )


def _way_out(graph: PolicyGraph, cls: PriorityClass, used: AbstractSet[str]) -> tuple[str, ValueEdit | None]:
    if cls.name in _SYSTEMS_OWN:
        edit = ValueEdit(cls.source, ("installed_by_engine",), value=True)
        return "say installed_by_engine=True: every cluster has this class, and it is not emitted", edit
    meant = cls.name.removeprefix(_PREFIX)
    if not meant or meant in graph.declarations.priority_classes:
        return f"give it a name that does not begin with {_PREFIX}", None
    # Queues that name the class would have to change with it.
    return f"name it `{meant}`", ValueEdit(cls.source, ("name",), meant) if cls.name not in used else None


def is_systems_own(cls: PriorityClass) -> bool:
    """Tell whether a declaration only refers to a class that every cluster has."""
    return cls.name in _SYSTEMS_OWN and cls.installed_by_engine
