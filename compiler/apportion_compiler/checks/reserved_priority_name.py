"""AP402: a priority class with a reserved name.

Source: kubernetes pkg/apis/scheduling/validation: the prefix `system-` is reserved for the built-in classes of
components that keep nodes running: their pods preempt all others. Classes that an engine's chart installs are not
emitted, so a class that is wrongly declared as such would not exist.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Rule, Severity, ValueEdit
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.graph.graph import PolicyGraph
from apportion_policy.identifiers import identity_of
from apportion_policy.priority import PriorityClass

RESERVED_PRIORITY_NAME = Rule(
    "AP402", "reserved-priority-name", Severity.ERROR, "a priority class has a name reserved by the system or an engine"
)
_PREFIX = "system-"
_SYSTEMS_OWN = ("system-cluster-critical", "system-node-critical")


def reserved_priority_name(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Check the name of every class, and whether classes declared as an engine's are installed by one."""
    installed = {name for traits in TRAITS.values() for name in traits.installed_classes}
    used = {identity_of(ref) for node in graph.nodes.values() for ref in node.queue.priority_classes or ()}
    for cls in graph.policy.priority_classes:
        if cls.name.startswith(_PREFIX):
            hint, fix = _way_out(graph, cls, used)
            yield _finding(
                cls, f"`{cls.name}` begins with `{_PREFIX}`, which Kubernetes reserves for its own classes", hint, fix
            )
        elif cls.installed_by_engine and cls.name not in installed:
            yield _finding(
                cls,
                f"`{cls.name}` is declared as installed by the engine, but no engine installs a class with this name",
                "remove `installed_by_engine` to emit the class",
                ValueEdit(cls.source, ("installed_by_engine",), None),
            )


def _finding(cls: PriorityClass, message: str, hint: str, fix: ValueEdit | None) -> Diagnostic:
    return Diagnostic(RESERVED_PRIORITY_NAME, f"priority class {cls.name}", message, cls.source, hint=hint, fix=fix)


def _way_out(graph: PolicyGraph, cls: PriorityClass, used: AbstractSet[str]) -> tuple[str, ValueEdit | None]:
    if is_systems_own(cls):
        return "declare your own class: pods with a system class can evict any other pod on a node", None
    meant = cls.name.removeprefix(_PREFIX)
    if not meant or meant in graph.declarations.priority_classes:
        return f"choose a name that does not begin with {_PREFIX}", None
    # Queues that reference the class would have to change too.
    return f"rename it to `{meant}`", ValueEdit(cls.source, ("name",), meant) if cls.name not in used else None


def is_systems_own(cls: PriorityClass) -> bool:
    """Return whether a class is one of Kubernetes' built-in classes, whose value the author does not choose."""
    return cls.name in _SYSTEMS_OWN
