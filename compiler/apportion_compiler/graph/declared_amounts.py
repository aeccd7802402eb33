"""Conversion of declared `Resources` to base units: machines are converted to resources, and GPUs of models are summed.

Results are exact, and independent of the scope.
"""

from __future__ import annotations

from collections.abc import Mapping

from apportion_policy.pool import NodePool
from apportion_policy.quantity import Amount, Unlimited, add, parse_cpu, parse_memory, total
from apportion_policy.resources import CPU, GPU, MEMORY, Resources, gpu_resource

GPU_MODEL_PREFIX = f"{GPU}/"
_NONE: Mapping[str, Amount] = {}


def pool_machine(pool: NodePool) -> dict[str, Amount]:
    """Return the declared resources of one machine of a pool: cpu, memory, gpu and gpu/<model>."""
    amounts: dict[str, Amount] = {}
    if pool.cpu is not None:
        amounts[CPU] = parse_cpu(pool.cpu)
    if pool.memory is not None:
        amounts[MEMORY] = parse_memory(pool.memory)
    if pool.accelerator is not None:
        amounts[gpu_resource(pool.accelerator.model)] = amounts[GPU] = pool.accelerator.count * 1000
    return amounts


def declared_amounts(resources: Resources | None, pools: Mapping[str, NodePool]) -> dict[str, Amount]:
    """Return amounts in base units, with machines converted, and `gpu` as the sum of the models if declared."""
    if resources is None:
        return {}
    amounts = resources.amounts()
    for pool_id, machines in (resources.machines or {}).items():
        if pool_id in pools:
            for resource, amount in pool_machine(pools[pool_id]).items():
                amounts[resource] = add(amounts.get(resource, 0), _times(amount, machines))
    models = [amount for resource, amount in amounts.items() if resource.startswith(GPU_MODEL_PREFIX)]
    if models and GPU not in amounts:
        amounts[GPU] = total(models)
    return amounts


class AmountCounter:
    """Caches converted amounts by their declaration, because organisations repeat a few sizes many times."""

    __slots__ = ("_known", "_pools")

    def __init__(self, pools: Mapping[str, NodePool]) -> None:
        self._pools = pools
        self._known: dict[tuple[object, ...], Mapping[str, Amount]] = {}

    def count(self, resources: Resources | None) -> Mapping[str, Amount]:
        """Return the cached result of `declared_amounts`, which must not be modified."""
        if resources is None:
            return _NONE
        if resources.machines is not None or resources.extended is not None:
            return declared_amounts(resources, self._pools)
        gpu = resources.gpu
        # Most amounts are numbers, which an exact type check detects faster than one of the abstract class of mappings.
        counted = tuple(gpu.items()) if type(gpu) is not str and isinstance(gpu, Mapping) else gpu
        key = (resources.cpu, resources.memory, counted)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = declared_amounts(resources, self._pools)
        return known


def _times(amount: Amount, count: int) -> Amount:
    return amount if isinstance(amount, Unlimited) else amount * count
