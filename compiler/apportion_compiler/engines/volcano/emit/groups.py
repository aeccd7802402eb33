"""Node groups: the nodes on which workloads of a queue may run.

The plugin `nodegroup` restricts workloads of a queue to nodes whose label names one of the groups in the queue's
affinity; workloads of a queue without affinity run on nodes without the label. Each node pool is a group. The plugin is
enabled only if a queue may not use every pool, or if quotas distinguish GPU models.

Source: pkg/scheduler/plugins/nodegroup/nodegroup.go at ed72c7c81.
"""

from __future__ import annotations

from apportion_compiler.backends.partitions import Partition
from apportion_compiler.ir.program import Program, Queue
from apportion_compiler.kubernetes_names import label_value

NO_GROUP = "-"
"""A group without nodes: no label has this value."""


def uses_groups(program: Program, *, divided: bool) -> bool:
    """Return whether the queues of a cluster must be restricted to some of its nodes."""
    every = {pool.id for pool in program.pools}
    return divided or any(queue.is_leaf and set(queue.pools) != every for queue in program.queues)


def groups_of(program: Program, queue: Queue, partition: Partition) -> tuple[str, ...]:
    """Return the groups of a leaf in one partition of a cluster that uses groups.

    If the cluster's pools are not declared, the nodes of a model's partition are one group, and other nodes have none.
    """
    if not program.pools:
        return () if partition.model is None else (label_value(partition.model),)
    allowed = [pool.id for pool in partition.pools if pool.id in queue.pools]
    return tuple(label_value(pool) for pool in allowed) or (NO_GROUP,)
