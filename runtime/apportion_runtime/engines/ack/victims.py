"""Whose pods ACK's scheduler takes for pods that found no place.

All pods of a gang that have no place are taken together: either each of them gets one, or nobody is evicted for them. A
gang whose quota, with all that it asks for, is within its `min` may take the pods of other quotas that use more than
theirs; one beyond takes pods of its own quota alone, of a lower priority. What counts at no quota takes nothing.

Who goes first is documented as a matter of priority, availability and age. Here it is the lowest priority, then quotas
that are promised nothing, then the newest pod; from those whom it takes, whoever is not needed after all stays.

Source: https://help.aliyun.com/zh/ack/ack-managed-and-ack-dedicated/user-guide/enable-preemptive-scheduling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from apportion_runtime.engines.ack.amounts import Amounts, minus
from apportion_runtime.engines.ack.tree import Tree

Used = Mapping[str, dict[str, int]]
"""By full name of a quota what its pods use, with everything below it."""
RECLAIM, PREEMPT = "reclaim", "preempt"


@dataclass(frozen=True, slots=True)
class PlacedPod:
    """A pod that has a place; `quota` None counts nowhere."""

    uid: str
    quota: str | None
    amount: Amounts
    priority: int
    since: float
    """When it was made, in seconds since 1970."""


@dataclass(frozen=True, slots=True)
class PendingGang:
    """The pods of a gang that have no place: what they ask for together, and the highest priority among them."""

    quota: str | None
    amount: Amounts
    priority: int


def add(tree: Tree, used: Used, quota: str, amount: Amounts, *, sign: int = 1) -> None:
    """Add what a pod asks for to what is used of its quota, and of those above it; or take it away again."""
    for each in tree.upward(quota):
        held = used[each.path]
        for name, value in amount.items():
            held[name] = held.get(name, 0) + sign * value


def over_max(tree: Tree, used: Used, quota: str | None, amount: Amounts) -> str | None:
    """Return the full name of the quota that has no room for what a pod asks for; None where all have."""
    if quota is None:
        return None
    for each in tree.upward(quota):
        for resource, most in each.maximum.items():
            asked = amount.get(resource, 0)
            if asked and used[each.path].get(resource, 0) + asked > most:
                return each.path
    return None


def is_within_min(tree: Tree, used: Used, wanting: PendingGang) -> bool:
    """Tell whether a quota has no more than it is promised once a gang has its places."""
    assert wanting.quota is not None
    return tree.quotas[wanting.quota].holds_to_min(wanting.amount, used[wanting.quota])


def is_over_min(tree: Tree, used: Used, quota: str) -> bool:
    """Tell whether a quota has more of something than it is promised."""
    return not tree.quotas[quota].holds_to_min(used[quota], {})


def victims(
    tree: Tree,
    used: Used,
    wanting: PendingGang,
    placed: Callable[[str], Iterable[PlacedPod]],
    fits: Callable[[Sequence[PlacedPod]], bool],
) -> tuple[str, tuple[PlacedPod, ...]] | None:
    """Return by which right pods are taken, and which ones; None where no eviction would help.

    Args:
        tree: The quotas.
        used: What is used of each.
        wanting: The gang.
        placed: Returns the pods of a quota that have a place, without those that are leaving it.
        fits: Told who would be gone, tells whether every pod of the gang would have a place.
    """
    if wanting.quota is None:
        return None
    if is_within_min(tree, used, wanting):
        right, order = RECLAIM, _lenders(tree, used, placed, wanting.quota)
    else:
        lower = (pod for pod in placed(wanting.quota) if pod.priority < wanting.priority)
        right, order = PREEMPT, _in_order(tree, lower)
    n_needed = _shortest(order, fits)
    if n_needed is None:
        return None
    return right, _needed(order[:n_needed], fits)


def _lenders(tree: Tree, used: Used, placed: Callable[[str], Iterable[PlacedPod]], but_for: str) -> list[PlacedPod]:
    """Return the pods of other quotas in the order in which they go, as long as their quota has more than its `min`."""
    left = {path: dict(used[path]) for path in tree.quotas if path != but_for and is_over_min(tree, used, path)}
    going: list[PlacedPod] = []
    for pod in _in_order(tree, (pod for path in left for pod in placed(path))):
        assert pod.quota is not None
        if is_over_min(tree, left, pod.quota):
            going.append(pod)
            left[pod.quota] = minus(left[pod.quota], pod.amount)
    return going


def _in_order(tree: Tree, pods: Iterable[PlacedPod]) -> list[PlacedPod]:
    """Return pods that count somewhere, first the one that goes first; of those made at one moment the last one."""

    def rank(pod: PlacedPod) -> tuple[int, bool, float]:
        assert pod.quota is not None
        return pod.priority, not tree.quotas[pod.quota].has_no_guarantee, -pod.since

    return sorted(sorted(pods, key=lambda pod: pod.uid, reverse=True), key=rank)


def _shortest(order: Sequence[PlacedPod], fits: Callable[[Sequence[PlacedPod]], bool]) -> int | None:
    """Return how many have to go at least, from the first on; None where all of them are not enough."""
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


def _needed(going: Sequence[PlacedPod], fits: Callable[[Sequence[PlacedPod]], bool]) -> tuple[PlacedPod, ...]:
    """Return those of them without whom it does not go; who goes last is asked first whether it may stay."""
    kept = list(going)
    for pod in reversed(going):
        without = [other for other in kept if other is not pod]
        if fits(without):
            kept = without
    return tuple(kept)
