"""Invariants that hold after every event, computed from the objects, not from the scheduler's state.

A run checks them periodically (`broken(cluster_state, …)` is a pass over all pods); tests check them after every event.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from apportion_runtime.core.resources import MEMORY
from apportion_runtime.core.shares import RESOURCES
from apportion_runtime.core.snapshot import Node
from apportion_runtime.core.status import RUNNING
from apportion_runtime.sim.api.cluster_state import ClusterState, PodState
from apportion_runtime.sim.controllers.progress import is_satisfied
from apportion_runtime.sim.controllers.running_workload import Running

_TOLERANCE = 1e-6


def broken(
    cluster_state: ClusterState,
    running: Mapping[int, Running],
    starts_together: Callable[[Running], bool] = lambda running: True,
) -> list[str]:
    """Return the violated invariants as messages.

    Args:
        cluster_state: The simulated cluster.
        running: The existing workloads, by number.
        starts_together: Whether the engine starts the gang of a workload together.
    """
    gangs = [workload for workload in running.values() if starts_together(workload)]
    return [
        *_lost_pods(cluster_state, running),
        *_objects(cluster_state),
        *_overfull_nodes(cluster_state),
        *_half_started(gangs, cluster_state),
    ]


def _lost_pods(cluster_state: ClusterState, running: Mapping[int, Running]) -> Iterator[str]:
    """Every required slot has a pod, possibly one that is terminating; every pod belongs to a workload."""
    by_workload: dict[int, Counter[str]] = {}
    for pod in cluster_state.pods.values():
        by_workload.setdefault(pod.workload, Counter())[pod.slot] += 1
        if pod.workload not in running:
            yield f"pod {pod.name} exists, but its workload does not"
    for number, workload in running.items():
        have = by_workload.get(number, Counter())
        wanted = [
            key
            for key, slot in workload.slots.items()
            if key not in workload.over and (workload.was_whole or not slot.comes_last)
        ]
        at_once = workload.expansion.at_once
        if workload.outcome or workload.is_suspended or workload.n_denied:
            continue
        if at_once is not None:
            if sum(have[key] > 0 for key in wanted) < min(at_once, len(wanted)):
                yield f"{cluster_state.history.workloads[number].name} has fewer pods than it requests"
            continue
        for key in wanted:
            if not have[key]:
                yield f"{cluster_state.history.workloads[number].name} has no pod for {key or 'itself'}"


def _objects(cluster_state: ClusterState) -> Iterator[str]:
    """Each pod has one object, and is on the node that the object specifies."""
    stored = {made["metadata"]["uid"]: made for made in cluster_state.store.list("Pod")}
    for uid in stored.keys() ^ cluster_state.pods.keys():
        yield f"pod {uid} exists only in the object store or only in the scheduler"
    for uid in stored.keys() & cluster_state.pods.keys():
        stored_node, known = stored[uid]["spec"].get("nodeName"), cluster_state.pods[uid].record.node
        if stored_node != known:
            yield f"pod {cluster_state.pods[uid].name} is on {stored_node}, but the scheduler records {known}"


def _overfull_nodes(cluster_state: ClusterState) -> Iterator[str]:
    """No node is overcommitted, and no device is allocated twice."""
    for name, uids in cluster_state.pods_on.items():
        pods = [cluster_state.pods[uid] for uid in uids]
        node = cluster_state.records.nodes.get(name)
        if node is None:
            if pods:
                yield f"pods are on node {name}, which does not exist"
            continue
        used: Counter[str] = Counter()
        devices = 0
        shared: Counter[str] = Counter()
        for pod in pods:
            used.update(pod.record.request)
            if pod.record.gpu_groups:
                for group in pod.record.gpu_groups:
                    shared[group] += _mib(pod, node)
            else:
                devices += pod.record.gpu.count
        for resource, amount in used.items():
            if amount > node.allocatable.get(resource, 0.0) + _TOLERANCE:
                yield f"pods on {name} use {amount:g} of {resource}, but only {node.allocatable.get(resource, 0.0):g} is allocatable"
        if devices + len(shared) > node.allocatable.get("gpu", 0.0):
            yield f"{devices} whole and {len(shared)} shared devices are allocated on {name}, which has {node.allocatable.get('gpu', 0.0):g}"
        memory = (node.gpu_memory or 100) // 100 * 100
        yield from (
            f"{mib} of {memory} MiB of device {group} in use on {name}" for group, mib in shared.items() if mib > memory
        )


def _mib(pod: PodState, node: Node) -> int:
    gpu = pod.record.gpu
    return gpu.memory if gpu.memory > 0 else int(gpu.portion * ((node.gpu_memory or 100) // 100 * 100))


def _half_started(gangs: Iterable[Running], cluster_state: ClusterState) -> Iterator[str]:
    """A pod group that never lost a pod has either no pods placed, or at least its minimum."""
    groups = cluster_state.records.session_cache.groups()
    for workload in gangs:
        for group in workload.groups.values():
            record = groups.get(group.name)
            if record is None or group.has_lost or not sum(group.placed.values()):
                continue
            if not is_satisfied(record.root, group.placed):
                yield f"{group.name} has {sum(group.placed.values())} pods placed, fewer than its minimum"


def over_limit(cluster_state: ClusterState) -> Iterator[str]:
    """Yield queues whose pods use more than their limit; terminating pods do not count, as in the engine."""
    held: Counter[tuple[str, int]] = Counter()
    queues = {queue.name: queue for queue in cluster_state.records.session_cache.cluster_info.queues}
    groups = cluster_state.records.session_cache.groups()
    for pod in cluster_state.pods.values():
        group = groups.get(pod.record.group or "")
        if group is None or pod.record.status != RUNNING:
            continue
        at: str | None = group.queue
        while at is not None and at in queues:
            held[at, 0] += int(pod.record.request.get("cpu", 0.0))
            held[at, MEMORY] += int(pod.record.request.get("memory", 0.0))
            held[at, 2] += round(pod.gpus * 100)
            at = queues[at].parent
    for (name, resource), amount in held.items():
        queue = queues[name]
        bound = (queue.cpu, queue.memory, queue.gpu)[resource].limit
        if bound >= 0 and amount > bound * (100 if resource == 2 else 1) + _TOLERANCE:
            yield f"queue {name} uses {amount} of {RESOURCES[resource]}, more than its limit of {bound:g}"
