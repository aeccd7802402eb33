"""AP404: two priority classes with the same value: neither takes precedence or preempts the other.

KAI orders such workloads by age (framework/session_plugins.go, JobOrderFn), kube-scheduler by their time in the queue.
"""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity, ValueEdit
from apportion_compiler.graph.graph import PolicyGraph
from apportion_policy.priority import DEFAULT_PRIORITY_CLASSES, NON_PREEMPTIBLE_FROM, PriorityClass

EQUAL_PRIORITIES = Rule("AP404", "equal-priorities", Severity.WARNING, "two priority classes have the same value")


def equal_priorities(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Report the later of two classes with the same value; the author's class rather than a built-in one."""
    # A duplicate name is a single class here, and is reported as AP103.
    declared = {cls.name: cls for cls in graph.policy.priority_classes}
    classes = sorted(declared.values(), key=lambda cls: cls not in DEFAULT_PRIORITY_CLASSES)
    taken = {cls.value for cls in classes}
    first: dict[int, PriorityClass] = {}
    for cls in classes:
        other = first.setdefault(cls.value, cls)
        if other is cls:
            continue
        built_in = other in DEFAULT_PRIORITY_CLASSES
        free = _next_free(cls, taken)
        yield Diagnostic(
            EQUAL_PRIORITIES,
            f"priority class {cls.name}",
            f"`{cls.name}` and `{other.name}`{' (which KAI installs)' if built_in else ''} both have the value "
            f"{cls.value}, so neither takes precedence",
            cls.source,
            () if built_in else (Related(other.source, f"`{other.name}` has value {other.value}"),),
            f"give one of them a different value, such as {free} for `{cls.name}`",
            ValueEdit(cls.source, ("value",), free),
        )


def _next_free(cls: PriorityClass, taken: set[int]) -> int:
    """Return the nearest free value with the same preemptibility on KAI and the same validity."""
    upwards = cls.value >= NON_PREEMPTIBLE_FROM and cls.value < 10**9
    step = 1 if upwards or cls.value < NON_PREEMPTIBLE_FROM - len(taken) else -1
    value = cls.value
    while value in taken:
        value += step
    return value
