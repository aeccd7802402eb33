"""Lists of resources as kube-queue counts them: cpu in millicores, everything else in whole units, rounded up.

Source: koordinator-sh/koord-queue at 298e9a8c, pkg/utils/resource.go; k8s.io/apimachinery pkg/api/resource for texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from apportion_runtime.snapshots.quantities import parse_quantity, thousandths, whole

CPU, MEMORY = "cpu", "memory"
Amounts = Mapping[str, int]
_DECIMAL = ("", "k", "M", "G", "T", "P", "E")
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def amounts(written: Mapping[str, Any] | None) -> dict[str, int]:
    """Return what a list of resources says. Raises `ValueError` for what is no quantity."""
    made: dict[str, int] = {}
    for name, said in (written or {}).items():
        nanos = parse_quantity(said)
        made[name] = thousandths(nanos) if name == CPU else whole(nanos)
    return made


def pod_amounts(spec: Mapping[str, Any]) -> dict[str, int]:
    """Return what a pod asks for: all containers together, or an init container that asks for more.

    A container that says limits and no requests asks for its limits. Raises `ValueError`.
    """
    made = total(_asked(container) for container in spec.get("containers") or ())
    for container in spec.get("initContainers") or ():
        for name, amount in _asked(container).items():
            made[name] = max(made.get(name, 0), amount)
    return total((made, amounts(spec.get("overhead"))))


def _asked(container: Mapping[str, Any]) -> dict[str, int]:
    resources = container.get("resources") or {}
    return amounts({**(resources.get("limits") or {}), **(resources.get("requests") or {})})


def total(parts: Iterable[Amounts]) -> dict[str, int]:
    """Return the sum."""
    made: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            made[name] = made.get(name, 0) + amount
    return made


def times(amount: Amounts, count: int) -> dict[str, int]:
    """Return a multiple."""
    return {name: value * count for name, value in amount.items()}


def minus(amount: Amounts, other: Amounts) -> dict[str, int]:
    """Return the difference, which may be negative."""
    return {name: amount.get(name, 0) - other.get(name, 0) for name in {**amount, **other}}


def at_least(amount: Amounts, other: Amounts) -> dict[str, int]:
    """Return the larger of both, in each resource."""
    return {name: max(amount.get(name, 0), other.get(name, 0)) for name in {**amount, **other}}


def text(resource: str, amount: int) -> str:
    """Return an amount as Kubernetes writes it."""
    if resource == CPU:
        return text("", amount // 1000) if amount % 1000 == 0 else f"{amount}m"
    step, suffixes = (1024, _BINARY) if resource == MEMORY else (1000, _DECIMAL)
    size = 0
    while amount and amount % step == 0 and size + 1 < len(suffixes):
        amount //= step
        size += 1
    return f"{amount}{suffixes[size]}"
