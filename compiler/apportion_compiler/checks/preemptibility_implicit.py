"""AP405: a class that KAI treats as non-preemptible because of its value, without an explicit setting.

Source: KAI-Scheduler pkg/common/podgroup/preemptible.go: without an explicit setting, a priority of 100 or more is not
preemptible; plugins/proportion/capacity_policy/quota_check.go: such workloads may use only the guarantee.
"""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.diagnostics.diagnostic import Applicability, Diagnostic, Rule, Severity, ValueEdit
from apportion_compiler.graph.graph import PolicyGraph
from apportion_policy.priority import NON_PREEMPTIBLE_FROM

PREEMPTIBILITY_IMPLICIT = Rule(
    "AP405",
    "preemptibility-implicit",
    Severity.WARNING,
    "a priority of 100 or more without `preemptible` cannot burst",
)


def preemptibility_implicit(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Report classes with a value of 100 or more and without an explicit preemptibility."""
    for cls in graph.policy.priority_classes:
        if cls.preemptible is None and cls.value >= NON_PREEMPTIBLE_FROM:
            yield Diagnostic(
                PREEMPTIBILITY_IMPLICIT,
                f"priority class {cls.name}",
                f"`{cls.name}` has value {cls.value} but does not set `preemptible`: kai treats values of "
                f"{NON_PREEMPTIBLE_FROM} and above as non-preemptible, and limits their workloads to the queue's guarantee",
                cls.source,
                (),
                "set preemptible=False if that is intended, or preemptible=True to let it use idle capacity",
                # This is what the engine already does: the fix does not affect running workloads.
                ValueEdit(cls.source, ("preemptible",), value=False, applicability=Applicability.SAFE),
            )
