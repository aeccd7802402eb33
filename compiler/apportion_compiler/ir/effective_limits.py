"""The effective limit of each queue: its own, combined with those of its ancestors."""

from __future__ import annotations

from collections.abc import Mapping

from apportion_compiler.ir.program import Program
from apportion_policy.quantity import Amount, smaller


def effective_limits(program: Program) -> Mapping[str, Mapping[str, Amount]]:
    """Return each queue's limit combined with those of its ancestors, taking the smaller one."""
    effective: dict[str, Mapping[str, Amount]] = {}
    for queue in program.queues:
        inherited = effective[queue.parent] if queue.parent is not None else {}
        effective[queue.id] = smaller_limits(queue.limit, inherited)
    return effective


def smaller_limits(limit: Mapping[str, Amount], inherited: Mapping[str, Amount]) -> Mapping[str, Amount]:
    """Return the smaller of two limits for each resource in either of them."""
    merged = dict(inherited)
    for resource, amount in limit.items():
        merged[resource] = smaller(amount, merged[resource]) if resource in merged else amount
    return merged
