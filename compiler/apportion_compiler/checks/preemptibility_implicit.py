"""AP405: a class that is non-preemptible because of its value, as KAI derives it, without an explicit setting.

Source: KAI-Scheduler pkg/common/podgroup/preemptible.go: without an explicit setting, a priority of 100 or more is not
preemptible; plugins/proportion/capacity_policy/quota_check.go: such workloads may use only the guarantee.
"""

from __future__ import annotations

from collections.abc import Iterator

from apportion_api.counted_nouns import agreeing
from apportion_compiler.checks.engines import engine_list, engines_of
from apportion_compiler.diagnostics.diagnostic import Applicability, Diagnostic, Rule, Severity, ValueEdit
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.graph.graph import PolicyGraph
from apportion_policy.engine import Engine
from apportion_policy.priority import NON_PREEMPTIBLE_FROM, PriorityClass

PREEMPTIBILITY_IMPLICIT = Rule(
    "AP405",
    "preemptibility-implicit",
    Severity.WARNING,
    "a priority class with a value of 100 or more does not set `preemptible`",
)


def preemptibility_implicit(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Report classes with a value of 100 or more and without an explicit preemptibility, with what the engines make of it."""
    engines = engines_of(graph)
    highest = max(graph.policy.priority_classes, key=lambda cls: cls.value, default=None)
    for cls in graph.policy.priority_classes:
        if cls.preemptible is not None or cls.value < NON_PREEMPTIBLE_FROM:
            continue
        consequences = tuple(_consequences(engines, cls, highest))
        if consequences:
            yield _finding(
                cls, consequences, is_honoured=any(not TRAITS[e.value].evicts_non_preemptible for e in engines)
            )


def _consequences(engines: tuple[Engine, ...], cls: PriorityClass, highest: PriorityClass | None) -> Iterator[str]:
    """Yield a clause for each way in which engines treat non-preemptible workloads."""
    limiting = tuple(engine for engine in engines if TRAITS[engine.value].holds_to_guarantee)
    evicting = tuple(engine for engine in engines if TRAITS[engine.value].evicts_non_preemptible)
    sparing = tuple(engine for engine in engines if engine not in (*limiting, *evicting))
    if limiting:
        yield f"{engine_list(limiting)} {agreeing(len(limiting), 'limits', 'limit')} their workloads to the queue's guarantee"
    if sparing:
        yield f"{engine_list(sparing)} {agreeing(len(sparing), 'does', 'do')} not evict their workloads"
    for engine in evicting:
        clause = TRAITS[engine.value].evicts_non_preemptible
        if "{}" not in clause:
            yield clause
        elif highest is not None and highest.value > cls.value:
            yield clause.format(f"`{highest.name}` (value {highest.value})")


def _finding(cls: PriorityClass, consequences: tuple[str, ...], *, is_honoured: bool) -> Diagnostic:
    return Diagnostic(
        PREEMPTIBILITY_IMPLICIT,
        f"priority class {cls.name}",
        f"`{cls.name}` has value {cls.value} but does not set `preemptible`: classes with a value of "
        f"{NON_PREEMPTIBLE_FROM} or more are non-preemptible, "
        f"{'and' if is_honoured else 'but'} {', and '.join(consequences)}",
        cls.source,
        (),
        "set `preemptible=False` if this is intended, or `preemptible=True` to let its workloads use idle capacity"
        if is_honoured
        else "set `preemptible=True`, because no engine in the policy protects its workloads from eviction",
        # This is what is emitted already: the fix does not affect running workloads.
        ValueEdit(cls.source, ("preemptible",), value=False, applicability=Applicability.SAFE) if is_honoured else None,
    )
