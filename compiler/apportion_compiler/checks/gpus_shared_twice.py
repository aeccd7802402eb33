"""AP617: GPUs shared by the device plugin on a cluster where KAI shares them too."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity
from apportion_compiler.graph.graph import PolicyGraph
from apportion_policy.cluster import Cluster
from apportion_policy.engine import Engine
from apportion_policy.pool import Mps, NodePool, TimeSlicing
from apportion_policy.queue import Queue

GPUS_SHARED_TWICE = Rule(
    "AP617", "gpus-shared-twice", Severity.WARNING, "GPUs are shared by the device plugin and by KAI at the same time"
)


def gpus_shared_twice(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Report pools of KAI clusters on which workloads may request GPU fractions, each pool once."""
    reported: set[str] = set()
    for scope in graph.scopes:
        cluster = scope.cluster
        if cluster is None or cluster.engine is not Engine.KAI or cluster.kai.gpu_sharing is False:
            continue
        sharing = next((node.queue for node in graph.nodes.values() if node.queue.gpu_sharing), None)
        if sharing is None and not cluster.kai.gpu_sharing:
            continue
        for pool in graph.pools_of(cluster):
            if isinstance(pool.sharing, TimeSlicing | Mps) and pool.id not in reported:
                reported.add(pool.id)
                yield _finding(scope.name, cluster, pool, pool.sharing, sharing)


def _finding(
    scope: str | None, cluster: Cluster, pool: NodePool, sharing: TimeSlicing | Mps, queue: Queue | None
) -> Diagnostic:
    related = (
        Related(cluster.source, f"`{cluster.name}` enables GPU sharing in KAI")
        if queue is None
        else Related(queue.source, f"`{queue.id}` may request fractions of a GPU")
    )
    return Diagnostic(
        GPUS_SHARED_TWICE,
        f"node pool {pool.id}",
        f"`{pool.id}` advertises each GPU as {sharing.clients} ({sharing.kind}), but KAI counts whole devices: "
        f"a quota of 1 GPU is 1/{sharing.clients} of a device, and GPU memory may be overcommitted",
        pool.source,
        (related,),
        f"remove `sharing` from `{pool.id}`, or set `gpu_sharing` to false",
        scope=scope,
    )
