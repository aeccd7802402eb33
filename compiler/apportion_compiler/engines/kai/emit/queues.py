"""Queue (scheduling.run.ai/v2): parents before children, always with all nine numbers.

KAI's webhook does not check parents, sums or signs, its schema has no defaults, and a missing amount is 0: with a limit
of 0, nothing can run. A queue whose parent is missing is dropped with its descendants
(pkg/scheduler/cache/cluster_info/queue.go, cleanQueueOrphans).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_api.kai.names import NODE_POOL_LABEL, QUEUE_API
from apportion_compiler.backends.capability import Manifest
from apportion_compiler.backends.metadata import metadata
from apportion_compiler.engines.kai.emit.numbers import kai_number, weight_number
from apportion_compiler.engines.kai.emit.shards import Shard
from apportion_compiler.ir.program import Program, Queue
from apportion_policy.duration import duration_text
from apportion_policy.quantity import UNLIMITED, Amount
from apportion_policy.resources import CPU, GPU, MEMORY, gpu_resource

_ACCOUNTED = (CPU, MEMORY, GPU)
"""The three resources for which KAI has quotas."""

Amounts = tuple[Mapping[str, Amount], Mapping[str, Amount]]
"""The guarantees and limits of a queue for cpu, memory and gpu, in one shard."""


def queues(program: Program, shards: Sequence[Shard]) -> Iterator[Manifest]:
    """Yield the Queue objects, shard by shard, each in tree order."""
    unmanaged = frozenset(program.unmanaged)
    for shard in shards:
        for queue in program.queues:
            if queue.id in shard.queue_names:
                yield _queue(program, queue, shard, _amounts(queue, shard, unmanaged, n_shards=len(shards)))


def _queue(program: Program, queue: Queue, shard: Shard, amounts: Amounts) -> Manifest:
    guaranteed, limit = amounts
    labels = None if shard.model is None else {NODE_POOL_LABEL: shard.model}
    spec: dict[str, object] = {}
    if queue.title:
        spec["displayName"] = queue.title
    if queue.parent is not None:
        spec["parentQueue"] = shard.queue_names[queue.parent]
    if queue.priority is not None:
        spec["priority"] = queue.priority
    if queue.preempt_min_runtime is not None:
        spec["preemptMinRuntime"] = duration_text(queue.preempt_min_runtime)
    if queue.reclaim_min_runtime is not None:
        spec["reclaimMinRuntime"] = duration_text(queue.reclaim_min_runtime)
    spec["resources"] = {
        resource: {
            "quota": kai_number(resource, guaranteed[resource]),
            "limit": kai_number(resource, limit[resource]),
            "overQuotaWeight": weight_number(queue.weight[resource]),
        }
        for resource in _ACCOUNTED
    }
    return {
        "apiVersion": QUEUE_API,
        "kind": "Queue",
        "metadata": metadata(program, shard.queue_names[queue.id], queue.source, queue=queue, labels=labels),
        "spec": spec,
    }


def _amounts(queue: Queue, shard: Shard, unmanaged: frozenset[str], *, n_shards: int) -> Amounts:
    """Return a queue's amounts in a shard.

    A resource that no queue of the policy declares is unmanaged: quota and limit are unlimited. If quotas distinguish
    models, the default shard has the declared cpu and memory and no GPUs; a model's shard counts only its GPUs, because
    a policy does not divide cpu and memory among GPU models.
    """
    if n_shards == 1:
        guaranteed = {r: UNLIMITED if r in unmanaged else queue.guaranteed.get(r, 0) for r in _ACCOUNTED}
        return guaranteed, {r: queue.limit.get(r, UNLIMITED) for r in _ACCOUNTED}
    if shard.model is None:
        guaranteed = {r: UNLIMITED if r in unmanaged else queue.guaranteed.get(r, 0) for r in (CPU, MEMORY)}
        limit: dict[str, Amount] = {r: queue.limit.get(r, UNLIMITED) for r in (CPU, MEMORY)}
        return {**guaranteed, GPU: 0}, {**limit, GPU: 0}
    of_model = gpu_resource(shard.model)
    # An amount without a model applies in every shard if it is UNLIMITED, and is otherwise a limit in each shard.
    total = queue.guaranteed.get(GPU, 0)
    anywhere: Amount = total if total is UNLIMITED and not _counts_by_model(queue) else 0
    gpus = queue.guaranteed.get(of_model, anywhere)
    bound = queue.limit.get(of_model, queue.limit.get(GPU, UNLIMITED))
    return {CPU: UNLIMITED, MEMORY: UNLIMITED, GPU: gpus}, {CPU: UNLIMITED, MEMORY: UNLIMITED, GPU: bound}


def _counts_by_model(queue: Queue) -> bool:
    return any(resource.startswith(f"{GPU}/") for resource in queue.guaranteed)
