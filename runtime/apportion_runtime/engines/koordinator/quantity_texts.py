"""Amounts of resources in the messages of Koordinator, as Kubernetes writes quantities.

Source: pkg/scheduler/plugins/elasticquota/plugin_helper.go (printResourceList); k8s.io/apimachinery pkg/api/resource.
"""

from __future__ import annotations

from apportion_runtime.snapshots.pod_requests import CPU, MEMORY, Amounts

_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def amounts_text(amounts: Amounts) -> str:
    """Return amounts by resource, such as `cpu:4,memory:8Gi`; `<empty>` if there are none."""
    return ",".join(f"{name}:{_text(name, amount)}" for name, amount in sorted(amounts.items())) or "<empty>"


def _text(resource: str, amount: int) -> str:
    if resource == CPU:
        return f"{amount}m" if amount % 1000 else str(amount // 1000)
    size = 0
    while resource == MEMORY and amount and amount % 1024 == 0 and size + 1 < len(_BINARY):
        amount //= 1024
        size += 1
    return f"{amount}{_BINARY[size]}"
