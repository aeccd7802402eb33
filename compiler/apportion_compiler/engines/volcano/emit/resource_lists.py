"""Resource lists as Volcano counts them: supported names, units, and the meaning of a missing name.

Volcano sums in floating point; integers give the same result below 2^53.

Source: pkg/scheduler/api/resource_info.go (NewResource, LessPartly, ResourceNames) at ed72c7c81; k8s.io/kubernetes
pkg/apis/core/v1/helper/helpers.go (IsScalarResourceName).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from apportion_compiler.kubernetes_names import is_label_key
from apportion_policy.errors import QuantityError
from apportion_policy.quantity import kubernetes_units
from apportion_policy.resources import CPU, MEMORY

Counts = Mapping[str, int]
"""Amounts by resource name: memory in bytes, pods as a number, all others in thousandths."""

_WHOLE = frozenset({MEMORY, "pods"})
_BASIC = (CPU, MEMORY)


def counts(amounts: Mapping[str, object]) -> dict[str, int]:
    """Return a resource list as Volcano counts it, without unsupported names and invalid quantities."""
    counted: dict[str, int] = {}
    for name, value in amounts.items():
        if is_counted(name) and isinstance(value, str | int | float):
            try:
                counted[name] = kubernetes_units(value, 1 if name in _WHOLE else 1000)
            except QuantityError:
                continue
    return counted


def is_counted(name: str) -> bool:
    """Return whether Volcano counts a resource of this name."""
    if name in _BASIC or name in ("pods", "ephemeral-storage"):
        return True
    if name.startswith("count/"):
        return False
    return is_extended(name) or "kubernetes.io/" in name or name.startswith(("hugepages-", "attachable-volumes-"))


def is_extended(name: str) -> bool:
    """Return whether a resource is an extended resource, such as `nvidia.com/gpu`, which is counted whole."""
    if "/" not in name or "kubernetes.io/" in name or name.startswith("requests."):
        return False
    return is_label_key(f"requests.{name}")


def total(lists: Iterable[Counts]) -> dict[str, int]:
    """Return the sum; it has every name of the lists, even with an amount of 0."""
    summed: dict[str, int] = {}
    for each in lists:
        for name, amount in each.items():
            summed[name] = summed.get(name, 0) + amount
    return summed


def short_of(bound: Counts, needed: Counts) -> str | None:
    """Return a resource whose limit is less than the required amount; None if the limit suffices.

    A name missing from the limit is short of any amount, including 0, except cpu and memory, which are then 0.
    """
    for name, amount in needed.items():
        if (name not in bound and name not in _BASIC) or bound.get(name, 0) < amount:
            return name
    return None
