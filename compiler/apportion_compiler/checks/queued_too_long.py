"""AP609: queued machines that are to live longer than GKE lets them."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.checks.queued_pools import MAX_RUN_DURATION_PARAMETER, MAX_RUN_SECONDS, queued_plans
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Rule, Severity, ValueEdit
from apportion_compiler.graph.graph import PolicyGraph
from apportion_policy.duration import duration_text, parse_duration
from apportion_policy.provisioning import ProvisioningPlan

QUEUED_TOO_LONG = Rule("AP609", "queued-too-long", Severity.ERROR, "queued machines are to live longer than seven days")


def queued_too_long(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Compare the longest life that a plan sets, as a duration or as the class's parameter, with seven days."""
    for plan in queued_plans(graph):
        if plan.max_run_duration is not None:
            seconds = parse_duration(plan.max_run_duration)
            if seconds > MAX_RUN_SECONDS:
                yield _finding(plan, duration_text(seconds), ("max_run_duration",), "7d")
        given = plan.parameters.get(MAX_RUN_DURATION_PARAMETER, "")
        if given.isdecimal() and int(given) > MAX_RUN_SECONDS:
            path = ("parameters", MAX_RUN_DURATION_PARAMETER)
            yield _finding(plan, f"{given}s", path, str(MAX_RUN_SECONDS))


def _finding(plan: ProvisioningPlan, wanted: str, path: tuple[str, ...], most: str) -> Diagnostic:
    return Diagnostic(
        QUEUED_TOO_LONG,
        f"provisioning plan {plan.id}",
        f"`{plan.id}` lets nodes live {wanted}; GKE ends them after 7 days ({MAX_RUN_SECONDS} seconds)",
        plan.source,
        (),
        f"lower {path[-1]} of `{plan.id}` to {most}",
        ValueEdit(plan.source, path, most),
    )
