"""A pod as YuniKorn's core knows it: first a request, then an allocation on a node.

Source: yunikorn-core pkg/scheduler/objects/allocation.go at be3bb487.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from apportion_runtime.engines.yunikorn.amounts import Amounts
from apportion_runtime.engines.yunikorn.fitting_nodes import Shape

if TYPE_CHECKING:
    from apportion_runtime.engines.yunikorn.applications import Application
    from apportion_runtime.engines.yunikorn.nodes import Node


@dataclass(slots=True, eq=False)
class Allocation:
    """A request, and its allocation.

    Attributes:
        key: The uid of its pod.
        application: Its application.
        amounts: What it requests.
        created: When the core received it, and its number among those of the same moment.
        priority: The pod's priority.
        task_group: Its task group; empty without one.
        is_placeholder: Whether it reserves room for a real pod of its task group.
        may_be_preempted: Whether its pod accepts preemption; one that does not is evicted last.
        may_preempt: Whether it may preempt others.
        is_originator: Whether it is the first pod of its application.
        required_node: The only node on which it may run, which is that of a DaemonSet's pod; empty for others.
        node: Its node once it is allocated.
        counterpart: The placeholder that it replaces, or the allocation that replaces it, while that is under way.
        is_released: Whether it is a placeholder that is being removed.
        is_preempted: Whether it is being evicted.
        has_preempted: Whether pods have been evicted for it, which happens once.
        checked_at: When preemption was last attempted for it.
        order: Its place among the requests of its application; None if it was made before the scheduler started.
        why: Why the last attempt to place it failed.
        shape: Its amounts in order of their names.
    """

    key: str
    application: Application
    amounts: Amounts
    created: tuple[float, int]
    priority: int = 0
    task_group: str = ""
    is_placeholder: bool = False
    may_be_preempted: bool = True
    may_preempt: bool = True
    is_originator: bool = False
    required_node: str = ""
    is_allocated: bool = False
    node: Node | None = None
    counterpart: Allocation | None = None
    is_released: bool = False
    is_preempted: bool = False
    has_preempted: bool = False
    checked_at: float = -math.inf
    order: tuple[int, float, int] | None = None
    why: str = field(default="", compare=False)
    shape: Shape = field(init=False)

    def __post_init__(self) -> None:
        self.shape = tuple(sorted(self.amounts.items()))

    @property
    def is_checked(self) -> bool:
        """Whether preemption was attempted for it."""
        return self.checked_at >= self.created[0]

    @property
    def victim_order(self) -> tuple[bool, bool, tuple[float, int]]:
        """The key by which victims are ordered: first those that accept preemption, then others than the originator, then the newest."""
        at, number = self.created
        return not self.may_be_preempted, self.is_originator, (-at, -number)
