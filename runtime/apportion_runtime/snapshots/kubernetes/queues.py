"""Queues: quotas, limits, priority and minimum runtimes.

Source: pkg/scheduler/api/queue_info/queue_info.go, cache/cluster_info/queue.go, plugins/proportion/proportion.go.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence

from apportion_api.kai import objects
from apportion_api.kai.names import DEFAULT_QUEUE_PRIORITY
from apportion_runtime.core.resources import UNLIMITED
from apportion_runtime.core.snapshot import Queue, QueueResource
from apportion_runtime.snapshots.faults import Fault, Path
from apportion_runtime.snapshots.kubernetes.configuration import Engine
from apportion_runtime.snapshots.kubernetes.objects import Object
from apportion_runtime.snapshots.kubernetes.times import created, duration
from apportion_runtime.snapshots.queue_amounts import negative_amounts, negative_runtimes

_MEGABYTE = 1_000_000
_FLAT_PARENT = "default"


def read_queues(queues: Sequence[Object], engine: Engine, now: float, faults: list[Fault]) -> tuple[Queue, ...]:
    """Return the queues of the scheduler's part of the cluster; all below one root if fairness is flat."""
    made = {queue.name: _queue(queue, faults) for queue in queues if engine.is_of_pool(queue.labels)}
    if engine.is_full_hierarchy:
        return tuple(made.values())
    endless = QueueResource(UNLIMITED, UNLIMITED, 1.0)
    flat = {_FLAT_PARENT: Queue(_FLAT_PARENT, None, endless, endless, endless, created=now)}
    for queue in queues:
        if queue.name in made and made[queue.name].parent:
            found = made[queue.name]
            flat[queue.name] = Queue(
                found.name, _FLAT_PARENT, found.cpu, found.memory, found.gpu, found.priority, found.created,
                found.preempt_min_runtime, found.reclaim_min_runtime,
            )  # fmt: skip
    return tuple(flat.values())


def _queue(queue: Object, faults: list[Fault]) -> Queue:
    read = queue.read_as(objects.Queue)
    # The engine reads negative amounts of memory as unlimited: see `_bytes`.
    faults += negative_amounts(queue.name, queue.place, _written(read), clamped=("memory",))
    made = Queue(
        name=queue.name,
        parent=read.parent or None,
        cpu=_resource(read.resource("cpu"), float),
        memory=_resource(read.resource("memory"), _bytes),
        gpu=_resource(read.resource("gpu"), float),
        priority=DEFAULT_QUEUE_PRIORITY if read.priority is None else read.priority,
        created=created(queue, faults),
        preempt_min_runtime=duration(queue, "preemptMinRuntime", read.preempt_min_runtime, faults),
        reclaim_min_runtime=duration(queue, "reclaimMinRuntime", read.reclaim_min_runtime, faults),
    )
    runtimes = (
        ("preemptMinRuntime", read.preempt_min_runtime, made.preempt_min_runtime),
        ("reclaimMinRuntime", read.reclaim_min_runtime, made.reclaim_min_runtime),
    )
    faults += negative_runtimes(
        queue.name,
        queue.place,
        ((("spec", key), written, seconds) for key, written, seconds in runtimes if seconds is not None),
    )
    return made


def _written(read: objects.Queue) -> Iterator[tuple[Path, float]]:
    for name in ("cpu", "memory", "gpu"):
        of = read.resource(name)
        for field, amount in (("quota", of.quota), ("limit", of.limit), ("overQuotaWeight", of.weight)):
            if amount is not None:
                yield ("spec", "resources", name, field), amount


def _resource(read: objects.QueueResource, unit: Callable[[float], float]) -> QueueResource:
    return QueueResource(unit(read.quota or 0.0), unit(read.limit or 0.0), float(read.weight or 0.0))


def _bytes(megabytes: float) -> float:
    # The product of a huge number would be infinite.
    return max(UNLIMITED, min(megabytes * _MEGABYTE, sys.float_info.max))
