"""Eviction of pods, recorded in the history, for every engine."""

from __future__ import annotations

from apportion_runtime.sim.api.cluster_state import ClusterState, PodState
from apportion_runtime.sim.history import ENDED_BY_EVICTION, EvictionFact
from apportion_runtime.sim.kubelet.kubelet import Kubelet


def evict(
    cluster_state: ClusterState,
    kubelet: Kubelet,
    pod: PodState,
    *,
    action: str,
    rule: str,
    message: str,
    by: PodState | None = None,
    for_workload: int = -1,
    because: str = "",
) -> bool:
    """Evict a pod; return whether the cluster allowed it.

    Args:
        cluster_state: The state of the simulation.
        kubelet: Stops the pod.
        pod: The pod to evict.
        action: The action of the engine that decided it.
        rule: The rule of the engine.
        message: The engine's message.
        by: The beneficiary pod; None if there is none.
        for_workload: The beneficiary workload, if it has no pods yet.
        because: The explanation recorded with the fact; by default the message.
    """
    if kubelet.is_leaving(pod):
        return False
    gpus, node = pod.gpus, pod.record.node or ""
    if not kubelet.stop(pod, ENDED_BY_EVICTION):
        return False
    facts = cluster_state.history.workloads[pod.workload]
    last = cluster_state.history.taken[-1] if cluster_state.history.taken else None
    if last is None or (last.at_s, last.workload) != (cluster_state.elapsed_s, pod.workload):
        facts.n_evictions += 1
    for_workload = for_workload if by is None else by.workload
    for_facts = None if for_workload < 0 else cluster_state.history.workloads[for_workload]
    cluster_state.history.taken.append(
        EvictionFact(
            cluster_state.elapsed_s, pod.name, pod.workload, facts.queue, node, gpus, action,
            "" if by is None else by.record.group or "", for_workload,
            "" if for_facts is None else for_facts.queue, rule, message,
        )
    )  # fmt: skip
    name = "" if for_facts is None else for_facts.name
    cluster_state.note("evicted", workload=pod.workload, pod=pod.name, node=node, by=name, why=because or message)
    return True
