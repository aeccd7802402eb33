"""AP113: a waiver has expired and no longer suppresses anything."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Rule, Severity
from apportion_compiler.graph.graph import PolicyGraph

WAIVER_EXPIRED = Rule("AP113", "waiver-expired", Severity.ERROR, "a waiver has expired")


def waiver_expired(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Compare the expiry of every waiver with the date of the check."""
    as_of = graph.as_of
    for waiver in graph.policy.waivers:
        if waiver.expires < as_of:
            days = (as_of - waiver.expires).days
            yield Diagnostic(
                WAIVER_EXPIRED,
                f"waiver {waiver.code} {waiver.address}",
                f"the waiver of {waiver.code} for {waiver.address} expired on {waiver.expires}, "
                f"{days} day{'s' * (days != 1)} before {as_of}",
                waiver.source,
                hint=f"fix the {waiver.code} finding and remove the waiver, or ask {waiver.owner} to approve a later "
                "`expires` date",
            )
