"""AP123: the policy lowers, disables or waives a rule that is required."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Rule, Severity
from apportion_compiler.graph.declarations import Declarations
from apportion_policy.policy import RuleSeverity

REQUIRED_RULE_DISABLED = Rule(
    "AP123",
    "required-rule-disabled",
    Severity.ERROR,
    "a policy downgrades, disables or waives a required rule",
    required=True,
)


def required_rule_disabled(declarations: Declarations, as_of: date) -> Iterator[Diagnostic]:
    """Report severities and waivers of required rules, which have no effect."""
    # Imported here, because the table of all rules imports the modules of this package.
    from apportion_compiler.checks import RULES

    policy = declarations.policy
    required = {code for code, rule in RULES.items() if rule.required}
    for code, severity in policy.rules.severity.items():
        if code in required and severity is not RuleSeverity.ERROR:
            action = "disables" if severity is RuleSeverity.OFF else "downgrades"
            yield Diagnostic(
                REQUIRED_RULE_DISABLED,
                f"rule {code}",
                f"the policy {action} {code} ({RULES[code].name}), which is required and remains an error",
                policy.rules.source,
                hint=f"remove {code} from `severity`",
            )
    for waiver in policy.waivers:
        if waiver.code in required:
            yield Diagnostic(
                REQUIRED_RULE_DISABLED,
                f"waiver {waiver.code} {waiver.address}",
                f"the waiver of {waiver.code} ({RULES[waiver.code].name}) for {waiver.address} has no effect: the rule "
                "is required",
                waiver.source,
                hint="remove the waiver and fix the rule's findings",
            )
