"""The number of additional nodes of a pool with which a workload starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from apportion_api.kubernetes.names import HOSTNAME_LABEL
from apportion_compiler.ir.program import NodePool
from apportion_compiler.plain_objects import Manifest, labels_of, text
from apportion_review.fit.clusters import ObservedCluster
from apportion_review.fit.probe import POOL_LABELS, Probe
from apportion_review.fit.records import Change, ChangeKind
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.kubelet.nodes import node_manifest
from apportion_runtime.sim.scenario.format import Pool

_MOST_NODES = 64
_MOST_EVICTING = 8


def pool_changes(
    observed: ObservedCluster, probe: Probe, workload: Manifest, n_pods: int, *, evicts: bool
) -> Iterator[Change]:
    """Yield, for each pool that helps, the smallest number of nodes with which the workload starts without evictions.

    The nodes are part of the snapshot, so pending work is scheduled on them first, as under a raised quota. The bisection
    assumes that additional nodes never prevent a start; they do if pending work starts on them and uses up a limit.

    Args:
        observed: The cluster.
        probe: The probe of the cluster.
        workload: The workload.
        n_pods: Number of its pods.
        evicts: Whether it currently evicts other work.
    """
    pools = [pool for pool in observed.compiled.program.pools if pool.plan is None]
    present = {pool.id: _nodes_of(probe.cluster, pool) for pool in pools}
    most = min(_MOST_EVICTING if evicts else _MOST_NODES, _most(observed, probe.cluster, n_pods))

    def starts(n_more: Mapping[str, int]) -> bool:
        nodes = [
            _node(observed, pool, next(iter(present[pool.id]), None), number)
            for pool in pools
            for number in range(1, n_more.get(pool.id, 0) + 1)
        ]
        return probe.of_changed(partial(observed.build, nodes=nodes)).starts_now(workload)

    # If a quota or a selector prevents the start, nodes of all pools together do not help either.
    if len(pools) > 1 and not starts({pool.id: most for pool in pools}):
        return
    for pool in pools:
        if not starts({pool.id: most}):
            continue
        low, n_more = 0, most
        while n_more - low > 1:
            middle = (low + n_more) // 2
            low, n_more = (low, middle) if starts({pool.id: middle}) else (middle, n_more)
        n_now = len(present[pool.id])
        wanted = n_now + n_more
        at = f"{pool.source.file}:{pool.source.line}" if pool.source.line else ""
        beside = () if wanted <= pool.max_nodes else (f"its max_nodes is {pool.max_nodes}: raise it to {wanted}",)
        yield Change(ChangeKind.NODES, pool.id, "nodes", "", str(n_now), str(wanted), at, beside)


def _nodes_of(cluster: Cluster, pool: NodePool) -> list[Manifest]:
    return [node for node in cluster.cluster_state.store.list("Node") if _is_of(node, pool)]


def _most(observed: ObservedCluster, cluster: Cluster, n_pods: int) -> int:
    """Return the maximum number of nodes to try: one for each of its pods, and for pods that are pending before it.

    Pods that are pending only in the snapshot get nodes by evictions, instead of which they may use additional nodes.
    """
    n_waiting = sum(not text(pod, "spec", "nodeName") for each in observed.workloads() for pod in each.pods)
    return n_pods + cluster.cluster_state.n_pending + n_waiting


def _is_of(node: Manifest, pool: NodePool) -> bool:
    labels = labels_of(node)
    return any(labels.get(key) == pool.id for key in POOL_LABELS)


def _node(observed: ObservedCluster, pool: NodePool, template: Manifest | None, number: int) -> Manifest:
    """Return an additional node: like the existing ones of the pool, or as declared in the policy."""
    name = f"{pool.id}-more-{number:04}"
    if template is None:
        shape = observed.compiled.shapes[pool.id]
        return node_manifest(Pool(pool.id, shape, 0, 0, 0), name)
    own: Any = template
    labels = {**labels_of(template), HOSTNAME_LABEL: name}
    kept = {key: value for key, value in own["metadata"].items() if key not in ("uid", "resourceVersion")}
    spec = {key: value for key, value in (own.get("spec") or {}).items() if key != "unschedulable"}
    conditions = [{"type": "Ready", "status": "True"}]
    status = {**(own.get("status") or {}), "conditions": conditions}
    return {**own, "metadata": {**kept, "name": name, "labels": labels}, "spec": spec, "status": status}
