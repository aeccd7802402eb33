"""Resource lists of quota trees as amounts of the IR: ACK's ElasticQuotaTree and Koordinator's ElasticQuota.

Both require a number for unlimited amounts. A maximum equal to the parent's has no effect of its own, and the
substitute for an unknown cluster size is not a limit: both are imported as unlimited.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apportion_api.ack.names import MAX_JOBS_KEY
from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_compiler.backends.quota_tree import stands_for_no_size
from apportion_compiler.readers.record import PoolRecord
from apportion_policy.errors import QuantityError
from apportion_policy.quantity import UNLIMITED, Amount, kubernetes_units
from apportion_policy.resources import CPU, GPU, MEMORY

GPU_KEY = GPU_RESOURCE
_UNITS = {CPU: (CPU, 1000, 1), MEMORY: (MEMORY, 1, 1), GPU_KEY: (GPU, 1, 1000)}
"""For each key, the resource, and the engine's and the IR's number of units per base unit."""


def amounts_of(listed: Mapping[str, object], where: str) -> dict[str, int]:
    """Return a resource list in the IR's base units, rounded up like the engine.

    Args:
        listed: Quantities by resource name.
        where: The object and the field, for the message.

    Raises:
        ValueError: If a value is not a quantity, or negative.
    """
    found: dict[str, int] = {}
    for key, value in listed.items():
        if key == MAX_JOBS_KEY:
            continue
        resource, parts, scale = _UNITS.get(key, (key, 1, 1))
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError(f"{where}.{key}: {value!r} is not a quantity")
        try:
            amount = kubernetes_units(value, parts) * scale
        except QuantityError as fault:
            raise ValueError(f"{where}.{key}: {fault}") from fault
        if amount < 0:
            raise ValueError(f"{where}.{key}: {value} is negative")
        found[resource] = amount
    return found


def guaranteed_amounts(listed: Mapping[str, int], stand_ins: str | None) -> dict[str, Amount]:
    """Return the guarantees of a minimum; `stand_ins` are the resources whose number represents UNLIMITED."""
    everything = frozenset((stand_ins or "").split(","))
    return {resource: UNLIMITED if resource in everything else amount for resource, amount in listed.items()}


def bounds(listed: Mapping[str, int], parents: Mapping[str, int]) -> dict[str, Amount]:
    """Return the limits of a maximum that are stricter than the parent's."""
    return {
        resource: amount
        for resource, amount in listed.items()
        if amount != parents.get(resource) and not stands_for_no_size(resource, amount)
    }


def size_pools(total: Mapping[str, int], prefix: str, gpu_model: str) -> Iterator[PoolRecord]:
    """Yield pools with a total size: one machine for cpu and memory, and one for each GPU.

    An engine that requires the cluster's size gets it from the policy's pools, and its objects contain only the total.
    """
    known = {r: amount for r, amount in total.items() if not stands_for_no_size(r, amount)}
    common = {resource: known[resource] for resource in (CPU, MEMORY) if resource in known}
    if common:
        yield PoolRecord(prefix, machine=common)
    n_gpus = known.get(GPU, 0) // 1000
    if n_gpus:
        none = dict.fromkeys(common, 0)
        yield PoolRecord(f"{prefix}-gpus", gpu_model, machine={**none, GPU: 1000}, n_machines=n_gpus)


def jobs_at_once(*listed: Mapping[str, object]) -> Iterator[str]:
    """Yield the key that counts jobs, if present."""
    if any(MAX_JOBS_KEY in amounts for amounts in listed):
        yield MAX_JOBS_KEY
