"""Comparison of a random policy's quotas with those that a reader imports from a quota tree.

Random policies are inconsistent: guarantees exceed the capacity, or limits. Only resources with consistent amounts,
which the checks enforce, are compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from apportion_compiler.backends.quota_tree import declared_amount
from apportion_compiler.ir.program import Program, Queue
from apportion_compiler.readers.record import QueueRecord
from apportion_policy.quantity import UNLIMITED, Amount, Unlimited, is_over, smaller


def promised(queue: Queue, resource: str) -> Amount:
    """Return a queue's guarantee, in whole GPUs."""
    return declared_amount(queue.guaranteed, resource) or 0


def bounds(program: Program, resource: str) -> dict[str | None, Amount]:
    """Return the limit of each queue, combined with those of its ancestors."""
    found: dict[str | None, Amount] = {None: UNLIMITED}
    for queue in program.queues:
        own = declared_amount(queue.limit, resource)
        found[queue.id] = smaller(UNLIMITED if own is None else own, found[queue.parent])
    return found


def lifted_bounds(queues: Sequence[QueueRecord], resource: str) -> dict[str | None, Amount]:
    """Return the imported limits, combined with those of the ancestors."""
    found: dict[str | None, Amount] = {None: UNLIMITED}
    for queue in queues:
        found[queue.id] = smaller(queue.limit.get(resource, UNLIMITED), found[queue.parent])
    return found


def makes_sense(program: Program, resource: str) -> bool:
    """Return whether siblings' guarantees fit the parent and their limits, with at most one UNLIMITED sibling."""
    bound = bounds(program, resource)
    by_id = {queue.id: queue for queue in program.queues}
    children: dict[str | None, list[Amount]] = {}
    for queue in program.queues:
        amount = promised(queue, resource)
        if is_over(amount, bound[queue.id]):
            return False
        children.setdefault(queue.parent, []).append(amount)
    for parent, amounts in children.items():
        everything = sum(isinstance(amount, Unlimited) for amount in amounts)
        total = sum(amount for amount in amounts if not isinstance(amount, Unlimited))
        held = UNLIMITED if parent is None else promised(by_id[parent], resource)
        if everything > 1 or (everything and not isinstance(held, Unlimited)) or is_over(total, held):
            return False
    return True


def within(amounts: Mapping[str | None, Amount], size: int) -> dict[str | None, Amount]:
    """Return amounts capped at the capacity: a limit of the cluster's size has no effect."""
    return {id_: smaller(amount, size) for id_, amount in amounts.items() if id_ is not None}
