"""The waits of pod groups: from their start until enough pods are bound."""

from __future__ import annotations

from apportion_api.counted_nouns import counted
from apportion_runtime.sim.api.cluster_state import ClusterState, PodState
from apportion_runtime.sim.controllers.progress import is_satisfied, part_of
from apportion_runtime.sim.controllers.running_workload import Group, Running


def begin_wait(cluster_state: ClusterState, group: Group, pod: PodState) -> None:
    """Record that a group waits, unless its placed pods satisfy it."""
    if cluster_state.history.is_waiting(group.name):
        return
    record = cluster_state.records.session_cache.groups().get(group.name)
    if record is None or not is_satisfied(record.root, group.placed):
        queue = cluster_state.history.workloads[pod.workload].queue
        cluster_state.history.begin_wait(group.name, pod.workload, queue, cluster_state.elapsed_s)


def note_stop(group: Group | None, pod: PodState) -> None:
    """Remove a pod from its group's ready and placed pods."""
    was_ready, pod.is_ready = pod.is_ready, False
    if group is None:
        return
    part = part_of(pod.record.sub_group)
    if pod.is_bound:
        group.placed[part] -= 1
        group.has_lost = True
    if was_ready:
        group.ready[part] -= 1


def note_placement(cluster_state: ClusterState, running: Running, group: Group, pod: PodState) -> None:
    """Count a pod that was bound, and record the end of its group's wait once the group is satisfied.

    The fact `started` counts all pods that are bound at its time, also after the group is satisfied.
    """
    group.placed[part_of(pod.record.sub_group)] += 1
    record = cluster_state.records.session_cache.groups()[group.name]
    if not is_satisfied(record.root, group.placed):
        return
    history, why = cluster_state.history, f"{counted(sum(group.placed.values()), 'pod')} placed"
    if not history.end_wait(group.name, cluster_state.elapsed_s):
        history.amend(group.start, cluster_state.elapsed_s, why)
        return
    facts = history.workloads[pod.workload]
    if facts.why_waiting:
        facts.end_waiting()
        cluster_state.wait_changed(pod.workload)
        cluster_state.records.session_cache.mark_unreported(running.groups)
    if facts.started_s is None:
        facts.started_s = cluster_state.elapsed_s
    group.start = len(history.facts)
    cluster_state.note("started", workload=pod.workload, why=why)
