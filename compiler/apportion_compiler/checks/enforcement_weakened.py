"""AP125: an environment or a cluster weakens enforcement without the caller's approval.

The rule is required. It is an error if the caller lists the clusters that may do so (a flag, a variable or the settings
of a base revision), and a warning otherwise, to allow a gradual adoption.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Rule, Severity
from apportion_compiler.graph.graph import PolicyGraph
from apportion_policy.cluster import Admission, Cluster, Environment

ENFORCEMENT_WEAKENED = Rule(
    "AP125",
    "enforcement-weakened",
    Severity.ERROR,
    "an environment or cluster enforces less than the policy requires",
    required=True,
)

_LEFT_TO_OTHERS: Mapping[str, tuple[str, ...]] = {
    "admission": ("admission policies",),
    "quotas": ("ResourceQuotas", "LimitRanges"),
}
"""Families of objects that enforce the policy. Without the other families, no queue exceeds the policy."""
_LETS_IN = {Admission.WARN: "only warn about", Admission.AUDIT: "only record"}


def enforcement_weakened(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Report environments whose admission policies do not deny, and clusters whose enforcement is managed elsewhere."""
    for environment in graph.policy.environments:
        if environment.admission in _LETS_IN:
            message = (
                f"the admission policies in `{environment.name}` {_LETS_IN[environment.admission]} forbidden "
                "workloads instead of rejecting them"
            )
            yield from _finding(graph, environment.name, f"environment {environment.name}", message, environment)
        for cluster in environment.clusters:
            elsewhere = cluster.managed_elsewhere
            left = [kind for family in _LEFT_TO_OTHERS if family in elsewhere for kind in _LEFT_TO_OTHERS[family]]
            if left:
                scope = f"{environment.name}/{cluster.name}"
                kinds = " and ".join((", ".join(left[:-1]), left[-1]) if left[1:] else left)
                message = (
                    f"the {kinds} on `{scope}` are managed outside this policy and may enforce less than it requires"
                )
                yield from _finding(graph, scope, f"cluster {scope}", message, cluster)


def _finding(
    graph: PolicyGraph, scope: str, address: str, message: str, at: Environment | Cluster
) -> Iterator[Diagnostic]:
    agreed = graph.policy.agreement
    if agreed.allows_weaker(scope):
        return
    cure = 'set `admission` to "deny"' if isinstance(at, Environment) else "remove them from `managed_elsewhere`"
    yield Diagnostic(
        ENFORCEMENT_WEAKENED,
        address,
        message,
        at.source,
        hint=f"{cure}, or have the operator allow this with `--weaker-enforcement {scope}` or the setting "
        "`weaker-enforcement` on the base branch",
        severity=Severity.WARNING if agreed.weaker_enforcement is None else None,
        scope=scope,
    )
