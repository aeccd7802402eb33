"""AP406: a class is declared non-preemptible on an engine that evicts its workloads anyway.

KAI, Volcano, Koordinator, YuniKorn and ACK take an explicit label, annotation or attribute. Two engines support none:

* kube-scheduler lets a pod of a higher class preempt any pod of a lower one; `preemptionPolicy` restricts a class as
  preemptor, not as victim (kubernetes pkg/scheduler/framework/preemption).
* Kueue evicts workloads by its queues' policies and their priorities: borrowed resources are reclaimed regardless of
  the class (pkg/scheduler/preemption, reclaimWithinCohort).
"""

from __future__ import annotations

from collections.abc import Iterator

from apportion_api.counted_nouns import agreeing
from apportion_compiler.checks.engines import engine_list, engines_of
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity, ValueEdit
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.graph.graph import PolicyGraph
from apportion_policy.engine import Engine
from apportion_policy.priority import DEFAULT_PRIORITY_CLASSES, PriorityClass

PREEMPTIBILITY_MISMATCH = Rule(
    "AP406",
    "preemptibility-mismatch",
    Severity.WARNING,
    "an engine evicts workloads of a priority class that is declared non-preemptible",
)


def preemptibility_mismatch(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Compare the preemptibility of the author's classes with the clusters' engines. The built-in classes are KAI's."""
    engines = engines_of(graph)
    highest = max(graph.policy.priority_classes, key=lambda cls: cls.value, default=None)
    for cls in graph.policy.priority_classes:
        if cls.preemptible is not False or cls in DEFAULT_PRIORITY_CLASSES:
            continue
        assert highest is not None
        against: list[tuple[Engine, str]] = []
        for engine in reversed(engines):
            clause = TRAITS[engine.value].evicts_non_preemptible
            if clause and (highest.value > cls.value or not _needs_higher_class(engine)):
                against.append((engine, clause.format(f"`{highest.name}` (value {highest.value})")))
        if against:
            yield _finding(cls, highest, engines, against)


def _needs_higher_class(engine: Engine) -> bool:
    return "{}" in TRAITS[engine.value].evicts_non_preemptible


def _finding(
    cls: PriorityClass, highest: PriorityClass, engines: tuple[Engine, ...], against: list[tuple[Engine, str]]
) -> Diagnostic:
    related: tuple[Related, ...] = ()
    if highest.value > cls.value and highest not in DEFAULT_PRIORITY_CLASSES:
        related = (Related(highest.source, f"`{highest.name}` has value {highest.value}"),)
    where = tuple(engine for engine, _ in against)
    kept_by = tuple(engine for engine in engines if engine not in where)
    evict = agreeing(len(where), "evicts", "evict")
    hint = f"set `preemptible=True`, because {engine_list(where)} {evict} its workloads regardless"
    if kept_by:
        # An explicit value has an effect on these engines, and a contradicting class would lose its protection.
        hint = (
            f"run its workloads on {engine_list(kept_by)}, or waive this finding: with `preemptible=True`, its workloads "
            "would be evicted there too"
        )
    if all(map(_needs_higher_class, where)):
        hint = f"raise its value above {highest.value}, or {hint}"
    return Diagnostic(
        PREEMPTIBILITY_MISMATCH,
        f"priority class {cls.name}",
        f"`{cls.name}` (value {cls.value}) is declared non-preemptible, but "
        f"{' and '.join(text for _, text in against)}",
        cls.source,
        related,
        hint,
        ValueEdit(cls.source, ("preemptible",), value=True) if not kept_by else None,
    )
