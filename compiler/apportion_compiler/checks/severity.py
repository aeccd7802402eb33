"""The policy's settings of rules: severities by code, and the waivers in force on a date."""

from __future__ import annotations

from datetime import date

from apportion_compiler.diagnostics.diagnostic import Severity, SeverityPolicy, Suppression
from apportion_policy.policy import Policy, RuleSeverity

_SEVERITIES = {RuleSeverity.ERROR: Severity.ERROR, RuleSeverity.WARNING: Severity.WARNING, RuleSeverity.OFF: None}


def severity_policy(policy: Policy, as_of: date) -> SeverityPolicy:
    """Return severities and the waivers that have not expired."""
    return SeverityPolicy(
        {code: _SEVERITIES[severity] for code, severity in policy.rules.severity.items()},
        {
            (waiver.code, waiver.address): Suppression(
                waiver.reason, waiver.owner, waiver.expires.isoformat(), waiver.source
            )
            for waiver in policy.waivers
            if as_of <= waiver.expires
        },
    )
