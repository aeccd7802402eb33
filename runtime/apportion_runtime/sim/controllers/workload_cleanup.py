"""The objects deleted at the end of a workload: its pod groups, the objects between it and its pods, the workload itself."""

from __future__ import annotations

from apportion_runtime.admission.objects import name_of, namespace_of
from apportion_runtime.sim.api.cluster_state import ClusterState
from apportion_runtime.sim.controllers.running_workload import Running


def has_pods(cluster_state: ClusterState, running: Running) -> bool:
    """Whether any pod of a workload still exists, among its pods or in one of its groups."""
    grouped = any(uid in cluster_state.pods for group in running.groups.values() for uid in group.pods)
    return grouped or any(uid in cluster_state.pods for uid in running.pods.values())


def delete_objects(cluster_state: ClusterState, running: Running) -> None:
    """Delete a workload's object and those between it and its pods, the innermost first."""
    namespace = namespace_of(running.manifest)
    for kind, name in (*reversed(running.children), (str(running.manifest["kind"]), name_of(running.manifest))):
        cluster_state.store.discard(kind, namespace, name)


def drop_group(cluster_state: ClusterState, running: Running, name: str) -> None:
    """Delete one of a workload's pod groups, with its records."""
    made = running.groups.pop(name).made
    cluster_state.history.drop_wait(name)
    cluster_state.records.drop_group(name)
    cluster_state.store.discard("PodGroup", namespace_of(made), name)
