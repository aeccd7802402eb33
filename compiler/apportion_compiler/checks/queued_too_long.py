"""AP609: queued nodes with a longer lifetime than GKE allows."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.checks.queued_pools import queued_plans
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Rule, Severity, ValueEdit
from apportion_compiler.graph.graph import PolicyGraph
from apportion_policy.duration import duration_text, parse_duration
from apportion_policy.provisioning import (
    MAX_RUN_DURATION_PARAMETER,
    MAX_RUN_SECONDS,
    ProvisioningPlan,
    parse_run_seconds,
)

QUEUED_TOO_LONG = Rule(
    "AP609", "queued-too-long", Severity.ERROR, "nodes with queued provisioning have a lifetime of more than seven days"
)


def queued_too_long(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Compare the maximum lifetime of a plan, as a duration or as a parameter of the class, with seven days."""
    for plan in queued_plans(graph):
        if plan.max_run_duration is not None:
            seconds = parse_duration(plan.max_run_duration)
            if seconds > MAX_RUN_SECONDS:
                yield _finding(plan, duration_text(seconds), ("max_run_duration",), "7d")
        given = plan.parameters.get(MAX_RUN_DURATION_PARAMETER)
        seconds_given = None if given is None else parse_run_seconds(given)
        if given is not None and (seconds_given is None or seconds_given > MAX_RUN_SECONDS):
            wanted = f'"{given[:40]}", which is not a number of seconds' if seconds_given is None else f"{given}s"
            yield _finding(plan, wanted, ("parameters", MAX_RUN_DURATION_PARAMETER), str(MAX_RUN_SECONDS))


def _finding(plan: ProvisioningPlan, wanted: str, path: tuple[str, ...], most: str) -> Diagnostic:
    return Diagnostic(
        QUEUED_TOO_LONG,
        f"provisioning plan {plan.id}",
        f"`{plan.id}` sets the lifetime of nodes to {wanted}; GKE deletes them after 7 days ({MAX_RUN_SECONDS} seconds)",
        plan.source,
        (),
        f"set `{path[-1]}` to {most} or less",
        ValueEdit(plan.source, path, most),
    )
