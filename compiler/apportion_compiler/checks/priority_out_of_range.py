"""AP401: a priority that the API server rejects.

Source: kubernetes pkg/apis/scheduling/validation: a user's class has a value of at most 1000000000; the type is int32.
"""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.checks.reserved_priority_name import is_systems_own
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Rule, Severity, ValueEdit
from apportion_compiler.graph.graph import PolicyGraph

PRIORITY_OUT_OF_RANGE = Rule(
    "AP401",
    "priority-out-of-range",
    Severity.ERROR,
    "a priority class has a value outside the range that Kubernetes accepts",
)
HIGHEST = 1_000_000_000
"""Higher values are reserved for system classes."""
LOWEST = -(2**31)


def priority_out_of_range(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Check every class that is emitted."""
    for cls in graph.policy.priority_classes:
        if LOWEST <= cls.value <= HIGHEST or is_systems_own(cls):
            continue
        bound = HIGHEST if cls.value > HIGHEST else LOWEST
        side = "above the maximum" if cls.value > HIGHEST else "below the minimum"
        yield Diagnostic(
            PRIORITY_OUT_OF_RANGE,
            f"priority class {cls.name}",
            f"`{cls.name}` has value {cls.value}, {side} of {bound} that Kubernetes allows",
            cls.source,
            (),
            f"set the value to {bound}",
            ValueEdit(cls.source, ("value",), bound),
        )
