"""The division of each resource among sibling queues, kept from cycle to cycle and updated by the requests that changed.

If the quota of each sibling covers its request, each receives its request, and the surplus rounds give nothing. Only
otherwise is the division computed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from apportion_runtime.core.division import divide
from apportion_runtime.core.queue_share import QueueShare, claims_of
from apportion_runtime.core.resources import NO_QUANTITIES, UNLIMITED


class SiblingDivision:
    """The division among the children of one queue, or among the roots.

    Args:
        siblings: The queues; their quotas, limits, weights and past usage never change.

    Attributes:
        parents: The siblings that have children.
    """

    __slots__ = ("_index", "_resources", "_siblings", "parents")

    def __init__(self, siblings: Sequence[QueueShare]) -> None:
        self._siblings = siblings
        self.parents = [queue for queue in siblings if queue.children]
        self._index = {queue.name: i for i, queue in enumerate(siblings)}
        self._resources = [_ResourceDivision(siblings, r) for r in range(len(NO_QUANTITIES))]

    def divide(self, total: Sequence[float], k_value: float, asking: Collection[str]) -> Mapping[str, QueueShare]:
        """Divide a total of each resource, and return the queues whose fair shares changed.

        Args:
            total: The amounts.
            k_value: How strongly past usage counts against a queue.
            asking: The queues whose requests changed since the last call, among others.
        """
        index = self._index
        changed = [index[name] for name in asking if name in index]
        found: dict[str, QueueShare] = {}
        for resource, amount in zip(self._resources, total, strict=True):
            for queue in resource.divide(amount, k_value, changed):
                found[queue.name] = queue
        return found


class _ResourceDivision:
    """The division of one resource."""

    __slots__ = (
        "_claims", "_exceeding", "_inputs", "_is_covered", "_r", "_siblings", "_unlimited", "_wanted",
    )  # fmt: skip

    def __init__(self, siblings: Sequence[QueueShare], r: int) -> None:
        self._r = r
        self._siblings = siblings
        self._claims = claims_of(siblings, r)
        # The request of each queue within its limit.
        self._wanted = [claim.requestable for claim in self._claims]
        # Those without a quota, whose request must be covered by the total, and those whose request exceeds their quota.
        self._unlimited = frozenset(i for i, claim in enumerate(self._claims) if claim.deserved == UNLIMITED)
        self._exceeding = {i for i in range(len(siblings)) if self._exceeds_quota(i)}
        # Total and k-value of the last division, and whether each queue received its request in it.
        self._inputs: tuple[float, float] | None = None
        self._is_covered = False

    def divide(self, total: float, k_value: float, changed: Iterable[int]) -> Iterable[QueueShare]:
        """Divide a total and return the queues whose share changed, given those whose requests may have changed."""
        siblings, claims, wanted = self._siblings, self._claims, self._wanted
        asking = self._take_requests(changed)
        is_same_total = (total, k_value) == self._inputs
        if not asking and is_same_total:
            return ()
        self._inputs = total, k_value
        was_covered, unlimited = self._is_covered, self._unlimited
        # If the others were covered by the same total, they still are.
        unchecked = unlimited.intersection(asking) if was_covered and is_same_total else unlimited
        self._is_covered = not self._exceeding and all(wanted[i] <= total for i in unchecked)
        if self._is_covered:
            # If they were before, the others have what they want.
            return self._set_shares(asking if was_covered else range(len(siblings)), wanted)
        for claim in claims:
            claim.share = 0.0
        divide(total, claims, k_value)
        return self._set_shares(range(len(siblings)), [claim.share for claim in claims])

    def _take_requests(self, numbers: Iterable[int]) -> list[int]:
        """Note the requests of some siblings, and return those whose request changed."""
        asking: list[int] = []
        r = self._r
        for i in numbers:
            claim, request = self._claims[i], self._siblings[i].request[r]
            if claim.request != request:
                claim.request = request
                self._wanted[i] = claim.requestable
                asking.append(i)
                if self._exceeds_quota(i):
                    self._exceeding.add(i)
                else:
                    self._exceeding.discard(i)
        return asking

    def _exceeds_quota(self, i: int) -> bool:
        quota = self._claims[i].deserved
        return quota != UNLIMITED and not self._wanted[i] <= quota

    def _set_shares(self, numbers: Iterable[int], shares: Sequence[float]) -> list[QueueShare]:
        changed: list[QueueShare] = []
        siblings, r = self._siblings, self._r
        for i in numbers:
            queue, share = siblings[i], shares[i]
            if queue.fair[r] != share:
                queue.set_fair_share(r, share)
                changed.append(queue)
        return changed
