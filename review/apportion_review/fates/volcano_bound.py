"""Running pods that Volcano may reclaim for other queues, for any demand: a bound from its configuration.

The usage of a queue never exceeds its real capability, which the action `allocate` and the plugin's preemptive function
check. `reclaim` does not check its ancestors, so the usage of an ancestor may reach the sum of its leaves.

Source: pkg/scheduler/plugins/capacity/capacity.go at ed72c7c8 (AddPreemptiveFn, AddReclaimableFn).
"""

from __future__ import annotations

from collections.abc import Mapping

from apportion_runtime.engines.volcano.amounts import UNBOUNDED, Amounts, common
from apportion_runtime.engines.volcano.capacity import DEFAULT, ROOT, Capacity, Queue
from apportion_runtime.engines.volcano.reclaim_rules import is_spared, levels_above, levels_to_ask
from apportion_runtime.snapshots.pod_requests import CPU, MEMORY


class ReclaimBound:
    """The possible reclaimers of a cluster's queues.

    Args:
        capacity: The queues, with the usage of running pods.
    """

    def __init__(self, capacity: Capacity) -> None:
        self._capacity = capacity
        names = [name for name in capacity.queues if capacity.is_leaf(name) and name != ROOT]
        self._leaves = sorted(names, key=lambda name: (name == DEFAULT, name))
        self._reclaimers = [name for name in self._leaves if self._may_take(capacity.queues[name])]
        self._below: dict[str, list[Queue]] = {}
        for name in self._leaves:
            for above in capacity.queues[name].ancestors:
                self._below.setdefault(above, []).append(capacity.queues[name])
        self._found: dict[tuple[str, tuple[str, ...]], str | None] = {}

    def reclaimer(self, name: str, request: Amounts) -> str | None:
        """Return a queue that may reclaim a pod with a request from a queue; None if there is none."""
        held = {resource: amount for resource, amount in request.items() if amount > 0}
        key = name, tuple(sorted(held))
        if key not in self._found:
            self._found[key] = self._reclaimer(self._capacity.queues[name], held)
        return self._found[key]

    def _reclaimer(self, reclaimee: Queue, held: Mapping[str, int]) -> str | None:
        if self._capacity.fault:
            # No queue reclaims until the tree is fixed, and then any may.
            return next((name for name in self._leaves if name != reclaimee.name), None)
        if not self._may_give(reclaimee, held):
            return None
        for name in self._reclaimers:
            reclaimer = self._capacity.queues[name]
            # The queue may deserve other resources of the pod's request.
            if name == reclaimee.name or is_spared(self._capacity, reclaimer, reclaimee, reclaimer.deserved, held):
                continue
            if all(self._may_give(above, held) for above in levels_to_ask(self._capacity, reclaimer, reclaimee)):
                return name
        return None

    def _may_take(self, queue: Queue) -> bool:
        """Return whether a queue may reclaim: it, or an ancestor that is checked too, deserves anything."""
        asked = [queue, *(above for above in levels_above(self._capacity, queue) if above.name != ROOT)]
        return queue.spec.is_open and any(any(amount > 0 for amount in each.deserved.values()) for each in asked)

    def _may_give(self, queue: Queue, held: Mapping[str, int]) -> bool:
        """Return whether a queue may ever exceed what it deserves of a pod's resources, or deserves none of them."""
        if not common(held, queue.deserved):
            return True
        return any(
            self._most(queue, resource) > queue.deserved.get(resource, 0)
            for resource in held
            if (queue.deserved.get(resource, 0) > 0 if resource in (CPU, MEMORY) else resource in queue.deserved)
        )

    def _most(self, queue: Queue, resource: str) -> int:
        """Return the maximum usage of a queue for a resource."""
        leaves = self._below.get(queue.name) or [queue]
        return sum(max(self._bound(leaf, resource), leaf.allocated.get(resource, 0)) for leaf in leaves)

    def _bound(self, leaf: Queue, resource: str) -> int:
        # Without a tree, the maximum usage depends on the nodes, and nodes may be added.
        bound = leaf.real if self._capacity.hierarchy else leaf.capability
        return bound.get(resource, UNBOUNDED)
