"""Assumed machines of a pool, with the known total capacity.

An engine has only quotas, and at best their sum for a kind of machine. The division into machines is an assumption, and
a note asks the operator to correct it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apportion_compiler.readers.record import PoolRecord
from apportion_policy.resources import CPU, GPU, MEMORY

_DEVICE = 1000
_USUAL = 8
"""Assumed number of GPUs per machine."""
_COUNTS = (_USUAL, 4, 2, 1, *range(64, 0, -1))
_NODES = (10, 8, 6, 5, 4, 3, 2, 1)
_CORE, _GIB = 1000, 2**30


@dataclass(frozen=True, slots=True)
class Size:
    """The machines of a pool. `cpu` in millicores and `memory` in bytes per machine; None if unknown."""

    n_machines: int
    n_gpus: int
    cpu: int | None
    memory: int | None


def sizes(pools: Sequence[PoolRecord], guaranteed: Mapping[str, int]) -> list[Size]:
    """Return a size for each pool.

    Args:
        pools: Each with its capacity, or with another pool that shares it.
        guaranteed: Guaranteed GPUs of each model, in thousandths; the minimum of a pool of unknown capacity.
    """
    found = [_size(pool, guaranteed) for pool in pools]
    ordinary = next((n for n, pool in enumerate(pools) if pool.gpu_model is None and pool.capacity), None)
    bare = [
        n
        for n, pool in enumerate(pools)
        if pool.gpu_model is not None and not pool.machine and CPU not in pool.capacity
    ]
    if ordinary is not None and bare:
        # The capacity is that of all machines: a share for each machine with GPUs, and the rest for others.
        n_machines = sum(found[n].n_machines for n in bare)
        shares = {
            r: _share(pools[ordinary].capacity.get(r, 0), n_machines, unit)
            for r, unit in ((CPU, _CORE), (MEMORY, _GIB))
        }
        for n in bare:
            found[n] = Size(found[n].n_machines, found[n].n_gpus, shares[CPU], shares[MEMORY])
        left = {r: pools[ordinary].capacity.get(r, 0) - share * n_machines for r, share in shares.items()}
        found[ordinary] = _divided(left)
    return found


def _size(pool: PoolRecord, guaranteed: Mapping[str, int]) -> Size:
    if pool.machine:
        cpu, memory, gpu = (pool.machine.get(resource) for resource in (CPU, MEMORY, GPU))
        n_gpus = gpu // _DEVICE if isinstance(gpu, int) else 0
        return Size(
            pool.n_machines, n_gpus, cpu if isinstance(cpu, int) else None, memory if isinstance(memory, int) else None
        )
    if pool.shared is not None:
        return Size(0, _USUAL, None, None)
    if pool.gpu_model is None:
        return _divided(pool.capacity) if pool.capacity else Size(1, 0, None, None)
    if GPU not in pool.capacity:
        return Size(-(-guaranteed.get(pool.gpu_model, 0) // (_USUAL * _DEVICE)) + 1, _USUAL, None, None)
    devices = -(-pool.capacity[GPU] // _DEVICE)
    others = {r: pool.capacity[r] for r in (CPU, MEMORY) if r in pool.capacity}
    n_gpus = next(
        (c for c in _COUNTS if devices % c == 0 and all(held % max(devices // c, 1) == 0 for held in others.values())),
        next(c for c in _COUNTS if devices % c == 0),
    )
    n_machines = devices // n_gpus
    each = {r: -(-held // max(n_machines, 1)) for r, held in others.items()}
    return Size(n_machines, n_gpus, each.get(CPU), each.get(MEMORY))


def _divided(capacity: Mapping[str, int]) -> Size:
    cpu, memory = capacity.get(CPU, 0), capacity.get(MEMORY, 0)
    n_machines = next(n for n in _NODES if (cpu % (n * _CORE) == 0 and memory % (n * _GIB) == 0) or n == 1)
    return Size(n_machines, 0, cpu // n_machines, memory // n_machines)


def _share(held: int, n_machines: int, unit: int) -> int:
    return held // (n_machines + 1) // unit * unit
