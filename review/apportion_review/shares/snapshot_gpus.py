"""The GPUs of a snapshot's nodes, and the requests of each queue's pods."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_compiler.plain_objects import Manifest, labels_of, mapping, name_of, text
from apportion_compiler.pool_label_keys import GPU_MODEL_LABEL
from apportion_review.fates.workloads import of_group, pending_pods, requests_of, running_pods
from apportion_review.shares.counted_resources import counted_resource
from apportion_review.shares.division_records import THOUSANDTHS
from apportion_runtime.snapshots.pod_requests import amount


@dataclass(frozen=True, slots=True)
class SnapshotGpus:
    """The capacity and the requests of a snapshot.

    Attributes:
        capacities: Thousandths of a GPU that queues can use, by the policy's resource names.
        requested: Requested GPUs of the running and pending pods of each queue.
    """

    capacities: Mapping[str, int]
    requested: Mapping[str, int]


def snapshot_gpus(
    objects: Sequence[Manifest],
    resources: Sequence[str],
    models: Collection[str],
    queue_of: Callable[[Manifest], str | None],
) -> SnapshotGpus:
    """Count the GPUs of a snapshot, without those used by pods outside the queues.

    Args:
        objects: All objects of the cluster.
        resources: Resources that the policy counts on the cluster.
        models: GPU models with a separate tree of queues.
        queue_of: Returns the name of a pod's queue; None if it is in none.

    Raises:
        ValueError: If a number is invalid.
    """
    part_of_node: dict[str, str | None] = {}
    held: dict[str | None, int] = dict.fromkeys((None, *sorted(models)), 0)
    for node in of_group(objects, "", "Node"):
        model = labels_of(node).get(GPU_MODEL_LABEL)
        part = part_of_node[name_of(node)] = model if model in models else None
        held[part] += amount(GPU_RESOURCE, str(mapping(node, "status", "allocatable").get(GPU_RESOURCE, 0)))
    requested: dict[str, int] = {}
    for pod in (*running_pods(objects), *pending_pods(objects)):
        queue, asked = queue_of(pod), requests_of(pod).get(GPU_RESOURCE, 0)
        if queue is not None:
            requested[queue] = requested.get(queue, 0) + asked
        elif (at := text(pod, "spec", "nodeName") or "") in part_of_node:
            held[part_of_node[at]] -= asked
    capacities = {
        resource: THOUSANDTHS * max(total, 0)
        for part, total in held.items()
        if (resource := counted_resource(part, resources, is_divided=bool(models))) is not None
    }
    return SnapshotGpus(capacities, requested)
