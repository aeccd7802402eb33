"""The partitions of a cluster by GPU model, and the names of the queues in each.

An engine that does not distinguish GPU models gets a partition for each model, with a queue object in each. Workloads
choose the model by their queue name, so these names are among the queue names allowed in a namespace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.ir.gpu_models import counted_models
from apportion_compiler.ir.program import NodePool, Program, Queue
from apportion_compiler.kubernetes_names import dotless_name, object_name

QueueNames = Mapping[str, str]
"""The name of each queue's object in one partition, by the queue's id."""


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition of a cluster: the node pools of one GPU model; if `model` is None, all others."""

    model: str | None
    pools: tuple[NodePool, ...]


def partitions_of(program: Program) -> tuple[Partition, ...]:
    """Return the partition without a model, then one for each model with a separate quota."""
    models = counted_models(program) if TRAITS[program.engine].divided_by_model else ()
    by_model: dict[str | None, list[NodePool]] = {None: [], **{model: [] for model in models}}
    for pool in program.pools:
        by_model[pool.gpu_model if pool.gpu_model in models else None].append(pool)
    return tuple(Partition(model, tuple(pools)) for model, pools in by_model.items())


def queue_names(program: Program, partitions: Sequence[Partition]) -> tuple[QueueNames, ...]:
    """Return, for each partition, the names of its queue objects.

    A name is the queue's id, and `<id>-<model>` in the partition of a model, with a digest appended if another queue
    has that name.
    """
    names: list[QueueNames] = []
    taken: set[str] = set()
    for partition in partitions:
        named = {id_: _name(id_, partition.model, taken, program.engine) for id_ in _held(program, partition)}
        taken.update(named.values())
        names.append(named)
    return tuple(names)


def workload_queue_names(program: Program) -> Mapping[str, tuple[str, ...]]:
    """Return the queue names that workloads of each leaf may use, by the queue's id."""
    names = queue_names(program, partitions_of(program))
    leaves = [queue for queue in program.queues if queue.is_leaf]
    if (root := TRAITS[program.engine].path_root) is not None:
        return {leaf.id: tuple(".".join((root, *(n[id_] for id_ in leaf.path))) for n in names) for leaf in leaves}
    declared = {
        leaf.id: tuple(sorted({local.name for local in leaf.kueue.local_queues}))
        for leaf in leaves
        if TRAITS[program.engine].local_queues and leaf.kueue.local_queues is not None
    }
    return {leaf.id: declared.get(leaf.id) or tuple(n[leaf.id] for n in names if leaf.id in n) for leaf in leaves}


def leaf_queue_name(program: Program, queue: Queue) -> str | None:
    """Return the name by which a workload of a leaf names its queue; None for an inner queue.

    On a cluster that is partitioned by GPU model, this is the queue of workloads that request no counted model.
    """
    names = workload_queue_names(program).get(queue.id)
    return names[0] if names else None


def default_names(program: Program, queue: Queue) -> tuple[str, ...]:
    """Return the queue that the engine assigns to workloads without one in the queue's namespaces."""
    name = TRAITS[program.engine].default_queue_name
    return () if name is None or not queue.default else (name,)


def _held(program: Program, partition: Partition) -> list[str]:
    """Return the ids of the queues in a partition: all if it has no model, else those that may use a pool of it."""
    if partition.model is None or not partition.pools:
        return [queue.id for queue in program.queues]
    pools = {pool.id for pool in partition.pools}
    # A queue without its parents would be dropped, so a partition includes the ancestors of its queues.
    held = {id_ for queue in program.queues if not pools.isdisjoint(queue.pools) for id_ in queue.path}
    return [queue.id for queue in program.queues if queue.id in held]


def _name(id_: str, model: str | None, taken: set[str], engine: str) -> str:
    if model is None:
        traits = TRAITS[engine]
        name = dotless_name if traits.dotless_names else object_name
        # An identity with a slash never fits, so this form always has the digest.
        return name(f"{id_}/" if id_ in traits.reserved_queue_names else id_)
    plain = object_name(f"{id_}-{model}")
    return object_name(f"{id_}/{model}") if plain in taken else plain
