"""Workloads that would be accepted but stay pending, and fields that an engine ignores.

Examples are a missing label, a queue that does not exist, or a suspended workload that nothing resumes. The rules
evaluate raw manifests only, which include the cluster's objects, such as its queues; without these, a rule reports
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engine_rules.workload_rules import admission_policies, common_faults, provisioning
from apportion_compiler.engine_rules.workload_rules.workload_context import Rule, context_of
from apportion_compiler.engines.registry import EngineParts, engine_parts

ENGINE_WORKLOAD_RULES: Mapping[str, tuple[Rule, ...]] = EngineParts(engine_parts("rules.pending", "RULES"))
"""Rules by the engine's name; Kubernetes' own scheduler has none besides those of every engine."""


def workload_verdicts(
    engine: str, manifests: Sequence[Manifest], existing: Sequence[Manifest] = ()
) -> Iterator[Verdict]:
    """Yield the verdicts on the workloads among manifests on a cluster with an engine.

    Args:
        engine: The engine's name.
        manifests: All objects that are applied together.
        existing: The cluster's objects: queues, classes, pod templates.
    """
    context = context_of(engine, manifests, existing)
    for rule in (
        *common_faults.RULES,
        *admission_policies.RULES,
        *provisioning.RULES,
        *ENGINE_WORKLOAD_RULES.get(engine, ()),
    ):
        yield from rule(context)
