"""Records of the static impact of a change: what each queue is guaranteed and would be given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from apportion_policy.quantity import Unlimited


class Demand(str, Enum):
    """Who asks for what while shares are divided."""

    EVERYONE = "every queue requests all resources"
    SNAPSHOT = "the snapshot's requests"


@dataclass(frozen=True, slots=True)
class QueueAmounts:
    """What one queue has of one resource under one policy; amounts in the policy's base units.

    Attributes:
        guaranteed: In force on the cluster.
        limit: With the ancestors' limits applied; None if nothing is declared.
        shares: Share for each demand that was computed; empty if the engine has no division of shares.
    """

    guaranteed: int | None
    limit: int | Unlimited | None
    shares: Mapping[Demand, int]


@dataclass(frozen=True, slots=True)
class ShareChange:
    """One queue and resource of a cluster, before and after. None where the queue does not exist.

    Attributes:
        queue: Id in the head, or in the base where the head has none.
        resource: As the policy names it: `h100`, `cpu`.
        owner: Owner of the queue in force in the head (or base); empty without one.
        is_touched: Whether the author changed a field of the queue itself.
    """

    queue: str
    resource: str
    owner: str
    base: QueueAmounts | None
    head: QueueAmounts | None
    is_touched: bool = False


@dataclass(frozen=True, slots=True)
class PoolHeadroom:
    """Capacity of a resource on a cluster beside the sum of guarantees, in base units.

    Attributes:
        resource: As the policy names it.
        capacity_before: Of the base's pools; None if it declares none.
        capacity_after: Likewise of the head.
        guaranteed_before: Sum of the top queues' guarantees in the base.
        guaranteed_after: Likewise in the head.
        one_node_down_before: Capacity of the base without the node that holds most; nodes that are queued for are not
            counted. None if it is not declared.
        one_node_down_after: Likewise of the head.
    """

    resource: str
    capacity_before: int | None
    capacity_after: int | None
    guaranteed_before: int
    guaranteed_after: int
    one_node_down_before: int | None = None
    one_node_down_after: int | None = None

    @property
    def is_changed(self) -> bool:
        """Whether any of the amounts differs."""
        return (self.capacity_before, self.guaranteed_before, self.one_node_down_before) != (
            self.capacity_after,
            self.guaranteed_after,
            self.one_node_down_after,
        )
