"""The fair share of each queue where every queue requests everything, as KAI Scheduler divides a cluster's GPUs.

Source: KAI v0.17.0, pkg/scheduler/plugins/proportion/resource_division, in `apportion_runtime.core.division`.
"""

from __future__ import annotations

from collections.abc import Mapping

from apportion_policy.quantity import Unlimited
from apportion_policy.resources import GPU
from apportion_review.facts import QUEUE, Fact, Facts, Value
from apportion_runtime.core.division import UNLIMITED, Claim, divide
from apportion_runtime.core.snapshot import Queue, Settings

NOTE = "Fair shares assume that every queue requests all resources, and that all queues are the same age."
_UNIT = 1000


def kai_fair_shares(facts: Facts, cluster: str, resource: str, capacity: int) -> Mapping[str, int]:
    """Return each queue's share of a resource in thousandths of a GPU.

    Args:
        facts: Of the policy.
        cluster: Such as `prod/gpu-1`.
        resource: `gpu` or `gpu/<model>`.
        capacity: Of the cluster, in thousandths.
    """
    children: dict[str | None, list[str]] = {}
    for queue, parent in facts.parents.items():
        children.setdefault(parent, []).append(queue)
    held = {queue: _Held(facts, cluster, queue, resource) for queue in facts.parents}
    total = capacity / _UNIT
    requests: dict[str, float] = {}
    for queue in reversed(tuple(facts.parents)):
        # KAI does not bound the request of a queue by the limits of those below it.
        requests[queue] = sum(requests[child] for child in children[queue]) if queue in children else total
    shares: dict[str, int] = {}
    pending: list[tuple[str | None, float]] = [(None, total)]
    while pending:
        parent, amount = pending.pop()
        claims = [held[queue].claim(queue, requests[queue]) for queue in children.get(parent, ())]
        divide(amount, claims, Settings().k_value)
        for claim in claims:
            shares[claim.name] = round(claim.share * _UNIT)
            pending.append((claim.name, claim.share))
    return shares


class _Held:
    """What a queue declares of a resource, in the engine's units."""

    def __init__(self, facts: Facts, cluster: str, queue: str, resource: str) -> None:
        def value(*field: str) -> Value | None:
            return facts.values.get(Fact(QUEUE, queue, cluster, field))

        self.deserved = _amount(value("guaranteed", resource), 0.0)
        self.limit = _amount(value("limit", resource), UNLIMITED)
        weight, priority = value("over_quota_weight", GPU), value("priority")
        self.weight = weight / _UNIT if isinstance(weight, int) else 1.0
        self.priority = priority if isinstance(priority, int) else Queue(queue, None).priority

    def claim(self, name: str, request: float) -> Claim:
        """Return its claim on what its parent has."""
        return Claim(name, self.deserved, self.limit, self.weight, request, self.priority, 0.0)


def _amount(value: Value | None, unset: float) -> float:
    if isinstance(value, Unlimited):
        return UNLIMITED
    return value / _UNIT if isinstance(value, int) else unset
