"""The GPUs that a workload requests, read from its pod templates."""

from __future__ import annotations

from apportion_api.kai.names import GPU_DEVICES_ANNOTATION, GPU_FRACTION_ANNOTATION
from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_runtime.admission.expansion import Expansion, Slot
from apportion_runtime.snapshots.quantities import NANO, parse_quantity

_GPU = GPU_RESOURCE


def gpus_of(expansion: Expansion) -> float:
    """Return the GPUs requested by all pods that run concurrently; requests by GPU memory count as none."""
    asked: list[float] = []
    last: Slot | None = None
    for slot in expansion.slots:
        is_like_last = last is not None and slot.spec is last.spec and slot.annotations is last.annotations
        asked.append(asked[-1] if is_like_last else _asked(slot))
        last = slot
    return sum(asked if expansion.at_once is None else sorted(asked, reverse=True)[: expansion.at_once])


def _asked(slot: Slot) -> float:
    try:
        fraction = float(slot.annotations.get(GPU_FRACTION_ANNOTATION) or 0) * float(
            slot.annotations.get(GPU_DEVICES_ANNOTATION) or 1
        )
        whole = sum(_whole(container) for container in slot.spec.get("containers") or ())
    except ValueError:
        return 0.0
    return fraction + whole


def _whole(container: object) -> float:
    resources = container.get("resources") if isinstance(container, dict) else None
    amounts = {**(resources or {}).get("requests", {}), **(resources or {}).get("limits", {})}
    return parse_quantity(str(amounts.get(_GPU, 0))) / NANO
