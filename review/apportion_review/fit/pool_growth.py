"""The number of additional nodes of a pool with which a workload starts: nodes join one by one until it does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apportion_api.kubernetes.names import HOSTNAME_LABEL
from apportion_compiler.ir.program import NodePool
from apportion_compiler.plain_objects import Manifest, labels_of
from apportion_review.fit.clusters import ObservedCluster
from apportion_review.fit.probe import POOL_LABELS, Probe, Submission, run
from apportion_review.fit.records import Change, ChangeKind, Outcome
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.kubelet.nodes import add_node, node_manifest
from apportion_runtime.sim.scenario.format import Pool

_MOST_NODES = 64
_MOST_REBUILT = 8
_SETTLES_S = 3600.0


def pool_changes(
    observed: ObservedCluster, probe: Probe, workload: Manifest, n_pods: int, *, evicts: bool
) -> Iterator[Change]:
    """Yield, for each pool that helps, the smallest number of nodes with which the workload starts without evictions.

    Args:
        observed: The cluster.
        probe: The probe of the cluster.
        workload: The workload.
        n_pods: Number of its pods.
        evicts: Whether it currently evicts other work, so that nodes must join before it is submitted.
    """
    for pool in observed.compiled.program.pools:
        if pool.plan is not None:
            continue
        n_now = sum(_is_of(node, pool) for node in probe.cluster.cluster_state.store.list("Node"))
        if evicts:
            n_more = _nodes_before(observed, probe, pool, workload, min(_MOST_REBUILT, n_pods))
        else:
            cluster = probe.cluster
            probe.invalidate()
            n_more = _nodes_needed(observed, cluster, pool, workload, _most(cluster, n_pods))
        if n_more is None:
            continue
        wanted = n_now + n_more
        at = f"{pool.source.file}:{pool.source.line}" if pool.source.line else ""
        beside = () if wanted <= pool.max_nodes else (f"its max_nodes is {pool.max_nodes}: raise it to {wanted}",)
        yield Change(ChangeKind.NODES, pool.id, "nodes", "", str(n_now), str(wanted), at, beside)


def _nodes_before(observed: ObservedCluster, probe: Probe, pool: NodePool, workload: Manifest, most: int) -> int | None:
    for number in range(1, most + 1):
        cluster = probe.cluster
        probe.invalidate()
        template = next((node for node in cluster.cluster_state.store.list("Node") if _is_of(node, pool)), None)
        for each in range(1, number + 1):
            add_node(cluster.cluster_state, _node(observed, pool, template, each))
        run(cluster, _SETTLES_S)
        submission = Submission(cluster, workload)
        submission.settle(_SETTLES_S)
        if submission.decision().outcome is Outcome.NOW:
            return number
    return None


def _most(cluster: Cluster, n_pods: int) -> int:
    """Return the maximum number of nodes to try: one for each of its pods, and for pods pending before it."""
    return min(_MOST_NODES, n_pods + cluster.cluster_state.n_pending)


def _nodes_needed(
    observed: ObservedCluster, cluster: Cluster, pool: NodePool, workload: Manifest, most: int
) -> int | None:
    state = cluster.cluster_state
    template = next((node for node in state.store.list("Node") if _is_of(node, pool)), None)
    n_evicted = len(state.history.taken)
    submission = Submission(cluster, workload)
    submission.settle(_SETTLES_S)
    for number in range(1, most + 1):
        add_node(state, _node(observed, pool, template, number))
        submission.settle(_SETTLES_S)
        if len(state.history.taken) != n_evicted:
            return None
        if submission.placed_at is not None:
            return number
    return None


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
