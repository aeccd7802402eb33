"""Creating the pods of a workload and their owners, and the delay before a denied pod is retried."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from apportion_runtime.admission.expansion import PodReplacement, Slot
from apportion_runtime.admission.objects import kind_of, namespace_of
from apportion_runtime.core.snapshot import Pod
from apportion_runtime.sim.api.cluster_state import ClusterState, PodState
from apportion_runtime.sim.api.events import FillDue
from apportion_runtime.sim.controllers.group_waits import begin_wait
from apportion_runtime.sim.controllers.running_workload import Running
from apportion_runtime.sim.scenario.format import Manifest

_BACKOFFS = {("batch", "Job"): (1.0, 60.0)}
_BACKOFF = (0.005, 1000.0)
"""First and longest delay in seconds before a controller retries: the job controller's own (DefaultJobApiBackOff,
MaxJobApiBackOff), and client-go's DefaultTypedControllerRateLimiter, which the others use."""


def plan_retry(cluster_state: ClusterState, running: Running, why: str) -> None:
    """Record that a pod was denied, and plan the retry of its controller: the delay doubles with each denial in a row."""
    cluster_state.note_wait(running.number, why, what="denied")
    first, longest = _BACKOFFS.get(kind_of(running.manifest), _BACKOFF)
    delay = min(longest, first * 2.0 ** min(running.n_denied, 30))
    running.n_denied += 1
    cluster_state.events.plan(cluster_state.now + delay, FillDue(running.number))


def create_children(cluster_state: ClusterState, running: Running, children: Iterable[dict[str, Any]]) -> None:
    """Create the objects between a workload and its pods that do not exist."""
    namespace = namespace_of(running.manifest)
    for made in children:
        if (made["kind"], made["metadata"]["name"]) in running.children:
            continue
        reference = made["metadata"]["ownerReferences"][0]
        owner = cluster_state.store.get(reference["kind"], namespace, reference["name"])
        assert owner is not None
        owners = [{**reference, "uid": owner["metadata"]["uid"]}]
        cluster_state.store.create({**made, "metadata": {**made["metadata"], "ownerReferences": owners}})
        running.children.append((made["kind"], made["metadata"]["name"]))


def create_pod(
    cluster_state: ClusterState, admit: Callable[[Manifest], Manifest], running: Running, slot: Slot
) -> Manifest:
    """Create the pod of a slot, and its owner if that is created last. Raises `Denied` if admission denies it."""
    manifest = running.manifest
    if slot.owner is None:
        return manifest
    number, name = running.n_made[slot.key], f"{slot.owner[1]}-{slot.key}"
    if number and running.expansion.replacing is not PodReplacement.SAME_NAME:
        name = f"{name}-r{number}"
    namespace = namespace_of(manifest)
    kind, owner_name = slot.owner
    if slot.comes_last and running.expansion.last_child is not None:
        create_children(cluster_state, running, (running.expansion.last_child,))
    owner = cluster_state.store.get(kind, namespace, owner_name)
    assert owner is not None
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": kind,
        "name": owner_name,
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }
    metadata = {
        "name": name,
        "namespace": namespace,
        "labels": slot.labels,
        "annotations": slot.annotations,
        "ownerReferences": [reference],
    }
    made = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": slot.spec}
    admitted = admit({**made, "status": {"phase": "Pending"}})
    running.n_made[slot.key] += 1
    return cluster_state.store.create(admitted)


def note_pod(cluster_state: ClusterState, running: Running, slot: Slot, made: Manifest, record: Pod) -> None:
    """Record a pod that was created and read, with its group."""
    facts = cluster_state.history.workloads[running.number]
    uid, name = made["metadata"]["uid"], made["metadata"]["name"]
    state = PodState(uid, facts.namespace, name, running.number, slot.key, record)
    cluster_state.pods[uid] = state
    cluster_state.pod_changed(uid)
    running.pods[slot.key] = uid
    group = running.groups.get(record.group or "")
    if group is not None:
        group.pods[uid] = None
        begin_wait(cluster_state, group, state)
    if state.waits:
        cluster_state.n_pending += 1
    cluster_state.request_cycle()


def pod_object(cluster_state: ClusterState, pod: PodState) -> Manifest:
    """Return the API object of an existing pod."""
    made = cluster_state.store.get("Pod", pod.namespace, pod.name)
    assert made is not None
    return made
