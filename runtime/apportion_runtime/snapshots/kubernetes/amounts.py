"""Lists of resources in the units of vectors: cpu in millicores, extended resources in thousandths, others whole.

Source: pkg/scheduler/api/resource_info (resource_info.go, resource_requirment.go, resource_vector.go).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apportion_api.kubernetes.names import WHOLE_GPUS
from apportion_runtime.core.resources import is_mig
from apportion_runtime.snapshots.faults import NEGATIVE, QUANTITY, Fault
from apportion_runtime.snapshots.kubernetes.objects import Object
from apportion_runtime.snapshots.quantities import parse_quantity, thousandths, whole

CPU, MEMORY, PODS = "cpu", "memory", "pods"
_STORAGE = ("ephemeral-storage", "storage")
_GPU = "gpu"
_HINT = "use a quantity such as 500m, 2 or 16Gi"


def parsed(
    written: Mapping[str, Any] | None, of: Object, path: tuple[str | int, ...], faults: list[Fault]
) -> dict[str, int]:
    """Return quantities in billionths; invalid and negative ones are reported as faults and left out."""
    made: dict[str, int] = {}
    for name, text in (written or {}).items():
        if text is None:
            continue
        try:
            nanos = parse_quantity(text)
        except ValueError as wrong:
            faults.append(Fault(QUANTITY, of.address, f"`{name}`: {wrong}", _HINT, of.place.at(*path, name)))
            continue
        if nanos < 0:
            message = f"`{name}: {text}` is negative"
            faults.append(Fault(NEGATIVE, of.address, message, "use a non-negative amount", of.place.at(*path, name)))
            continue
        made[name] = nanos
    return made


def is_scalar(name: str) -> bool:
    """Return whether the engine counts a resource in addition to cpu, memory, GPUs and storage."""
    prefix, slash, _ = name.partition("/")
    if name.startswith(("hugepages-", "attachable-volumes-")) or "kubernetes.io/" in name:
        return True
    return bool(slash) and not prefix.startswith("requests.")


def scalar(name: str, nanos: int) -> int | None:
    """Return the amount of a resource that is neither cpu, memory nor GPUs; None if the engine does not count it."""
    if is_mig(name) or name in _STORAGE:
        return whole(nanos)
    return thousandths(nanos) if is_scalar(name) else None


def allocatable(quantities: Mapping[str, int]) -> dict[str, float]:
    """Return the resources of a node, in the units of vectors."""
    made: dict[str, float] = {CPU: 0.0, MEMORY: 0.0, _GPU: 0.0, PODS: 0.0}
    odd: float | None = None
    for name, nanos in sorted(quantities.items()):
        if not nanos:
            continue
        if name == CPU:
            made[CPU] = float(thousandths(nanos))
        elif name in (MEMORY, PODS):
            made[name] = float(whole(nanos))
        elif name in WHOLE_GPUS:
            made[_GPU] += whole(nanos)
        else:
            amount = scalar(name, nanos)
            if amount is None:
                continue
            if name.endswith(_GPU):
                # All resource names with this suffix map to one GPU resource; the last value takes effect.
                odd = float(amount)
            else:
                made[name] = float(amount)
    if odd is not None:
        made[_GPU] = odd
    return {name: amount for name, amount in made.items() if amount or name in (CPU, MEMORY, PODS)}


def plain(quantities: Mapping[str, int]) -> dict[str, float]:
    """Return amounts as zones count them: cpu in millicores, everything else whole."""
    made: dict[str, float] = {}
    for name, nanos in quantities.items():
        key = _GPU if name.endswith(_GPU) else name
        made[key] = made.get(key, 0.0) + (thousandths(nanos) if name == CPU else whole(nanos))
    return made
