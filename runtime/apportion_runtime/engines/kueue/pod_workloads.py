"""Pods as workloads: single pods, pods of a Deployment, and pod groups, each with a scheduling gate.

A pod that loses its quota is deleted; its controller creates a new one, which is a new workload.

Source: kubernetes-sigs/kueue v0.18.3, pkg/controller/jobs/pod (pod_webhook.go, pod_controller.go), jobs/deployment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from apportion_api.kueue.names import POD_GROUP_COUNT_ANNOTATION, POD_GROUP_LABEL, PRIORITY_CLASS_LABEL
from apportion_runtime.admission.objects import labels_of, namespace_of, uid_of
from apportion_runtime.engines.kueue.jobs import Jobs
from apportion_runtime.engines.kueue.pod_gates import group_size, is_alive, is_gated, template_of, ungated
from apportion_runtime.engines.kueue.pod_sets import PodSetTemplate, role_hash
from apportion_runtime.engines.kueue.workload_state import Phase, WorkloadState, workload_object
from apportion_runtime.sim.api.cluster_state import PodState
from apportion_runtime.sim.controllers.running_workload import Running
from apportion_runtime.sim.engine import Denied
from apportion_runtime.sim.history import ENDED_BY_SUCCESS
from apportion_runtime.sim.provisioning.request_consumers import consuming
from apportion_runtime.sim.scenario.format import Manifest

if TYPE_CHECKING:
    from apportion_runtime.engines.kueue.engine import Kueue


class PodWorkloads:
    """The workloads made of gated pods."""

    def __init__(self, engine: Kueue, jobs: Jobs) -> None:
        self._engine = engine
        self._jobs = jobs
        self._units: dict[str, WorkloadState] = {}
        """The workload of each pod, by uid."""
        self._gathering: dict[tuple[str, str], dict[str, int]] = {}
        """The pods of incomplete groups, by namespace and name of the group: uid and workload number."""

    def check_group(self, pod: Manifest) -> None:
        """Reject an excess pod of a group. Raises `Denied`."""
        group, size = labels_of(pod).get(POD_GROUP_LABEL), group_size(pod)
        if group is None:
            return
        there = [made for made in self._pods_of(namespace_of(pod), group) if is_alive(made)]
        if len(there) >= size:
            raise Denied(
                f"pod group {namespace_of(pod)}/{group} already has the maximum number of pods, {size} ({POD_GROUP_COUNT_ANNOTATION}); "
                "Kueue deletes excess pods"
            )

    def _pods_of(self, namespace: str, group: str) -> list[Manifest]:
        return [
            made
            for made in self._engine.cluster_state.store.list("Pod")
            if namespace_of(made) == namespace and labels_of(made).get(POD_GROUP_LABEL) == group
        ]

    def add(self, running: Running, pod: Manifest) -> None:
        """Create the workload of a new pod, once its group is complete."""
        if not is_gated(pod):
            return
        group = labels_of(pod).get(POD_GROUP_LABEL)
        if group is None:
            self._begin(running.number, [pod], "")
            return
        gathered = self._gathering.setdefault((namespace_of(pod), group), {})
        gathered[uid_of(pod)] = running.number
        size = group_size(pod)
        if len(gathered) < size:
            why = f"'{group}' group has fewer runnable pods than expected: {len(gathered)} of {size}"
            self._engine.note_waiting(running.number, why)
            return
        del self._gathering[namespace_of(pod), group]
        pods = [made for made in self._pods_of(namespace_of(pod), group) if uid_of(made) in gathered]
        self._begin(min(gathered.values()), pods, group)

    def _begin(self, number: int, pods: Sequence[Manifest], group: str) -> None:
        engine, first = self._engine, pods[0]
        by_role: dict[str, list[Manifest]] = {}
        for pod in pods:
            by_role.setdefault(role_hash(pod), []).append(pod)
        found = [PodSetTemplate(role if group else "main", len(alike), (), template_of(alike[0]))
                 for role, alike in sorted(by_role.items())]  # fmt: skip
        unit = self._jobs.unit(number, first, found)
        if isinstance(unit, str):
            engine.note_waiting(number, unit)
            return
        unit.pods = {uid_of(pod): role_hash(pod) if group else "main" for pod in pods}
        unit.name = group or unit.name
        engine.units[unit.key] = unit
        self._units |= dict.fromkeys(unit.pods, unit)
        cluster_state = engine.cluster_state
        cluster_state.history.workloads[number].queue = unit.queue
        cluster_state.store.create(workload_object(first, unit, labels_of(first).get(PRIORITY_CLASS_LABEL, "")))
        cluster_state.note("queued", workload=number, why=f"Created Workload: {unit.key}")
        engine.wait(unit)

    def release(self, unit: WorkloadState, templates: Mapping[str, Manifest]) -> None:
        """Ungate the pods of a workload, with the additions of flavors and checks to each pod set."""
        engine, cluster_state = self._engine, self._engine.cluster_state
        for state in engine.pods_of(unit):
            made = cluster_state.store.get("Pod", state.namespace, state.name)
            running = engine.workloads.running.get(state.workload)
            if made is None or running is None or state.leaving:
                continue
            released = consuming(ungated(made, templates[unit.pods[state.uid]]), cluster_state.store)
            state.record = engine.pods.add_pod(running, cluster_state.store.update(released))
            cluster_state.pod_changed(state.uid)
            if state.waits:
                cluster_state.n_pending += 1
        cluster_state.request_cycle()

    def is_held_back(self, pod: PodState) -> bool:
        """Return whether a pod waits for quota."""
        made = self._engine.cluster_state.store.get("Pod", pod.namespace, pod.name)
        return made is not None and is_gated(made)

    def left(self, pod: PodState) -> bool:
        """Remove a pod; return whether it belonged to a workload of pods."""
        for gathered in self._gathering.values():
            gathered.pop(pod.uid, None)
        unit = self._units.pop(pod.uid, None)
        if unit is None:
            return False
        engine = self._engine
        role = unit.pods.pop(pod.uid)
        if not unit.pods:
            engine.forget(unit)
        elif unit.phase is Phase.WAITING:
            # The rest of the group waits until it is complete again.
            key = (unit.namespace, unit.name)
            self._gathering[key] = {uid: engine.cluster_state.pods[uid].workload for uid in unit.pods}
            for uid in unit.pods:
                del self._units[uid]
            engine.forget(unit)
        elif pod.leaving == ENDED_BY_SUCCESS and unit.phase is Phase.ADMITTED:
            self._reclaim(unit, role)
        elif unit.phase is Phase.ADMITTED:
            engine.deadlines.lost(unit)
        return True

    def _reclaim(self, unit: WorkloadState, role: str) -> None:
        """Release the quota of a completed pod while other pods of its group continue."""
        assert unit.holder is not None
        unit.assigned = tuple(each.of(each.count - 1) if each.name == role else each for each in unit.assigned)
        usage: dict[tuple[str, str], int] = {}
        for each in unit.assigned:
            for resource, total in each.requests.items():
                flavor = unit.flavors.get(each.name, {}).get(resource)
                if flavor is not None:
                    usage[flavor, resource] = usage.get((flavor, resource), 0) + total
        unit.holder = replace(unit.holder, usage=usage)
        self._engine.samples.changed(unit)
        self._engine.holders.put(unit.holder)
        self._engine.queue_inadmissible(unit.queue)
