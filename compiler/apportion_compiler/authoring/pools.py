"""Node pools as far as queues speak of them. How many machines there are, no queue's object says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apportion_compiler.readers.record import Lifted, LiftedPool, Note
from apportion_policy.placement import Placement, PlacementStrategy
from apportion_policy.pool import Accelerator, NodePool, Taint, TaintEffect
from apportion_policy.quantity import Unlimited
from apportion_policy.resources import GPU

_GPUS_OF_A_MACHINE = 8
_MODEL = f"{GPU}/"
GUESSED = (
    "nothing says how many machines a pool has: max_nodes is the fewest of 8 GPUs that hold every guarantee with one "
    "machine down; write what there is"
)


def pools_of(lifted: Lifted, notes: list[Note]) -> tuple[NodePool, ...]:
    """Return the pools; every GPU model that a queue counts has one, if there are any."""
    if not lifted.pools:
        return ()
    notes.append(Note("NodePool", GUESSED))
    present = {pool.gpu_model for pool in lifted.pools}
    missing = [model for model in _spoken(lifted) if model not in present]
    return tuple(_pool(pool, lifted) for pool in (*lifted.pools, *(LiftedPool(model, model) for model in missing)))


def _spoken(lifted: Lifted) -> Sequence[str]:
    amounts = (held for queue in lifted.queues for held in (queue.guaranteed, queue.limit))
    return sorted({r.removeprefix(_MODEL) for held in amounts for r in held if r.startswith(_MODEL)})


def _pool(pool: LiftedPool, lifted: Lifted) -> NodePool:
    placement = {
        key: PlacementStrategy(value)
        for key, value in (("gpu", pool.gpu_placement), ("cpu", pool.cpu_placement))
        if value is not None
    }
    fields: dict[str, Any] = {
        "accelerator": None if pool.gpu_model is None else Accelerator(model=pool.gpu_model, count=_GPUS_OF_A_MACHINE),
        "labels": dict(pool.labels) or None,
        "taints": tuple(_taint(*taint) for taint in pool.taints) or None,
        "topology": pool.topology,
        "placement": Placement(**placement) if placement else None,
    }
    kept = {key: value for key, value in fields.items() if value is not None}
    return NodePool(id=pool.id, max_nodes=_machines(pool, lifted), **kept)


def _taint(key: str, value: str | None, effect: str) -> Taint:
    return Taint(key=key, value=value, effect=TaintEffect(effect))


def _machines(pool: LiftedPool, lifted: Lifted) -> int:
    if pool.gpu_model is None:
        return 1
    one_model = len({p.gpu_model for p in lifted.pools if p.gpu_model is not None}) == 1
    total = 0
    for queue in lifted.queues:
        if queue.parent is None:
            amount = queue.guaranteed.get(f"{_MODEL}{pool.gpu_model}", queue.guaranteed.get(GPU, 0) if one_model else 0)
            total += 0 if isinstance(amount, Unlimited) else amount
    return -(-total // (_GPUS_OF_A_MACHINE * 1000)) + 1
