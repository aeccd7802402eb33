"""Planned changes of a workload: scaling, deletion after its lifetime, cancellation while it waits."""

from __future__ import annotations

from apportion_runtime.sim.api.cluster_state import ClusterState
from apportion_runtime.sim.api.events import WorkloadLeaves, WorkloadScaled
from apportion_runtime.sim.controllers.running_workload import Running


def plan_changes(cluster_state: ClusterState, running: Running) -> None:
    """Schedule the events that the scenario plans for a workload that just arrived."""
    number, work, now = running.number, running.work, cluster_state.now
    for scaling in work.scalings:
        at = max(now, cluster_state.clock.start + scaling.at_s)
        cluster_state.events.plan(at, WorkloadScaled(number, scaling.replicas, scaling.group))
    if work.lifetime_s is not None:
        cluster_state.events.plan(now + work.lifetime_s, WorkloadLeaves(number))
    if work.cancelled_s is not None:
        cluster_state.events.plan(now + work.cancelled_s, WorkloadLeaves(number, only_if_unstarted=True))
