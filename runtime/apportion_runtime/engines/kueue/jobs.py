"""The jobs that Kueue manages, and the workload of each.

Source: kubernetes-sigs/kueue v0.18.3, pkg/controller/jobframework (defaults.go, reconciler.go), pkg/util/priority.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from apportion_api.kubernetes.names import NAMESPACE_LABEL
from apportion_api.kubernetes.objects import PriorityClass, default_class
from apportion_api.kueue.names import (
    DEFAULT_QUEUE,
    ELASTIC_ANNOTATION,
    MAX_TIME_LABEL,
    PRIORITY_CLASS_LABEL,
    QUEUE_LABEL,
    SUSPENDING_PARENT_ANNOTATION,
    TOPOLOGY_PREFIX,
)
from apportion_api.objects import read
from apportion_runtime.admission.expansion.observed import is_observed
from apportion_runtime.admission.expansion.suspension import with_suspended
from apportion_runtime.admission.objects import (
    annotations_of,
    kind_of,
    labels_of,
    name_of,
    namespace_of,
    nested,
    uid_of,
)
from apportion_runtime.engines.kueue.object_reader import Configured, selects
from apportion_runtime.engines.kueue.pod_gates import gated, group_size, propagated
from apportion_runtime.engines.kueue.pod_sets import (
    FRAMEWORKS,
    POD_FRAMEWORKS,
    PodSetTemplate,
    check_least,
    originals_of,
    pod_set,
    pod_set_templates,
    shape,
)
from apportion_runtime.engines.kueue.records import PodSet
from apportion_runtime.engines.kueue.workload_state import WorkloadState, workload_name
from apportion_runtime.sim.api.object_store import ClusterApi
from apportion_runtime.sim.engine import Denied
from apportion_runtime.sim.scenario.format import Manifest
from apportion_runtime.snapshots.quantities import parse_time

_NAME_LABEL = NAMESPACE_LABEL
_POD, _DEPLOYMENT, _CRON_JOB = POD_FRAMEWORKS["pod"], POD_FRAMEWORKS["deployment"], ("batch", "CronJob")
_JOB = ("batch", "Job")


class Jobs:
    """Reads jobs.

    Args:
        store: The object store, with namespaces and priority classes.
        configured: Returns the current configuration.
    """

    def __init__(self, store: ClusterApi, configured: Callable[[], Configured]) -> None:
        self._store = store
        self._configured = configured

    def held_back(self, made: Manifest) -> Manifest:
        """Return a new object, suspended if Kueue manages it.

        Raises:
            Denied: If its pod sets are invalid, or Kueue manages its kind and that is not simulated.
        """
        kind = kind_of(made)
        if kind == _POD and self._holds(made):
            group_size(made)
            self._check(made, [PodSetTemplate("main", 1, (), made)])
            return gated(made, self.queue_name(made))
        if kind == _POD and made["metadata"].get("ownerReferences"):
            return made
        if kind == _DEPLOYMENT and kind in self._configured().settings.kinds:
            return propagated(made, self.queue_name(made)) if self._is_managed(made) else made
        if self.manages(made):
            found = pod_set_templates(made)
            self.pod_sets(found)
            self._check(made, found)
            return with_suspended(made, suspended=True)
        if labels_of(made).get(QUEUE_LABEL) and kind != _CRON_JOB:
            self._refuse(made)
        return made

    def _refuse(self, made: Manifest) -> None:
        """Raise `Denied` for an object with a queue label whose kind is not managed."""
        known, kinds = {**FRAMEWORKS, **POD_FRAMEWORKS}, self._configured().settings.kinds
        integration = next((name for name, kind in known.items() if kind == kind_of(made)), None)
        if integration is not None:
            cure = f"does not list `{integration}` in integrations.frameworks; add it to the list"
            if kind_of(made) in kinds:
                cure = "has a managedJobsNamespaceSelector that the namespace does not match; label the namespace"
            raise Denied(
                f"{made['kind']} {namespace_of(made)}/{name_of(made)} has a queue label, but Kueue does not manage it: "
                f"Kueue's configuration {cure}"
            )
        kinds_known = ", ".join(sorted(kind for _, kind in kinds))
        raise Denied(f"the Kueue integration of {made.get('kind')} is not simulated; simulated kinds are {kinds_known}")

    def _holds(self, pod: Manifest) -> bool:
        """Return whether a pod is gated itself, rather than its job suspended."""
        if annotations_of(pod).get(SUSPENDING_PARENT_ANNOTATION):
            return True
        settings = self._configured().settings
        if _POD not in settings.kinds:
            return False
        if settings.namespaces is not None and not selects(settings.namespaces, self.labels_of(namespace_of(pod))):
            return False
        if not self.queue_name(pod) and not settings.manages_unnamed:
            return False
        return not self._is_of_managed(pod)

    def _is_of_managed(self, made: Manifest) -> bool:
        for reference in made["metadata"].get("ownerReferences") or ():
            owner = self._store.get(str(reference["kind"]), namespace_of(made), str(reference["name"]))
            if owner is not None and (is_observed(owner) or self.manages(owner) or self._is_of_managed(owner)):
                return True
        return False

    def _check(self, made: Manifest, found: Sequence[PodSetTemplate]) -> None:
        """Raise `Denied` for objects that Kueue's webhook rejects, and for features that are not simulated."""
        try:
            if kind_of(made) == _JOB:
                check_least(made, found[0].count)
            self._longest_s(made)
        except ValueError as wrong:
            raise Denied(f"{made['kind']} {namespace_of(made)}/{name_of(made)}: {wrong}") from None
        if annotations_of(made).get(ELASTIC_ANNOTATION) == "true":
            raise Denied(
                f"{ELASTIC_ANNOTATION} enables workload slices, which are not simulated; remove the annotation"
            )
        for place in found:
            asked = next((key for key in _annotations(place.template) if key.startswith(TOPOLOGY_PREFIX)), None)
            if asked is not None:
                raise Denied(
                    f"the annotation {asked} of pod set {place.name} requests topology-aware scheduling, which is not "
                    "simulated under Kueue; remove the annotation"
                )
            if nested(place.template, "spec", "resourceClaims"):
                raise Denied(f"pod set {place.name} uses resourceClaims, which are not simulated under Kueue")

    @staticmethod
    def _longest_s(job: Manifest) -> float | None:
        """Return the maximum execution time of a job. Raises `ValueError` with the message of Kueue's webhook."""
        label = labels_of(job).get(MAX_TIME_LABEL)
        if label is None:
            return None
        if not label.isdecimal() or not int(label):
            raise ValueError(f'metadata.labels[{MAX_TIME_LABEL}]: Invalid value: "{label}": should be greater than 0')
        return float(label)

    def manages(self, made: Manifest) -> bool:
        """Return whether an object is a job that Kueue suspends."""
        kind = kind_of(made)
        if kind not in FRAMEWORKS.values() or kind not in self._configured().settings.kinds:
            return False
        return self._is_managed(made)

    def _is_managed(self, made: Manifest) -> bool:
        return bool(self.queue_name(made)) or self._manages_unnamed(namespace_of(made))

    def queue_name(self, made: Manifest) -> str:
        """Return the LocalQueue of a job, set or by default; empty if it has none."""
        label = labels_of(made).get(QUEUE_LABEL)
        if label:
            return label
        has_default = (namespace_of(made), DEFAULT_QUEUE) in self._configured().local_queues
        return DEFAULT_QUEUE if has_default else ""

    def _manages_unnamed(self, namespace: str) -> bool:
        settings = self._configured().settings
        if not settings.manages_unnamed:
            return False
        return settings.namespaces is None or selects(settings.namespaces, self.labels_of(namespace))

    def labels_of(self, namespace: str) -> Mapping[str, str]:
        """Return the labels of a namespace, which need not be declared."""
        made = self._store.get("Namespace", "", namespace)
        return {_NAME_LABEL: namespace, **({} if made is None else labels_of(made))}

    def pod_sets(self, found: Sequence[PodSetTemplate]) -> tuple[PodSet, ...]:
        """Return the pod sets of a job. Raises `Denied` if they are invalid."""
        try:
            return tuple(pod_set(place, self._configured().settings.counting) for place in found)
        except ValueError as wrong:
            raise Denied(str(wrong)) from None

    def unit(self, number: int, job: Manifest, found: Sequence[PodSetTemplate]) -> WorkloadState | str:
        """Return the workload of a managed job or pod, or why it has none."""
        local, configured = self.queue_name(job), self._configured()
        if not local:
            held = "gated" if kind_of(job) == _POD else "suspended"
            return f"{job['kind']} has no label {QUEUE_LABEL}; Kueue keeps it {held}"
        label = labels_of(job).get(PRIORITY_CLASS_LABEL)
        if label is not None and label not in configured.classes:
            return f'WorkloadPriorityClass.kueue.x-k8s.io "{label}" not found'
        pod_sets = self.pod_sets(found)
        priority = self._of_pods(found[0].template if found else {}) if label is None else configured.classes[label]
        created = parse_time(str(job["metadata"]["creationTimestamp"]))
        return WorkloadState(
            number=number,
            namespace=namespace_of(job),
            name=workload_name(job),
            uid=uid_of(job),
            local_queue=local,
            queue=configured.local_queues.get((namespace_of(job), local), ""),
            priority=priority,
            created=created,
            ordered_at=created,
            pod_set_templates=list(found),
            pod_sets=pod_sets,
            shape=shape(pod_sets, priority),
            originals=originals_of(job, found),
            longest_s=self._longest_s(job),
        )

    def _of_pods(self, template: Manifest) -> int:
        """Return the priority of the pods of a template."""
        name = nested(template, "spec", "priorityClassName") or ""
        classes = [read(PriorityClass, each) for each in self._store.list("PriorityClass")]
        found = next((cls for cls in classes if cls.name == name), None) or default_class(classes)
        return 0 if found is None else found.value or 0


def _annotations(template: Manifest) -> Mapping[str, str]:
    return nested(template, "metadata", "annotations") or {}
