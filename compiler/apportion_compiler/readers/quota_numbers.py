"""Resource lists of quota trees as the IR's amounts: ACK's ElasticQuotaTree and Koordinator's ElasticQuota.

Both have a number where a policy has "no bound". A maximum that is the parent's own bounds nothing more than that does,
and one larger than any cluster bounds nothing at all, so both are read as no bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apportion_compiler.backends.quota_tree import is_larger_than_any_cluster
from apportion_policy.errors import QuantityError
from apportion_policy.quantity import UNLIMITED, Amount, kubernetes_units
from apportion_policy.resources import CPU, GPU, MEMORY

GPU_KEY = "nvidia.com/gpu"
MAX_JOBS_KEY = "kube-queue/max-jobs"
_UNITS = {CPU: (CPU, 1000, 1), MEMORY: (MEMORY, 1, 1), GPU_KEY: (GPU, 1, 1000)}
"""Of a key: the resource, the parts of one unit that the engine counts, and the IR's parts of what it counts."""


def amounts_of(listed: Mapping[str, object], where: str) -> dict[str, int]:
    """Return a resource list in the IR's base units, what an engine rounds up rounded up.

    Args:
        listed: Quantities by resource name.
        where: The object and the field, for the message.

    Raises:
        ValueError: If a value is no quantity, or negative.
    """
    found: dict[str, int] = {}
    for key, value in listed.items():
        if key == MAX_JOBS_KEY:
            continue
        resource, parts, scale = _UNITS.get(key, (key, 1, 1))
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError(f"{where}.{key}: {value!r} is no quantity")
        try:
            amount = kubernetes_units(value, parts) * scale
        except QuantityError as fault:
            raise ValueError(f"{where}.{key}: {fault}") from fault
        if amount < 0:
            raise ValueError(f"{where}.{key}: {value} is negative")
        found[resource] = amount
    return found


def promises(listed: Mapping[str, int], stand_ins: str | None) -> dict[str, Amount]:
    """Return what a minimum promises; `stand_ins` names the resources whose number stands for all there is."""
    everything = frozenset((stand_ins or "").split(","))
    return {
        resource: UNLIMITED if resource in everything or is_larger_than_any_cluster(resource, amount) else amount
        for resource, amount in listed.items()
    }


def bounds(listed: Mapping[str, int], parents: Mapping[str, int]) -> dict[str, Amount]:
    """Return what a maximum bounds beyond the parent's."""
    return {
        resource: amount
        for resource, amount in listed.items()
        if amount != parents.get(resource) and not is_larger_than_any_cluster(resource, amount)
    }


def jobs_at_once(*listed: Mapping[str, object]) -> Iterator[str]:
    """Yield the key that counts jobs, where it stands."""
    if any(MAX_JOBS_KEY in amounts for amounts in listed):
        yield MAX_JOBS_KEY
