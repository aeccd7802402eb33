"""AP111: an override has expired and no longer has an effect."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Rule, Severity
from apportion_compiler.graph.graph import PolicyGraph

OVERRIDE_EXPIRED = Rule("AP111", "override-expired", Severity.WARNING, "an override has expired")


def override_expired(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Compare the end of every override with the date of the check."""
    as_of = graph.as_of
    for node in graph.nodes.values():
        queue = node.queue
        for override in queue.overrides:
            if override.end < as_of:
                days = (as_of - override.end).days
                yield Diagnostic(
                    OVERRIDE_EXPIRED,
                    f"queue {queue.id}",
                    f"an override of `{queue.id}` ended on {override.end}, {days} day{'s' * (days != 1)} before "
                    f"{as_of}",
                    override.source,
                    hint=f"remove the override, or have {override.owner} approve a later `end` date",
                )
