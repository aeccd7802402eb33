"""What the quotas of a policy alone tell of a workload, for engines whose scheduler is not simulated.

They can show that a workload exceeds a limit. They never show that it starts.
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
    """Return that a workload never starts whole, if it exceeds a limit; otherwise that nothing is decided.

    Args:
        graph: Of the policy.
        scope: The cluster's.
        queue: Id of its queue.
        asked: What all its pods request, in base units.
        n_pods: Their number.
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
