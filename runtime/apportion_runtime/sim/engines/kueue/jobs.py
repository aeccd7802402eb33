"""Which jobs Kueue manages, and the workload that each of them comes to.

Source: kubernetes-sigs/kueue v0.18.3, pkg/controller/jobframework (defaults.go, reconciler.go), pkg/util/priority.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from apportion_runtime.admission.expanding.suspension import with_suspended
from apportion_runtime.admission.objects import (
    annotations_of,
    kind_of,
    labels_of,
    name_of,
    namespace_of,
    nested,
    uid_of,
)
from apportion_runtime.sim.engines.engine import Denied
from apportion_runtime.sim.engines.kueue.api_names import (
    DEFAULT_LOCAL_QUEUE,
    ELASTIC,
    MAX_TIME,
    PRIORITY_CLASS,
    QUEUE_NAME,
    TOPOLOGY,
)
from apportion_runtime.sim.engines.kueue.object_reader import Configured, selects
from apportion_runtime.sim.engines.kueue.pod_sets import (
    FRAMEWORKS,
    Place,
    check_least,
    originals_of,
    places,
    pod_set,
    shape,
)
from apportion_runtime.sim.engines.kueue.records import PodSet
from apportion_runtime.sim.engines.kueue.workload_state import WorkloadState, workload_name
from apportion_runtime.sim.scenario import Manifest
from apportion_runtime.sim.store import ClusterApi
from apportion_runtime.snapshots.quantities import parse_time

_NAME_LABEL = "kubernetes.io/metadata.name"
_POD = ("", "Pod")
_JOB = ("batch", "Job")


class Jobs:
    """Reads jobs.

    Args:
        store: Has namespaces and priority classes.
        configured: Returns what Kueue was told by now.
    """

    def __init__(self, store: ClusterApi, configured: Callable[[], Configured]) -> None:
        self._store = store
        self._configured = configured

    def held_back(self, made: Manifest) -> Manifest:
        """Return an object that is about to be made, suspended if Kueue manages it.

        Raises:
            Denied: If its pod sets cannot be read, or it is of a kind that Kueue manages and no model is of.
        """
        if kind_of(made) == _POD and made["metadata"].get("ownerReferences"):
            return made
        if self.manages(made):
            found = places(made)
            self.pod_sets(found)
            self._check(made, found)
            return with_suspended(made, suspended=True)
        if labels_of(made).get(QUEUE_NAME):
            kinds = ", ".join(sorted(kind for _, kind in self._configured().settings.kinds))
            raise Denied(f"nothing is known of how Kueue manages a {made.get('kind')}; known are {kinds}")
        return made

    def _check(self, made: Manifest, found: Sequence[Place]) -> None:
        """Raise `Denied` for what Kueue's webhook refuses, and for what nothing here reckons with."""
        try:
            if kind_of(made) == _JOB:
                check_least(made, found[0].count)
            self._longest_s(made)
        except ValueError as wrong:
            raise Denied(f"{made['kind']} {namespace_of(made)}/{name_of(made)}: {wrong}") from None
        if annotations_of(made).get(ELASTIC) == "true":
            raise Denied(f"the annotation {ELASTIC} makes workload slices, of which nothing is known; take it away")
        for place in found:
            asked = next((key for key in _annotations(place.template) if key.startswith(TOPOLOGY)), None)
            if asked is not None:
                raise Denied(
                    f"the annotation {asked} of pod set {place.name} asks for nodes near each other, of which nothing is "
                    "known under Kueue; take it away"
                )
            if nested(place.template, "spec", "resourceClaims"):
                raise Denied(
                    f"pod set {place.name} claims devices (resourceClaims), of which nothing is known under Kueue"
                )

    @staticmethod
    def _longest_s(job: Manifest) -> float | None:
        """Return how long a job may run. Raises `ValueError` in the words of Kueue's webhook."""
        said = labels_of(job).get(MAX_TIME)
        if said is None:
            return None
        if not said.isdecimal() or not int(said):
            raise ValueError(f'metadata.labels[{MAX_TIME}]: Invalid value: "{said}": should be greater than 0')
        return float(said)

    def manages(self, made: Manifest) -> bool:
        """Tell whether an object is a job that Kueue holds back."""
        kind = kind_of(made)
        if kind not in FRAMEWORKS.values() or kind not in self._configured().settings.kinds:
            return False
        return bool(self.queue_name(made)) or self._manages_unnamed(namespace_of(made))

    def queue_name(self, made: Manifest) -> str:
        """Return the LocalQueue that a job names, or gets; empty where it has none."""
        said = labels_of(made).get(QUEUE_NAME)
        if said:
            return said
        has_default = (namespace_of(made), DEFAULT_LOCAL_QUEUE) in self._configured().local_queues
        return DEFAULT_LOCAL_QUEUE if has_default else ""

    def _manages_unnamed(self, namespace: str) -> bool:
        settings = self._configured().settings
        if not settings.manages_unnamed:
            return False
        return settings.namespaces is None or selects(settings.namespaces, self.labels_of(namespace))

    def labels_of(self, namespace: str) -> Mapping[str, str]:
        """Return the labels of a namespace, which may be one that nobody declared."""
        made = self._store.get("Namespace", "", namespace)
        return {_NAME_LABEL: namespace, **({} if made is None else labels_of(made))}

    def pod_sets(self, found: Sequence[Place]) -> tuple[PodSet, ...]:
        """Return the pod sets of a job. Raises `Denied` where they cannot be read."""
        try:
            return tuple(pod_set(place, self._configured().settings.counting) for place in found)
        except ValueError as wrong:
            raise Denied(str(wrong)) from None

    def unit(self, number: int, job: Manifest) -> WorkloadState | str:
        """Return the workload of a job that Kueue manages, or why there is none."""
        local, configured = self.queue_name(job), self._configured()
        if not local:
            return f"label {QUEUE_NAME} missing from {job['kind']}; Kueue keeps it suspended"
        said = labels_of(job).get(PRIORITY_CLASS)
        if said is not None and said not in configured.classes:
            return f'WorkloadPriorityClass.kueue.x-k8s.io "{said}" not found'
        found = places(job)
        pod_sets = self.pod_sets(found)
        priority = self._of_pods(found[0].template if found else {}) if said is None else configured.classes[said]
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
            places=found,
            pod_sets=pod_sets,
            shape=shape(pod_sets, priority),
            originals=originals_of(job, found),
            longest_s=self._longest_s(job),
        )

    def _of_pods(self, template: Manifest) -> int:
        """Return the priority of the pods of a template."""
        name = nested(template, "spec", "priorityClassName") or ""
        found = self._store.get("PriorityClass", "", name) if name else None
        if found is None:
            found = next((each for each in self._store.list("PriorityClass") if each.get("globalDefault")), None)
        return 0 if found is None else int(found.get("value") or 0)


def _annotations(template: Manifest) -> Mapping[str, str]:
    return nested(template, "metadata", "annotations") or {}
