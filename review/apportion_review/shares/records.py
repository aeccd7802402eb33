"""Records of the static impact of a change: guarantees and shares of queues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from apportion_policy.quantity import Unlimited


class Demand(str, Enum):
    """The demand under which shares are divided."""

    EVERYONE = "every queue requests all resources"
    SNAPSHOT = "the snapshot's requests"


@dataclass(frozen=True, slots=True)
class QueueAmounts:
    """The amounts of a queue for one resource under one policy, in base units.

    Attributes:
        guaranteed: Effective guarantee on the cluster.
        limit: Effective limit, including those of ancestors; None if none is declared.
        shares: Share for each computed demand; empty if the engine has no division of shares.
    """

    guaranteed: int | None
    limit: int | Unlimited | None
    shares: Mapping[Demand, int]


@dataclass(frozen=True, slots=True)
class ShareChange:
    """One queue and resource of a cluster, before and after. None where the queue does not exist.

    Attributes:
        queue: Id in the head, or in the base if it is not in the head.
        resource: The policy's resource name: `h100`, `cpu`.
        owner: Effective owner of the queue in the head (or base); empty without one.
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
    """Capacity of a resource on a cluster compared with the sum of guarantees, in base units.

    Attributes:
        resource: The policy's resource name.
        capacity_before: Capacity of the base's pools; None if not declared.
        capacity_after: Likewise for the head.
        guaranteed_before: Sum of the top queues' guarantees in the base.
        guaranteed_after: Likewise for the head.
        one_node_down_before: Capacity of the base without its largest node and without nodes of queued provisioning;
            None if not declared.
        one_node_down_after: Likewise for the head.
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
