"""The policy's names of an engine's queues, and the usage of each queue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from apportion_compiler.backends.metadata import GROUP
from apportion_compiler.backends.partitions import partitions_of, queue_names, workload_queue_names
from apportion_compiler.graph.graph import PolicyGraph
from apportion_compiler.ir.program import Program
from apportion_compiler.plain_objects import Manifest, labels_of, name_of
from apportion_compiler.pool_label_keys import GPU_MODEL_LABEL
from apportion_compiler.readers.objects import queue_id
from apportion_policy.resources import CPU, GPU, MEMORY, gpu_resource
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.snapshots.pod_requests import pod_requests

_QUEUES = frozenset(("Queue", "ClusterQueue", "ElasticQuota"))
_QUEUE_LABEL = f"{GROUP}/queue"


def queue_ids(program: Program, objects: Iterable[Manifest]) -> dict[str, str]:
    """Return the policy's id for each queue name on its engine, or for each namespace if quotas are per namespace."""
    found = {queue.id: queue.id for queue in program.queues}
    for made in objects:
        if made.get("kind") in _QUEUES and queue_id(made) in found:
            found[name_of(made)] = queue_id(made)
        elif made.get("kind") == "Namespace" and labels_of(made).get(_QUEUE_LABEL) in found:
            found.setdefault(name_of(made), labels_of(made)[_QUEUE_LABEL])
    # On a cluster that is divided by GPU model, each queue has a name in every part.
    for names in queue_names(program, partitions_of(program)):
        for id_, own in names.items():
            found.setdefault(own, id_)
    # YuniKorn's workloads use the path of a queue.
    for id_, used in workload_queue_names(program).items():
        found.setdefault(used[0], id_)
    return found


def used_by_queue(cluster: Cluster, graph: PolicyGraph, ids: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """Return the requests of each queue's running pods, in base units; inner queues include their descendants."""
    state = cluster.cluster_state
    found: dict[str, dict[str, int]] = {}
    for pod in state.pods.values():
        queue = ids.get(state.history.workloads[pod.workload].queue)
        made = state.store.get("Pod", pod.namespace, pod.name)
        if queue is None or made is None or not pod.is_bound or pod.leaving:
            continue
        held = pod_requests(made["spec"])
        gpus = round(1000 * pod.gpus)
        node = state.store.get("Node", "", pod.record.node or "")
        model = "" if node is None else labels_of(node).get(GPU_MODEL_LABEL, "")
        amounts = {CPU: held.get(CPU, 0), MEMORY: held.get(MEMORY, 0), GPU: gpus}
        if model:
            amounts[gpu_resource(model)] = gpus
        for above in graph.nodes[queue].path:
            total = found.setdefault(above, {})
            for resource, amount in amounts.items():
                total[resource] = total.get(resource, 0) + amount
    return found
