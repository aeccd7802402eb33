"""Resource lists in kube-queue's units: cpu in millicores, everything else in whole units, rounded up.

Source: koordinator-sh/koord-queue at 298e9a8c, pkg/utils/resource.go; k8s.io/apimachinery pkg/api/resource for texts.
"""

from __future__ import annotations

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_runtime.snapshots.pod_requests import CPU, MEMORY, Amounts, amounts

__all__ = ["CPU", "GPU", "MEMORY", "Amounts", "amounts", "at_least", "minus", "text", "times"]
GPU = GPU_RESOURCE
_DECIMAL = ("", "k", "M", "G", "T", "P", "E")
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def times(amount: Amounts, count: int) -> dict[str, int]:
    """Return a multiple of amounts."""
    return {name: value * count for name, value in amount.items()}


def minus(amount: Amounts, other: Amounts) -> dict[str, int]:
    """Return the difference, which may be negative."""
    return {name: amount.get(name, 0) - other.get(name, 0) for name in {**amount, **other}}


def at_least(amount: Amounts, other: Amounts) -> dict[str, int]:
    """Return the larger amount of each resource."""
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
