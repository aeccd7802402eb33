"""The division of each resource among sibling queues, kept from cycle to cycle and updated by the requests that changed.

If the quota of each sibling covers its request, or if the total covers all requests and the siblings differ in their
quotas only (`_is_uncontended`), each receives its request. Only otherwise is the division computed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from apportion_runtime.core.division import QueueDemand, divide
from apportion_runtime.core.queue_share import QueueShare, demands_of
from apportion_runtime.core.queue_usage import EXACT_PARTS
from apportion_runtime.core.resources import NO_QUANTITIES, UNLIMITED

_LARGEST_EXACT = 2.0**30
"""Below it, multiples of 1/1024 are further apart than any rounding of a part of the total."""
_MOST_SIBLINGS = 1_000
"""Up to this number, the least request differs from the part by more than the rounding, unless all are equal."""
_SPLIT_EXACTLY = 2
"""Up to this number of equal weights, a part of the total is exact."""


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
        "_are_equal", "_demands", "_exceeding", "_inexact", "_inputs", "_is_covered", "_r", "_siblings", "_sum",
        "_unlimited", "_wanted",
    )  # fmt: skip

    def __init__(self, siblings: Sequence[QueueShare], r: int) -> None:
        self._r = r
        self._siblings = siblings
        self._demands = demands_of(siblings, r)
        # The request of each queue within its limit, and their sum while all are multiples of 1/1024.
        self._wanted = [demand.requestable for demand in self._demands]
        self._inexact = {i for i, wanted in enumerate(self._wanted) if not _is_exact(wanted)}
        self._sum = sum(wanted for i, wanted in enumerate(self._wanted) if i not in self._inexact)
        # Those without a quota, whose request must be covered by the total, and those whose request exceeds their quota.
        self._unlimited = frozenset(i for i, demand in enumerate(self._demands) if demand.deserved == UNLIMITED)
        self._exceeding = {i for i in range(len(siblings)) if self._exceeds_quota(i)}
        self._are_equal = _differ_in_quota(self._demands)
        # Total and k-value of the last division, and whether each queue received its request in it.
        self._inputs: tuple[float, float] | None = None
        self._is_covered = False

    def divide(self, total: float, k_value: float, changed: Iterable[int]) -> Iterable[QueueShare]:
        """Divide a total and return the queues whose share changed, given those whose requests may have changed."""
        asking = self._take_requests(changed)
        inputs = total, k_value
        is_same_total = inputs == self._inputs
        if not asking and is_same_total:
            return ()
        self._inputs = inputs
        wanted, was_covered, unlimited = self._wanted, self._is_covered, self._unlimited
        if not unlimited:
            fits = True
        elif was_covered and is_same_total:
            # The others were covered by the same total.
            fits = all(wanted[i] <= total for i in unlimited.intersection(asking))
        elif len(unlimited) == len(wanted):
            fits = max(wanted) <= total
        else:
            fits = max(map(wanted.__getitem__, unlimited)) <= total
        self._is_covered = fits and (not self._exceeding or self._is_uncontended(total, k_value))
        if self._is_covered:
            # If they were before, the others have what they want.
            return self._set_shares(asking if was_covered else range(len(wanted)), wanted)
        demands = self._demands
        for demand in demands:
            demand.share = 0.0
        divide(total, demands, k_value)
        return self._set_shares(range(len(demands)), [demand.share for demand in demands])

    def _is_uncontended(self, total: float, k_value: float) -> bool:
        """Return whether the surplus rounds give each sibling its request, because the total covers all requests.

        All weights are equal and all amounts exact, so that a round gives each unsatisfied sibling the same part, and
        at least one of them wants less than that, unless all want exactly the part. Then rounding may keep it from
        them, if it is not the quotient of a power of two: only siblings that want most can be left with such a part.
        """
        if not self._are_equal or self._inexact or k_value < 0 or not (self._sum <= total and _is_exact(total)):
            return False
        exceeding = self._exceeding
        if len(exceeding) <= _SPLIT_EXACTLY:
            return True
        wanted, demands = self._wanted, self._demands
        lacking = [wanted[i] - demands[i].deserved for i in exceeding]
        return lacking.count(max(lacking)) <= _SPLIT_EXACTLY

    def _take_requests(self, numbers: Iterable[int]) -> list[int]:
        """Note the requests of some siblings, and return those whose request changed."""
        asking: list[int] = []
        r, demands, siblings, wanted = self._r, self._demands, self._siblings, self._wanted
        # Without quotas, none is exceeded, and the sum is not needed.
        has_quotas = len(self._unlimited) < len(wanted)
        for i in numbers:
            demand, request = demands[i], siblings[i].request[r]
            if demand.request != request:
                demand.request = request
                before, limit = wanted[i], demand.limit
                wanted[i] = request if limit == UNLIMITED else min(limit, request)
                asking.append(i)
                if has_quotas:
                    self._add(i, before, wanted[i])
                    if self._exceeds_quota(i):
                        self._exceeding.add(i)
                    else:
                        self._exceeding.discard(i)
        return asking

    def _add(self, i: int, before: float, wanted: float) -> None:
        """Replace a request in the sum of those that are exact."""
        if i in self._inexact:
            self._inexact.discard(i)
        else:
            self._sum -= before
        if _is_exact(wanted):
            self._sum += wanted
        else:
            self._inexact.add(i)

    def _exceeds_quota(self, i: int) -> bool:
        quota = self._demands[i].deserved
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


def _is_exact(amount: float) -> bool:
    return -_LARGEST_EXACT < amount < _LARGEST_EXACT and (amount * EXACT_PARTS).is_integer()


def _differ_in_quota(demands: Sequence[QueueDemand]) -> bool:
    """Return whether siblings without past usage differ in their quotas and limits only, and all amounts are exact."""
    weights, priorities = {demand.weight for demand in demands}, {demand.priority for demand in demands}
    if len(demands) > _MOST_SIBLINGS:
        return False
    if len(weights) > 1 or len(priorities) > 1 or any(weight <= 0 for weight in weights):
        return False
    return all(not demand.usage and _is_exact(demand.deserved) and _is_exact(demand.limit) for demand in demands)
