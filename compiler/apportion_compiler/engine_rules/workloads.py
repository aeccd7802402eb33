"""Workloads that would be accepted and stay pending, and what else an engine makes of a workload that says otherwise.

Whoever wrote them: a label that is missing, a queue that is not there, a switch that nobody turns. The rules look at raw
manifests alone. What a rule must know of the cluster, such as its queues, it learns from the manifests; where they do not
speak of it, it says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engine_rules.workload_rules import admission_policies, every_engine, provisioning
from apportion_compiler.engine_rules.workload_rules.workload_context import Rule, context_of
from apportion_compiler.engines.registry import EngineParts, engine_parts

ENGINE_WORKLOAD_RULES: Mapping[str, tuple[Rule, ...]] = EngineParts(engine_parts("rules.pending", "RULES"))
"""Rules by the engine's name; of Kubernetes' own scheduler there is none beyond those of every engine."""


def workload_verdicts(
    engine: str, manifests: Sequence[Manifest], existing: Sequence[Manifest] = ()
) -> Iterator[Verdict]:
    """Yield what becomes of the workloads among manifests on a cluster with an engine.

    Args:
        engine: The engine's name.
        manifests: All that shall be applied together.
        existing: What the cluster has already: queues, classes, pod templates.
    """
    context = context_of(engine, manifests, existing)
    for rule in (
        *every_engine.RULES,
        *admission_policies.RULES,
        *provisioning.RULES,
        *ENGINE_WORKLOAD_RULES.get(engine, ()),
    ):
        yield from rule(context)
