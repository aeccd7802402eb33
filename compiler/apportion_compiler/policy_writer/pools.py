"""Node pools that queues reference. The engine's objects do not contain the number of machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apportion_compiler.policy_writer.pool_sizes import Size, sizes
from apportion_compiler.readers.record import ImportRecord, Note, PoolRecord
from apportion_policy.placement import Placement, PlacementStrategy
from apportion_policy.pool import Accelerator, NodePool, Taint, TaintEffect
from apportion_policy.providers import Gke
from apportion_policy.provisioning import QUEUED_PROVISIONING_GKE
from apportion_policy.quantity import Unlimited, cpu_text, memory_text
from apportion_policy.resources import GPU

_MODEL = f"{GPU}/"
GUESSED = (
    "the objects do not describe machines, so the pool sizes are placeholders that cover all quotas, and all "
    "guarantees even with one 8-GPU machine down; set the number and size of the machines in each pool"
)

QUEUED_GKE = Gke(
    release_channel="none", auto_repair=False, auto_upgrade=False, location_policy="ANY", reservation_affinity="none"
)
"""The settings that GKE requires for a pool of queued provisioning."""


def pools_of(record: ImportRecord, notes: list[Note]) -> tuple[NodePool, ...]:
    """Return the pools; every GPU model that a queue counts has one, if there are any."""
    if not record.pools:
        return ()
    if not all(pool.machine for pool in record.pools):
        notes.append(Note("NodePool", GUESSED))
    present = {pool.gpu_model for pool in record.pools}
    missing = [model for model in declared_models(record) if model not in present]
    pools = (*record.pools, *(PoolRecord(model, model) for model in missing))
    classes = {plan.id: plan.provisioning_class for plan in record.plans}
    return tuple(
        _pool(pool, size, classes) for pool, size in zip(pools, sizes(pools, _guaranteed(record)), strict=True)
    )


def declared_models(record: ImportRecord) -> Sequence[str]:
    """Return the GPU models by which queues count."""
    amounts = (held for queue in record.queues for held in (queue.guaranteed, queue.limit))
    return sorted({r.removeprefix(_MODEL) for held in amounts for r in held if r.startswith(_MODEL)})


def _pool(pool: PoolRecord, size: Size, classes: Mapping[str, str | None]) -> NodePool:
    placement = {
        key: PlacementStrategy(value)
        for key, value in (("gpu", pool.gpu_placement), ("cpu", pool.cpu_placement))
        if value is not None
    }
    fields: dict[str, Any] = {
        "cpu": None if size.cpu is None else cpu_text(size.cpu),
        "memory": None if size.memory is None else memory_text(size.memory),
        "accelerator": None
        if pool.gpu_model is None or not size.n_gpus
        else Accelerator(model=pool.gpu_model, count=size.n_gpus),
        "labels": dict(pool.labels) or None,
        "taints": tuple(_taint(*taint) for taint in pool.taints) or None,
        "topology": pool.topology,
        "provider": QUEUED_GKE if pool.plan is not None and classes.get(pool.plan) == QUEUED_PROVISIONING_GKE else None,
        "provisioning": pool.plan,
        "placement": Placement(**placement) if placement else None,
    }
    kept = {key: value for key, value in fields.items() if value is not None}
    return NodePool(id=pool.id, max_nodes=size.n_machines, **kept)


def _taint(key: str, value: str | None, effect: str) -> Taint:
    return Taint(key=key, value=value, effect=TaintEffect(effect))


def _guaranteed(record: ImportRecord) -> Mapping[str, int]:
    """Return the guaranteed GPUs of top-level queues by model, in thousandths; of any model, if there is only one."""
    models = {pool.gpu_model for pool in record.pools if pool.gpu_model is not None}
    found: dict[str, int] = {}
    for queue in record.queues:
        for model in models if queue.parent is None else ():
            amount = queue.guaranteed.get(f"{_MODEL}{model}", queue.guaranteed.get(GPU, 0) if len(models) == 1 else 0)
            found[model] = found.get(model, 0) + (0 if isinstance(amount, Unlimited) else amount)
    return found
