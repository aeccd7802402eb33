"""Gangs for engines without KAI pod groups: the pods that must be ready for a workload to make progress.

A Ray cluster needs its head and minimum workers under every engine. Gang scheduling is up to the engine: without it,
a partial gang may occupy nodes without making progress.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from apportion_api.kai.names import (
    DEFAULT_SCHEDULER,
    GPU_DEVICES_ANNOTATION,
    GPU_FRACTION_ANNOTATION,
    GPU_MEMORY_ANNOTATION,
    POD_GROUP_ANNOTATION,
)
from apportion_runtime.admission.expansion import can_suspend, is_observed
from apportion_runtime.admission.grouping import group as group_of
from apportion_runtime.admission.grouping.grouping import Grouping
from apportion_runtime.admission.grouping.pod_group import pod_group
from apportion_runtime.admission.objects import GroupingError, annotations_of, kind_of, name_of, namespace_of
from apportion_runtime.core.snapshot import Pod
from apportion_runtime.sim.api.cluster_state import ClusterState
from apportion_runtime.sim.controllers.job_pods import JobPods, record_like
from apportion_runtime.sim.controllers.pod_groups import Lookup
from apportion_runtime.sim.controllers.running_workload import Group, Running
from apportion_runtime.sim.scenario.format import Manifest

_OF_KAI = (GPU_FRACTION_ANNOTATION, GPU_MEMORY_ANNOTATION, GPU_DEVICES_ANNOTATION, POD_GROUP_ANNOTATION)
"""Annotations that only this module reads."""


_JOB = ("batch", "Job")


class _Member(NamedTuple):
    """A pod in its group."""

    group: Group
    group_object: Manifest
    record: Pod


class Gangs:
    """Groups the pods of workloads by the minimum of the workload.

    Args:
        cluster_state: The simulated cluster.
        least: Returns the gang minimum of a pod's group under the engine; None uses that of the workload.
    """

    def __init__(
        self, cluster_state: ClusterState, least: Callable[[Running, Manifest], int | None] = lambda running, pod: None
    ) -> None:
        self._cluster_state = cluster_state
        self._least = least
        self._first: dict[int, str] = {}
        self._job_pods = JobPods[_Member](cluster_state)

    def name_of(self, running: Running) -> str:
        """Return the name of a workload's group, or of its first, before it has pods."""
        manifest = running.manifest
        return f"{namespace_of(manifest)}/{manifest.get('kind')}/{name_of(manifest)}"

    def add_pod(self, running: Running, made: Manifest) -> Pod:
        """Assign a pod to its group, add its record, and return it."""
        records = self._cluster_state.records
        first = self._of_first(running, made)
        if first is not None:
            return records.set_pod(record_like(first.record, made))
        n_faults = len(records.faults)
        name, part = self._group(running, made)
        kept = {key: value for key, value in annotations_of(made).items() if key not in _OF_KAI}
        record = records.read_pod({**made, "metadata": {**made["metadata"], "annotations": kept}})
        record = records.set_pod(replace(record, group=name, sub_group=part))
        if len(records.faults) == n_faults:
            group = running.groups[name]
            self._job_pods.note(made, record, _Member(group, group.made, record))
        return record

    def _of_first(self, running: Running, made: Manifest) -> _Member | None:
        """Return the first pod of a pod's Job if neither the Job nor the group changed since it was grouped."""
        first = self._job_pods.of_first(made)
        if first is None or running.groups.get(first.group.name) is not first.group:
            return None
        return first if first.group.made is first.group_object else None

    def regroup(self, running: Running, made: Manifest) -> None:
        """Update the minimum of a pod's group to that of its workload."""
        if self._of_first(running, made) is None:
            self._group(running, made)

    def _group(self, running: Running, made: Manifest) -> tuple[str, str]:
        grouping = _alone(made) if is_observed(running.manifest) else self._grouping(made)
        least = self._least(running, made)
        if least is not None and not grouping.parts:
            grouping = replace(grouping, min_members=least)
        name = grouping.name
        if can_suspend(running.manifest) and self._first.setdefault(running.number, name) == name:
            name = self.name_of(running)
        before = running.groups.get(name)
        needed = _object(grouping, name, self._cluster_state.clock.text)
        if before is None or before.made["spec"] != needed["spec"]:
            record = self._cluster_state.records.put_group(needed)
            assert record is not None
            if before is None:
                running.groups[name] = Group(name, needed)
            else:
                before.made = needed
        return name, grouping.sub_group

    def _grouping(self, made: Manifest) -> Grouping:
        as_kai = {**made, "spec": {**made["spec"], "schedulerName": DEFAULT_SCHEDULER}}
        try:
            return group_of(as_kai, Lookup(self._cluster_state)) or _alone(made)
        except GroupingError:
            return _alone(made)


def independent_jobs(running: Running, made: Manifest) -> int | None:
    """Return a minimum of 1 for pods of a Job, on an engine that starts them one by one: each works without the others."""
    return 1 if kind_of(running.manifest) == _JOB and not running.ends_together else None


def _alone(made: Manifest) -> Grouping:
    """Return a pod as a separate group."""
    return Grouping(made, namespace_of(made), f"pg-{name_of(made)}-{made['metadata']['uid']}", "", "")


def _object(grouping: Grouping, name: str, now: str) -> dict[str, Any]:
    made = pod_group(replace(grouping, queue="", priority_class="", constraint=None, labels={}, annotations={}), None)
    metadata = {"name": name, "namespace": grouping.namespace, "creationTimestamp": now}
    return {**made, "metadata": metadata}
