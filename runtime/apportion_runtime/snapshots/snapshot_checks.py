"""Checks of a snapshot as a whole: dangling references, impossible amounts, and overcommitted nodes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import chain

from apportion_runtime.core.snapshot import DeviceKey, Node, Pod, PodGroup, Snapshot, SubGroup
from apportion_runtime.core.status import ACTIVE_USED_STATUSES
from apportion_runtime.snapshots.faults import (
    DUPLICATE,
    EXPORT_TOGETHER,
    IGNORED_VALUE,
    INCLUDE_GPU_GROUP,
    NEGATIVE,
    OVERCOMMITTED,
    OVERLAPPING,
    QUANTITY,
    UNKNOWN_GROUP,
    UNKNOWN_NODE,
    UNKNOWN_QUEUE,
    UNKNOWN_SUB_GROUP,
    Fault,
    instead,
)
from apportion_runtime.snapshots.kubernetes.nodes import LEAST_DEVICE_MEMORY
from apportion_runtime.snapshots.queue_parents import parent_faults, rooted
from apportion_runtime.snapshots.record_locations import RecordLocations

_PARTS = 100
_GIGABYTE = 1e9


def check_snapshot(
    snapshot: Snapshot, places: RecordLocations, elsewhere: Collection[str] = (), unreadable: Collection[str] = ()
) -> list[Fault]:
    """Return the faults.

    Args:
        snapshot: The snapshot.
        places: The locations of its records.
        elsewhere: Existing nodes that belong to another scheduler's part of the cluster.
        unreadable: Queues that exist, but cannot be read.
    """
    return [
        *_duplicates(snapshot, places),
        *_amounts(snapshot, places),
        *parent_faults(snapshot.queues, places, unreadable),
        *_groups(snapshot, places, unreadable),
        *_pods(snapshot, places, elsewhere),
        *_room(snapshot, places),
        *_held_twice(snapshot, places),
    ]


def _duplicates(snapshot: Snapshot, places: RecordLocations) -> Iterator[Fault]:
    named: tuple[tuple[str, str, Iterable[str]], ...] = (
        ("Node", "node", (node.name for node in snapshot.nodes)),
        ("Queue", "queue", (queue.name for queue in snapshot.queues)),
        ("PodGroup", "pod group", (group.uid for group in snapshot.pod_groups)),
        ("Pod", "pod", (pod.uid for pod in snapshot.pods)),
        ("Topology", "topology", (topology.name for topology in snapshot.topologies)),
        ("ResourceClaim", "resource claim", (f"{claim.namespace}/{claim.name}" for claim in snapshot.claims)),
        ("Device", "device", ("/".join(device.key) for device in snapshot.devices)),
    )
    for kind, word, ids in named:
        for id_, count in Counter(ids).items():
            if count > 1:
                message = f"{word} {id_} is listed {count} times"
                hint = "remove all but one of its definitions"
                yield Fault(DUPLICATE, f"{word} {id_}", message, hint, places.at(kind, id_, "name"))


def _amounts(snapshot: Snapshot, places: RecordLocations) -> Iterator[Fault]:
    hint = "use a non-negative amount"
    for node in snapshot.nodes:
        for name, amount in node.allocatable.items():
            if amount < 0:
                message = f"allocatable {name} is negative: {amount:g}"
                yield Fault(NEGATIVE, f"node {node.name}", message, hint, places.at("Node", node.name, "allocatable"))
        if node.gpu_memory is not None and node.gpu_memory < LEAST_DEVICE_MEMORY:
            message = f"the node's GPUs have {node.gpu_memory} MiB of memory, but the engine counts in units of 100 MiB"
            hint_of_memory = "specify the memory in MiB, or omit the field"
            yield Fault(
                QUANTITY, f"node {node.name}", message, hint_of_memory, places.at("Node", node.name, "gpu_memory")
            )
    for pod in snapshot.pods:
        if min(pod.request.values(), default=0.0) < 0:
            name = min(pod.request, key=lambda name: pod.request[name])
            message = f"requested {name} is negative: {pod.request[name]:g}"
            yield Fault(NEGATIVE, _pod(pod), message, hint, places.at("Pod", pod.uid, "request"))
        gpu = pod.gpu
        if min(gpu.count, gpu.portion, gpu.memory, gpu.dra) < 0 or any(n < 0 for _, n in gpu.mig):
            message = "the requested number of GPUs is negative"
            yield Fault(NEGATIVE, _pod(pod), message, hint, places.at("Pod", pod.uid, "gpu"))


def _groups(snapshot: Snapshot, places: RecordLocations, unreadable: Collection[str]) -> Iterator[Fault]:
    parents = {queue.name: queue.parent for queue in snapshot.queues}
    usable = rooted(snapshot.queues)
    inner = {queue.parent for queue in snapshot.queues if queue.parent is not None}
    for group in snapshot.pod_groups:
        address, place = f"pod group {group.namespace}/{group.name}", places.at("PodGroup", group.uid, "queue")
        if group.queue in unreadable:
            message = f"queue `{group.queue}` cannot be read; the pod group stays pending"
            yield Fault(UNKNOWN_QUEUE, address, message, f"correct queue `{group.queue}`", place)
        elif group.queue not in parents:
            problem = f"queue `{group.queue}` does not exist" if group.queue else "the pod group has no queue"
            message = f"{problem}; the pod group stays pending"
            yield Fault(UNKNOWN_QUEUE, address, message, instead(group.queue, usable - inner), place)
        elif group.queue not in usable:
            message = (
                f"the parents of queue `{group.queue}` do not lead to a top-level queue; the pod group stays pending"
            )
            hint = f"correct the parents of queue `{group.queue}`, or use another queue"
            yield Fault(UNKNOWN_QUEUE, address, message, hint, place)
        elif group.queue in inner:
            message = f"queue `{group.queue}` has child queues; the engine schedules only jobs in leaf queues"
            below = sorted(queue.name for queue in snapshot.queues if queue.parent == group.queue)
            yield Fault(UNKNOWN_QUEUE, address, message, f"use one of its child queues: {', '.join(below[:5])}", place)


def _pods(snapshot: Snapshot, places: RecordLocations, elsewhere: Collection[str]) -> Iterator[Fault]:
    nodes = {node.name for node in snapshot.nodes}
    groups = {group.uid: group for group in snapshot.pod_groups}
    parts = {group.uid: frozenset(_pod_sets(group.root)) for group in snapshot.pod_groups}
    for pod in snapshot.pods:
        is_known = pod.node is None or pod.node in nodes or pod.node in elsewhere
        if not is_known and pod.status & ACTIVE_USED_STATUSES:
            message = f"node `{pod.node}` does not exist; the pod is not counted on any node"
            place = places.at("Pod", pod.uid, "node")
            yield Fault(UNKNOWN_NODE, _pod(pod), message, instead(pod.node or "", nodes), place)
        if pod.group is None:
            continue
        group = groups.get(pod.group)
        if group is None:
            message = f"pod group `{pod.group}` does not exist; the pod is not scheduled"
            place = places.at("Pod", pod.uid, "group")
            yield Fault(UNKNOWN_GROUP, _pod(pod), message, instead(pod.group, groups), place)
        elif (pod.sub_group or "default") not in parts[pod.group]:
            yield _of_no_part(pod, group, parts[pod.group], places)


def _of_no_part(pod: Pod, group: PodGroup, parts: Collection[str], places: RecordLocations) -> Fault:
    whose = f"pod group {group.namespace}/{group.name}"
    message = (
        f"{whose} has no sub-group `{pod.sub_group}`; the pod stays pending"
        if pod.sub_group
        else f"the pod does not belong to a sub-group of {whose}; the pod stays pending"
    )
    hint = instead(pod.sub_group, parts)
    return Fault(UNKNOWN_SUB_GROUP, _pod(pod), message, hint, places.at("Pod", pod.uid, "sub_group"))


def _pod_sets(part: SubGroup) -> Iterator[str]:
    if not part.children:
        yield part.name or "default"
    for child in part.children:
        yield from _pod_sets(child)


def _room(snapshot: Snapshot, places: RecordLocations) -> Iterator[Fault]:
    here: dict[str, list[Pod]] = {node.name: [] for node in snapshot.nodes}
    for pod in snapshot.pods:
        if pod.node in here and pod.status & ACTIVE_USED_STATUSES:
            here[pod.node].append(pod)
    for node in snapshot.nodes:
        yield from _on_node(node, here[node.name], places)


def _on_node(node: Node, pods: list[Pod], places: RecordLocations) -> Iterator[Fault]:
    place, address = places.at("Node", node.name), f"node {node.name}"
    used: dict[str, float] = {}
    parts: dict[str, float] = {}
    gpus = 0.0
    for pod in pods:
        for name, amount in chain(pod.request.items(), pod.gpu.mig):
            used[name] = used.get(name, 0) + amount
        portion = _portion(pod, node)
        if portion is None:
            gpus += pod.gpu.count if pod.gpu.portion else 0
            continue
        for group in pod.gpu_groups:
            parts[group] = parts.get(group, 0.0) + portion
        if not pod.gpu_groups and not pod.gpu.mig:
            message = "the pod uses a fraction of an unknown GPU; the fraction is not counted"
            yield Fault(IGNORED_VALUE, _pod(pod), message, INCLUDE_GPU_GROUP, places.at("Pod", pod.uid, "gpu_groups"))
    over = [
        f"{_amount(name, used[name])} of {_amount(name, had)} {name}"
        for name, had in sorted(node.allocatable.items())
        if had > 0 and used.get(name, 0) > had and name != "gpu"
    ]
    devices = node.allocatable.get("gpu", 0.0)
    if devices > 0 and gpus + len(parts) > devices:
        over.append(f"{gpus + len(parts):g} of {devices:g} GPUs")
    if over:
        message = f"the pods on the node exceed its allocatable resources: {', '.join(over)}"
        yield Fault(OVERCOMMITTED, address, message, EXPORT_TOGETHER, place)
    for group, portion in sorted(parts.items()):
        if round(portion * _PARTS) > _PARTS:
            message = f"pods use {portion:.4g} GPUs in runai-gpu-group `{group}`, which is a single GPU"
            hint = "reduce the fractions of pods with the same runai-gpu-group to a total of at most 1"
            yield Fault(OVERLAPPING, address, message, hint, place)


def _portion(pod: Pod, node: Node) -> float | None:
    """Return the fraction of each of its devices that a pod holds; None if it holds whole devices or none."""
    gpu = pod.gpu
    if gpu.memory > 0:
        return gpu.memory / node.gpu_memory if node.gpu_memory else 0.0
    return gpu.portion if gpu.count > 0 and 0 < gpu.portion < 1 else None


def _amount(name: str, amount: float) -> str:
    if name == "cpu":
        return f"{amount / 1000:g}"
    return f"{amount / _GIGABYTE:g} GB" if name == "memory" else f"{math.ceil(amount):g}"


def _held_twice(snapshot: Snapshot, places: RecordLocations) -> Iterator[Fault]:
    holders: dict[DeviceKey, str] = {}
    for claim in snapshot.claims:
        for key in claim.allocation.devices if claim.allocation is not None else ():
            name = f"{claim.namespace}/{claim.name}"
            other = holders.setdefault(key, name)
            if other != name:
                message = f"device {'/'.join(key)} is also allocated to claim {other}"
                place = places.at("ResourceClaim", name, "allocation")
                yield Fault(OVERLAPPING, f"resource claim {name}", message, EXPORT_TOGETHER, place)


def _pod(pod: Pod) -> str:
    return f"pod {pod.namespace}/{pod.name}" if pod.namespace else f"pod {pod.name}"
