"""Node groups: which nodes a queue's work may run on.

The plugin `nodegroup` lets the work of a queue run on nodes whose label names one of the groups of the queue's
affinity, and on no other; work of a queue without affinity runs on nodes without the label. Each node pool is a group.
It is turned on only where a queue may not use every pool, or where GPU models are told apart.

Source: pkg/scheduler/plugins/nodegroup/nodegroup.go at ed72c7c81.
"""

from __future__ import annotations

from apportion_compiler.backends.partitions import Partition
from apportion_compiler.ir.program import Program, Queue
from apportion_compiler.kubernetes_names import label_value

NO_GROUP = "-"
"""A group that no node can be in: no label has this value."""


def uses_groups(program: Program, *, divided: bool) -> bool:
    """Tell whether the queues of a cluster must be kept to some of its nodes."""
    every = {pool.id for pool in program.pools}
    return divided or any(queue.is_leaf and set(queue.pools) != every for queue in program.queues)


def groups_of(program: Program, queue: Queue, partition: Partition) -> tuple[str, ...]:
    """Return the groups of a leaf in one part of a cluster that uses groups.

    Of a cluster whose pools are not declared, a part's nodes are the group of its model; its other nodes are in none.
    """
    if not program.pools:
        return () if partition.model is None else (label_value(partition.model),)
    allowed = [pool.id for pool in partition.pools if pool.id in queue.pools]
    return tuple(label_value(pool) for pool in allowed) or (NO_GROUP,)
