"""RayJob submission: the work starts once all pods of the cluster are ready.

A submitted job stays submitted when pods are replaced, until the workload is suspended. Source: KubeRay 1.7,
ray-operator/controllers/ray/rayjob_controller.go, which waits for a cluster's state to become `ready`, and does not
check it again.
"""

from __future__ import annotations

from collections.abc import Mapping

from apportion_runtime.sim.api.cluster_state import PodState
from apportion_runtime.sim.controllers.running_workload import Running


def wants_last(running: Running, pod: PodState, pods: Mapping[str, PodState]) -> bool:
    """Record that a pod became ready; return whether the submitter pod is now needed.

    Args:
        running: The workload of the pod.
        pod: The pod.
        pods: Those of the cluster, by uid.
    """
    if not running.expansion.submitted or running.was_submitted:
        return False
    slot = running.slots.get(pod.slot)
    if slot is not None and slot.comes_last:
        running.was_submitted = True
        return False
    if running.was_whole:
        return False
    first = [key for key, slot in running.slots.items() if not slot.comes_last]
    running.was_whole = all(key in running.pods and pods[running.pods[key]].is_ready for key in first)
    running.was_submitted = running.was_whole and len(first) == len(running.slots)
    return running.was_whole and not running.was_submitted
