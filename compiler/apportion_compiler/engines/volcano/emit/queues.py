"""Queue (scheduling.volcano.sh/v1beta1): parents before children.

The guarantee of the policy is `deserved`: others use it while it is idle, until it is reclaimed. The part that is not
lent is `guarantee`, which is reserved. `capability` is the limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apportion_api.volcano.names import ROOT_QUEUE, SCHEDULING_API
from apportion_compiler.backends.capability import Manifest
from apportion_compiler.backends.metadata import GROUP, metadata
from apportion_compiler.backends.partitions import Partition, QueueNames, partitions_of, queue_names
from apportion_compiler.engines.volcano.emit.amounts import QueueAmounts, amounts_by_partition, written
from apportion_compiler.engines.volcano.emit.groups import groups_of, uses_groups
from apportion_compiler.ir.program import Program, Queue
from apportion_compiler.kubernetes_names import label_value
from apportion_compiler.pool_label_keys import GPU_MODEL_LABEL
from apportion_policy.resources import GPU

TITLE_ANNOTATION = f"{GROUP}/title"
MAX_WEIGHT = 65535


def is_divided(program: Program) -> bool:
    """Return whether quotas distinguish GPU models, so that each has a separate tree of queues."""
    return len(partitions_of(program)) > 1


def queues(program: Program) -> Iterator[Manifest]:
    """Yield the Queue objects, partition by partition, each in tree order."""
    partitions = partitions_of(program)
    divided = len(partitions) > 1
    grouped = uses_groups(program, divided=divided)
    names_by_partition = queue_names(program, partitions)
    for partition, names, amounts in zip(partitions, names_by_partition, amounts_by_partition(program), strict=True):
        for queue in program.queues:
            if queue.id in names:
                groups = groups_of(program, queue, partition) if grouped and queue.is_leaf else ()
                yield _queue(program, queue, partition, names, amounts[queue.id], groups=groups)


def whole_weight(queue: Queue) -> int:
    """Return the single weight of a Queue: that of GPUs, as the nearest integer from 1 to 65535."""
    return min(max((queue.weight.get(GPU, 1000) + 500) // 1000, 1), MAX_WEIGHT)


def _queue(
    program: Program,
    queue: Queue,
    partition: Partition,
    names: QueueNames,
    amounts: QueueAmounts,
    *,
    groups: Sequence[str],
) -> Manifest:
    spec: dict[str, object] = {
        "parent": ROOT_QUEUE if queue.parent is None else names[queue.parent],
        "weight": whole_weight(queue),
        # Written although it is the default, because the webhook sets it only on creation.
        "reclaimable": True,
        "dequeueStrategy": program.volcano.dequeue_strategy,
    }
    if queue.priority is not None:
        spec["priority"] = queue.priority
    if amounts.deserved:
        spec["deserved"] = written(amounts.deserved)
    if amounts.guarantee:
        spec["guarantee"] = {"resource": written(amounts.guarantee)}
    if amounts.capability:
        spec["capability"] = written(amounts.capability)
    if groups:
        spec["affinity"] = {"nodeGroupAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(groups)}}
    return {
        "apiVersion": SCHEDULING_API,
        "kind": "Queue",
        "metadata": metadata(
            program,
            names[queue.id],
            queue.source,
            queue=queue,
            labels=None if partition.model is None else {GPU_MODEL_LABEL: label_value(partition.model)},
            annotations={TITLE_ANNOTATION: queue.title} if queue.title else None,
        ),
        "spec": spec,
    }
