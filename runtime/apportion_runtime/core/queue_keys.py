"""The keys by which the queues of an order are compared, kept until the shares they depend on change.

Source: pkg/scheduler/plugins/proportion/proportion.go (queueOrder, victimQueueOrder).
"""

from __future__ import annotations

from collections.abc import Callable

from apportion_runtime.core.order_tree import OrderedQueue
from apportion_runtime.core.queue_order import Key, comes_first, order_key
from apportion_runtime.core.queue_share import QueueShare
from apportion_runtime.core.resources import NO_QUANTITIES, Quantities
from apportion_runtime.core.shares import Shares


class QueueKeys:
    """The keys of queues in an order of jobs, or of victims.

    Args:
        shares: The queues.
        plugins: The enabled plugins.
        device_memory: MiB of the smallest device of the cluster.
        victims: Whether the order is one of victims.
    """

    def __init__(self, shares: Shares, plugins: frozenset[str], device_memory: int | None, *, victims: bool) -> None:
        self._shares = shares
        self._plugins = plugins
        self._device_memory = device_memory
        self._victims = victims

    def less(self) -> Callable[[OrderedQueue, OrderedQueue], bool]:
        """Return the comparison of two siblings: whether the left comes first."""
        victims = self._victims
        keeps_shares = "proportion" in self._plugins

        def less(left: OrderedQueue, right: OrderedQueue) -> bool:
            a, b = left.share, right.share
            if not keeps_shares:
                return ((a.created, a.name) < (b.created, b.name)) != victims
            left_key, right_key = left.key, right.key
            if left_key is None or left.is_changed or left.key_version != a.version:
                left_key = self.of(left)
            if right_key is None or right.is_changed or right.key_version != b.version:
                right_key = self.of(right)
            if left_key != right_key:
                return (left_key < right_key) != victims
            return comes_first(a, b) != victims

        return less

    def of(self, queue: OrderedQueue) -> Key:
        """Return a queue's key, computed from the best job below it, and keep it with the queue."""
        leaf = queue
        while leaf.jobs is None:
            leaf = leaf.children.items[0]
        key = self._of_victims(queue, leaf) if self._victims else self._of_next(queue, leaf)
        queue.key, queue.key_version, queue.is_changed = key, queue.share.version, False
        return key

    def _of_next(self, queue: OrderedQueue, leaf: OrderedQueue) -> Key:
        assert leaf.jobs is not None
        return self.with_request(queue.share, leaf.jobs.peek().init_request(self._device_memory))

    def with_request(self, share: QueueShare, request: Quantities) -> Key:
        """Return a queue's key with the request of its next job."""
        # Kept with the shares: most shares stay the same from one order of jobs to the next.
        if share.keys_version != share.version:
            share.keys = {}
            share.keys_version = share.version
        elif (known := share.keys.get(request)) is not None:
            return known
        after = [used + more for used, more in zip(share.allocated, request, strict=True)]
        key = share.keys[request] = order_key(share, request, after, self._shares.total)
        return key

    def as_victim(self, share: QueueShare, held: Quantities) -> Key:
        """Return a queue's key without the allocation of its next victim."""
        if share.victim_key is not None and share.victim_key_version == share.version and share.victim_held == held:
            return share.victim_key
        after = [used - less for used, less in zip(share.allocated, held, strict=True)]
        share.victim_key = order_key(share, NO_QUANTITIES, after, self._shares.total)
        share.victim_key_version, share.victim_held = share.version, held
        return share.victim_key

    def _of_victims(self, queue: OrderedQueue, leaf: OrderedQueue) -> Key:
        share = queue.share
        jobs = leaf.jobs
        best = jobs.peek() if jobs is not None and jobs.items else None
        if best is not None and not leaf.popped:
            queue.made_with = None
            return self.as_victim(share, best.allocated_quantities)
        made_with = (leaf.share.name, len(leaf.popped), best)
        if queue.key is not None and queue.key_version == share.version and queue.made_with == made_with:
            return queue.key
        after = list(share.allocated)
        for victim in leaf.popped if best is None else (*leaf.popped, best):
            for r, amount in enumerate(victim.allocated_quantities):
                after[r] -= amount
        queue.made_with = made_with
        return order_key(share, NO_QUANTITIES, after, self._shares.total)
