"""The engine's pod grouper in the simulated cluster: creates pod groups for new pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from apportion_api.kai.names import POD_GROUP_ANNOTATION, SUB_GROUP_LABEL
from apportion_runtime.admission.expansion import Slot
from apportion_runtime.admission.grouping.grouping import Grouping
from apportion_runtime.admission.grouping.pod_group import pod_group
from apportion_runtime.admission.objects import GroupingError, annotations_of, kind_of, labels_of, namespace_of, nested
from apportion_runtime.core.explain.pending_reasons import UnusableQueue
from apportion_runtime.core.snapshot import Pod
from apportion_runtime.sim.api.cluster_state import ClusterState
from apportion_runtime.sim.controllers.job_groupings import JobGroupings
from apportion_runtime.sim.controllers.job_pods import JobPods, record_like
from apportion_runtime.sim.controllers.running_workload import Group, Running
from apportion_runtime.sim.scenario.format import Manifest


class _GroupedPod(NamedTuple):
    """A pod with its sub-group and group, its record, and the pod as it was assigned to the group."""

    sub_group: str
    group: Group
    record: Pod
    made: Manifest


class PodGrouper:
    """Creates pod groups, and assigns pods to them."""

    def __init__(self, cluster_state: ClusterState) -> None:
        self._cluster_state = cluster_state
        self._job_pods = JobPods[_GroupedPod](cluster_state)
        scheduler = cluster_state.records.engine.settings.scheduler_name
        self._groupings = JobGroupings(Lookup(cluster_state), scheduler)
        cluster_state.store.watch("PriorityClass", lambda _: self._groupings.forget())

    def put_pod(self, running: Running, made: Manifest) -> Pod:
        """Assign a pod that was created to its group, and read it."""
        cluster_state = self._cluster_state
        records = cluster_state.records
        first = self._job_pods.of_first(made)
        if first is not None and self._is_current(running, first.group):
            assigned = self._assigned(made, first.group.name, first.sub_group)
            return records.set_pod(record_like(first.record, assigned))
        n_faults = len(records.faults)
        known = self._put_known(running, made)
        if known is None:
            grouping = self._grouping(running, made)
            if grouping is None:
                return records.put_pod(made)
            self._put_group(running, grouping)
            known = grouping.name, grouping.sub_group
        name, sub_group = known
        assigned = self._assigned(made, name, sub_group)
        record = records.put_new_pod(assigned)
        if len(records.faults) == n_faults:
            self._job_pods.note(made, record, _GroupedPod(sub_group, running.groups[name], record, assigned))
        return record

    def _put_known(self, running: Running, made: Manifest) -> tuple[str, str] | None:
        """Create the group of a Job's first pod if the groups of such Jobs are known, and return its name and sub-group."""
        found = self._groupings.new_group(made)
        if found is None:
            return None
        (grouping, _), fresh = found
        name, store = fresh["metadata"]["name"], self._cluster_state.store
        if name in running.groups or store.get("PodGroup", fresh["metadata"]["namespace"], name) is not None:
            return None
        self._note_group(running, store.create(fresh), has_queue=grouping.has_queue)
        return name, grouping.sub_group

    def create_like(self, running: Running, slot: Slot, name: str) -> tuple[Manifest, Pod] | None:
        """Create another pod of the Job whose pods are being created, assigned to the same group, and read it.

        None if it differs in more than its name, uid and index.
        """
        cluster_state = self._cluster_state
        first = self._job_pods.of_slot(slot, name, cluster_state.clock.text)
        if first is None or not self._is_current(running, first.group):
            return None
        labels = slot.labels
        if first.sub_group:
            labels = {**labels, SUB_GROUP_LABEL: first.sub_group}
        # It is written once when it is created, and once when it is assigned.
        made = cluster_state.store.create_like(first.made, name, labels, n_writes=2)
        if made is None:
            return None
        return made, cluster_state.records.set_pod(record_like(first.record, made))

    def _is_current(self, running: Running, group: Group) -> bool:
        """Return whether a group of a workload is as it was created."""
        stored = self._cluster_state.store.get("PodGroup", namespace_of(group.made), group.name)
        return stored is group.made and running.groups.get(group.name) is group

    def regroup(self, running: Running, made: Manifest) -> None:
        """Update the group of a pod to its workload."""
        grouping = self._grouping(running, made)
        if grouping is not None:
            self._put_group(running, grouping)
            self._assigned(made, grouping.name, grouping.sub_group)

    def _grouping(self, running: Running, made: Manifest) -> Grouping | None:
        """Return the group of a pod; record why it has none."""
        cluster_state = self._cluster_state
        try:
            grouping = self._groupings.of(made)
        except GroupingError as wrong:
            cluster_state.note_wait(running.number, str(wrong))
            return None
        if grouping is None:
            scheduler = made["spec"].get("schedulerName") or "default-scheduler"
            cluster_state.note_wait(running.number, f"schedulerName is {scheduler}; no pod group is created")
        return grouping

    def _assigned(self, made: Manifest, group: str, sub_group: str) -> Manifest:
        """Assign a pod to its group."""
        annotations = {**annotations_of(made), POD_GROUP_ANNOTATION: group}
        labels = labels_of(made)
        if sub_group:
            labels = {**labels, SUB_GROUP_LABEL: sub_group}
        return self._cluster_state.store.update(
            {**made, "metadata": {**made["metadata"], "annotations": annotations, "labels": labels}}
        )

    def add_pod(self, running: Running, made: Manifest) -> None:
        """Assign a pod of a snapshot to the group that it names, as recorded in the snapshot."""
        name = annotations_of(made).get(POD_GROUP_ANNOTATION, "")
        group = self._cluster_state.store.get("PodGroup", namespace_of(made), name)
        if group is not None and name not in running.groups:
            self._cluster_state.records.put_group(group)
            running.groups[name] = Group(name, group)
            self._cluster_state.history.workloads[running.number].queue = str(nested(group, "spec", "queue") or "")

    def _put_group(self, running: Running, grouping: Grouping) -> None:
        cluster_state = self._cluster_state
        before = cluster_state.store.get("PodGroup", grouping.namespace, grouping.name)
        made = pod_group(grouping, before)
        group = running.groups.get(grouping.name)
        if before is not None and group is not None and before["spec"] == made["spec"]:
            return
        made_now = cluster_state.store.create(made) if before is None else cluster_state.store.update(made)
        self._note_group(running, made_now, has_queue=grouping.has_queue)

    def _note_group(self, running: Running, made: Manifest, *, has_queue: bool) -> None:
        """Read a group that was written, and record why its pods cannot run."""
        cluster_state, name = self._cluster_state, made["metadata"]["name"]
        cluster_state.records.put_group(made)
        group = running.groups.get(name)
        if group is None:
            running.groups[name] = Group(name, made)
        else:
            group.made = made
        queue = made["spec"]["queue"]
        cluster_state.history.workloads[running.number].queue = queue
        if not has_queue and queue not in cluster_state.records.leaves:
            kind = running.manifest.get("kind")
            cluster_state.note_wait(running.number, f"Queue label missing from {kind}; pods will remain pending")
        elif queue in cluster_state.records.parents and queue not in cluster_state.records.leaves:
            cluster_state.note_wait(running.number, UnusableQueue(queue, None).text)


class Lookup:
    """The object store, as the grouping reads it."""

    def __init__(self, cluster_state: ClusterState) -> None:
        self._cluster_state = cluster_state

    def get(self, kind: str, namespace: str, name: str) -> Manifest | None:
        """Return an object; None if it does not exist."""
        return self._cluster_state.store.get(kind, namespace, name)

    def read(self, api_version: str, kind: str, namespace: str, name: str) -> Manifest | None:
        """Return an object of the kind in any version; None if it does not exist."""
        found = self.get(kind, namespace, name) or self.get(kind, "", name)
        group = api_version.rpartition("/")[0]
        return found if found is not None and kind_of(found)[0] == group else None

    def pods(self, namespace: str, labels: Mapping[str, str]) -> Iterator[Manifest]:
        """Return the pods with these labels."""
        for pod in self._cluster_state.store.list("Pod"):
            if namespace_of(pod) == namespace and labels.items() <= labels_of(pod).items():
                yield pod
