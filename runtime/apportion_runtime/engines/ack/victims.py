"""Victim selection of ACK's scheduler.

The unplaced pods of a gang are handled together: either all of them fit, or nothing is evicted. A gang whose quota
including its request is within `min` may evict pods of other quotas that use more than their `min`; otherwise it may
evict only pods of lower priority in its own quota. Pods without a quota do not preempt.

The documented victim order is priority, availability and age. Here it is the lowest priority, then quotas without a
guarantee, then the newest pod; victims that turn out to be unnecessary are kept.

Source: https://help.aliyun.com/zh/ack/ack-managed-and-ack-dedicated/user-guide/enable-preemptive-scheduling.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from apportion_runtime.kube_queue.amounts import Amounts, minus
from apportion_runtime.kube_queue.tree import Tree

Used = Mapping[str, dict[str, int]]
"""Usage by path of the quota, including its descendants."""
RECLAIM, PREEMPT = "reclaim", "preempt"


@dataclass(frozen=True, slots=True)
class PlacedPod:
    """A placed pod; `quota` is None if it has none."""

    uid: str
    quota: str | None
    amount: Amounts
    priority: int
    since: float
    """Its creation time, in seconds since 1970."""


Placed = Callable[[str, float], Iterable[PlacedPod]]


@dataclass(frozen=True, slots=True)
class PendingGang:
    """The unplaced pods of a gang: their total request and highest priority."""

    quota: str | None
    amount: Amounts
    priority: int


def add(tree: Tree, used: Used, quota: str, amount: Amounts, *, sign: int = 1) -> None:
    """Add a pod's request to the usage of its quota and the ancestors, or subtract it."""
    for each in tree.upward(quota):
        held = used[each.path]
        for name, value in amount.items():
            held[name] = held.get(name, 0) + sign * value


def over_max(tree: Tree, used: Used, quota: str | None, amount: Amounts) -> str | None:
    """Return the path of the quota that a pod's request would exceed; None if it fits."""
    if quota is None:
        return None
    for each in tree.upward(quota):
        for resource, most in each.maximum.items():
            asked = amount.get(resource, 0)
            if asked and used[each.path].get(resource, 0) + asked > most:
                return each.path
    return None


def is_within_min(tree: Tree, used: Used, wanting: PendingGang) -> bool:
    """Return whether a quota is within its guarantee once a gang is placed."""
    assert wanting.quota is not None
    return tree.quotas[wanting.quota].holds_to_min(wanting.amount, used[wanting.quota])


def is_over_min(tree: Tree, used: Used, quota: str) -> bool:
    """Return whether a quota uses more of any resource than its guarantee."""
    return not tree.quotas[quota].holds_to_min(used[quota], {})


def victims(
    tree: Tree,
    used: Used,
    wanting: PendingGang,
    placed: Placed,
    fits: Callable[[Sequence[PlacedPod]], bool],
) -> tuple[str, tuple[PlacedPod, ...]] | None:
    """Return the victims and the action that allows their eviction; None if no eviction would help.

    Args:
        tree: The quotas.
        used: The usage of each.
        wanting: The pending gang.
        placed: Returns the placed pods of a quota that are not terminating, of a priority below a value.
        fits: Returns whether every pod of the gang fits without some pods.
    """
    if wanting.quota is None:
        return None
    if is_within_min(tree, used, wanting):
        right, order = RECLAIM, _lenders(tree, used, placed, wanting.quota)
    else:
        right, order = PREEMPT, _in_order(tree, placed(wanting.quota, wanting.priority))
    n_needed = _shortest(order, fits)
    if n_needed is None:
        return None
    return right, _needed(order[:n_needed], fits)


def _lenders(tree: Tree, used: Used, placed: Placed, but_for: str) -> list[PlacedPod]:
    """Return pods of other quotas in victim order, as long as their quota uses more than its `min`."""
    left = {path: dict(used[path]) for path in tree.quotas if path != but_for and is_over_min(tree, used, path)}
    selected: list[PlacedPod] = []
    for pod in _in_order(tree, (pod for path in left for pod in placed(path, math.inf))):
        assert pod.quota is not None
        if is_over_min(tree, left, pod.quota):
            selected.append(pod)
            left[pod.quota] = minus(left[pod.quota], pod.amount)
    return selected


def _in_order(tree: Tree, pods: Iterable[PlacedPod]) -> list[PlacedPod]:
    """Return pods with a quota in victim order; of pods created at the same time, the last one first."""

    def rank(pod: PlacedPod) -> tuple[int, bool, float]:
        assert pod.quota is not None
        return pod.priority, not tree.quotas[pod.quota].has_no_guarantee, -pod.since

    return sorted(sorted(pods, key=lambda pod: pod.uid, reverse=True), key=rank)


def _shortest(order: Sequence[PlacedPod], fits: Callable[[Sequence[PlacedPod]], bool]) -> int | None:
    """Return the smallest sufficient number of victims from the start; None if all are not enough."""
    if not order or not fits(order):
        return None
    low, high = 1, len(order)
    while low < high:
        middle = (low + high) // 2
        if fits(order[:middle]):
            high = middle
        else:
            low = middle + 1
    return low


def _needed(selected: Sequence[PlacedPod], fits: Callable[[Sequence[PlacedPod]], bool]) -> tuple[PlacedPod, ...]:
    """Return the necessary victims; the last in order is the first to be kept."""
    kept = list(selected)
    for pod in reversed(selected):
        without = [other for other in kept if other is not pod]
        if fits(without):
            kept = without
    return tuple(kept)
