"""Decisions from the quotas of a policy alone, for engines whose scheduler is not simulated.

They can show that a workload exceeds a limit, but not that it starts.
"""

from __future__ import annotations

from collections.abc import Mapping

from apportion_compiler.graph.graph import PolicyGraph, Scope
from apportion_compiler.orgtree.report import effective_limits
from apportion_policy.quantity import Unlimited
from apportion_policy.resources import amount_text
from apportion_review.fit.records import Decision, Outcome


def bounded_decision(
    graph: PolicyGraph, scope: Scope, queue: str, asked: Mapping[str, int], *, n_pods: int, engine: str
) -> Decision:
    """Return that a workload never starts completely if it exceeds a limit; otherwise return no decision.

    Args:
        graph: The graph of the policy.
        scope: The scope of the cluster.
        queue: Id of its queue.
        asked: Requests of all its pods, in base units.
        n_pods: Number of pods.
        engine: Name of the engine, for the reason.
    """
    for resource, amount in sorted(asked.items()):
        limit = effective_limits(graph, scope, resource)[queue]
        if not isinstance(limit, Unlimited) and amount > limit:
            reason = (
                f"requests {amount_text(resource, amount)}, and {queue} is limited to {amount_text(resource, limit)}"
            )
            return Decision(Outcome.WAITS, queue, n_pods, reason=reason)
    return Decision(
        Outcome.UNDECIDED,
        queue,
        n_pods,
        reason=f"{engine}'s scheduler is not simulated; the request is within the limits of {queue}",
    )
