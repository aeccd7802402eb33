"""Adds an observed workload to a simulated cluster: its pods keep their nodes, and its engine its records."""

from __future__ import annotations

from collections.abc import Mapping

from apportion_runtime.admission.expansion import expand, is_suspended
from apportion_runtime.admission.objects import name_of, namespace_of, nested
from apportion_runtime.sim.api.cluster_state import ClusterState, PodState
from apportion_runtime.sim.api.events import FillDue, PodGone, WorkloadLeaves
from apportion_runtime.sim.controllers.gpu_requests import gpus_of
from apportion_runtime.sim.controllers.progress import part_of
from apportion_runtime.sim.controllers.running_workload import Running
from apportion_runtime.sim.controllers.workloads import Workloads
from apportion_runtime.sim.engine import Engine
from apportion_runtime.sim.history import ENDED_BY_DELETION
from apportion_runtime.sim.observed.workloads import ObservedWorkload, uid_or_name
from apportion_runtime.sim.scenario.format import Manifest, Work


def resume(cluster_state: ClusterState, workloads: Workloads, engine: Engine, observed: ObservedWorkload) -> int:
    """Add a workload to a cluster, and return its number.

    Raises:
        ValueError: If one of its objects cannot be read.
    """
    made = cluster_state.store.create(observed.manifest())
    number = workloads.add(Work(made))
    facts = cluster_state.history.workloads[number]
    facts.name, facts.kind = observed.owner.name, observed.owner.kind
    running = workloads.running[number] = Running(number, workloads.works[number], made, expand(made))
    running.slots = {slot.key: slot for slot in running.expansion.slots}
    running.is_suspended, running.has_begun = is_suspended(made), True
    facts.gpus = gpus_of(running.expansion)
    engine.made(running)
    if observed.pods:
        # The slots of missing pods come last.
        _add_pods(cluster_state, engine, running, dict(zip(running.slots, observed.pods, strict=False)))
    if observed.missing:
        # Pending pods of the snapshot were tried before the pods that are created now.
        running.n_denied = 1
        cluster_state.events.plan(cluster_state.now + cluster_state.timing.period_s, FillDue(number))
    if observed.ends is not None:
        cluster_state.events.plan(max(cluster_state.now, observed.ends), WorkloadLeaves(number))
    return number


def _add_pods(cluster_state: ClusterState, engine: Engine, running: Running, pods: Mapping[str, Manifest]) -> None:
    facts = cluster_state.history.workloads[running.number]
    for slot, made in pods.items():
        uid = uid_or_name(made)
        pod = cluster_state.store.create({**made, "metadata": {**made["metadata"], "uid": uid}})
        record = engine.add_pod(running, pod)
        state = PodState(uid, namespace_of(pod), name_of(pod), running.number, slot, record)
        cluster_state.pods[uid] = state
        cluster_state.pod_changed(uid)
        running.pods[slot] = uid
        group = running.groups.get(record.group or "")
        if group is not None:
            group.pods[uid] = None
        if record.node is None:
            cluster_state.n_pending += state.waits
            continue
        state.is_bound = True
        state.runs = state.is_ready = nested(pod, "status", "phase") == "Running"
        state.gpus = facts.gpus / len(pods)
        cluster_state.occupy(record.node, uid)
        if group is not None:
            group.placed[part_of(record.sub_group)] += 1
            group.ready[part_of(record.sub_group)] += state.is_ready
        if nested(pod, "metadata", "deletionTimestamp"):
            state.leaving = ENDED_BY_DELETION
            grace = float(nested(pod, "metadata", "deletionGracePeriodSeconds") or cluster_state.timing.grace_s)
            cluster_state.events.plan(cluster_state.now + grace, PodGone(uid))
        else:
            facts.started_s = 0.0
    cluster_state.request_cycle()
