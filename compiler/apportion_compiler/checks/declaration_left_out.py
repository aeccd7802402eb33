"""AP118: a declaration that is not part of the policy."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Rule, Severity
from apportion_compiler.graph.declarations import Declarations
from apportion_policy.omission import FILE, FOLDER

DECLARATION_LEFT_OUT = Rule("AP118", "declaration-left-out", Severity.ERROR, "a declaration is not part of the policy")

FIELDS = {
    "cluster": "`clusters` in an environment",
    "environment": "`environments` in the policy",
    "limit range": "`limit_ranges` in a queue",
    "node pool": "`node_pools` in the policy",
    "override": "`overrides` in a queue",
    "override of queue": "`overrides` in an environment",
    "priority class": "`priority_classes` in the policy",
    "provisioning plan": "`provisioning_plans` in the policy",
    "queue": "`queues` in the policy, or assign it to a variable in a collected file",
    "topology": "`topologies` in a cluster",
    "user limit": "`users` in a queue",
    "waiver": "`waivers` in the policy",
}


def declaration_left_out(declarations: Declarations, as_of: date) -> Iterator[Diagnostic]:
    """Report declarations of the evaluation that are not part of a policy."""
    for omission in declarations.policy.omissions:
        if omission.kind in (FILE, FOLDER):
            continue
        yield Diagnostic(
            DECLARATION_LEFT_OUT,
            f"{omission.kind} {omission.name}",
            f"the {omission.kind} `{omission.name}` is declared here but is not part of the policy",
            omission.source,
            hint=f"add it to {FIELDS[omission.kind]}, or remove it",
            severity=Severity.WARNING if omission.shared else None,
        )
