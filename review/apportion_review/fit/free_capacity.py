"""What is free for a workload: the GPUs of each node pool, and of the limits of its queue and the queues above it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apportion_compiler.graph.graph import PolicyGraph, Scope
from apportion_compiler.plain_objects import Manifest, labels_of, mapping, name_of
from apportion_policy.quantity import Unlimited, gpu_text
from apportion_policy.resources import GPU
from apportion_review.fit.probe import POOL_LABELS
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.snapshots.pod_requests import GPUS, amounts


def free_in_pools(cluster: Cluster) -> Iterator[str]:
    """Yield the free GPUs of each pool that has some, as a clause."""
    pools: dict[str, list[tuple[int, int]]] = {}
    for node in cluster.cluster_state.store.list("Node"):
        total = _gpus(node)
        if total:
            labels = labels_of(node)
            pool = next((labels[key] for key in POOL_LABELS if key in labels), "")
            pools.setdefault(pool, []).append((total, total - _used_gpus(cluster, name_of(node))))
    for pool, nodes in sorted(pools.items()):
        free, total = sum(each[1] for each in nodes), sum(each[0] for each in nodes)
        where = f"pool {pool}" if pool else "nodes without a pool label"
        most = f", at most {gpu_text(max(each[1] for each in nodes))} on one node" if free else ""
        yield f"{where}: {gpu_text(free)} of {gpu_text(total)} GPUs{most}"


def free_in_queues(
    queue: str, graph: PolicyGraph, scope: Scope, used: Mapping[str, Mapping[str, int]]
) -> Iterator[str]:
    """Yield the free GPUs of a queue and of those above it that have a limit, as clauses."""
    for name in reversed(graph.nodes[queue].path if queue in graph.nodes else ()):
        limit = scope.values[name].limit.get(GPU) if name in scope.values else None
        if limit is not None and not isinstance(limit, Unlimited):
            free = max(limit - used.get(name, {}).get(GPU, 0), 0)
            yield f"queue {name}: {gpu_text(free)} of {gpu_text(limit)} GPUs, its limit"


def _gpus(node: Manifest) -> int:
    spec = mapping(node, "spec")
    if spec.get("unschedulable"):
        return 0
    held = amounts(mapping(node, "status").get("allocatable"))
    return 1000 * sum(held.get(name, 0) for name in GPUS)


def _used_gpus(cluster: Cluster, node: str) -> int:
    state = cluster.cluster_state
    return sum(round(1000 * state.pods[uid].gpus) for uid in state.pods_on.get(node, ()) if uid in state.pods)
