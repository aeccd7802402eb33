"""The admission plugins of the API server that every cluster enables.

ValidatingAdmissionPolicies are not evaluated.
"""

from __future__ import annotations

from typing import NamedTuple

from apportion_runtime.admission.expansion.expansion import defaulted
from apportion_runtime.admission.objects import kind_of, name_of, namespace_of
from apportion_runtime.sim.api.cluster_state import ClusterState, PodState
from apportion_runtime.sim.api.label_keys import with_label_keys
from apportion_runtime.sim.api.limit_ranges import check_limits, with_defaults
from apportion_runtime.sim.api.priority_classes import with_priority
from apportion_runtime.sim.api.resource_quotas import Quotas
from apportion_runtime.sim.controllers.running_workload import Running
from apportion_runtime.sim.engine import Denied
from apportion_runtime.sim.scenario.format import Manifest
from apportion_runtime.snapshots.pod_requests import pod_requests

_POD = ("", "Pod")


class _Admitted(NamedTuple):
    """The spec of a pod as it was created and as it is stored, in a namespace."""

    namespace: str
    created: Manifest
    stored: Manifest


class Admission:
    """The admission plugins of one cluster: LimitRanger, Priority, and, last, ResourceQuota."""

    def __init__(self, cluster_state: ClusterState) -> None:
        self._cluster_state = cluster_state
        self.quotas = Quotas(cluster_state.store.list("ResourceQuota"))
        self._ranges: dict[str, list[Manifest]] = {}
        for made in sorted(cluster_state.store.list("LimitRange"), key=name_of):
            self._ranges.setdefault(namespace_of(made), []).append(made)
        # A controller creates its pods from one spec.
        self._last: _Admitted | None = None
        cluster_state.store.watch("PriorityClass", lambda _: self._forget())

    def _forget(self) -> None:
        self._last = None

    def admit(self, made: Manifest) -> Manifest:
        """Return an object as it is stored. Raises `Denied`."""
        if kind_of(made) != _POD:
            self.quotas.charge(made)
            return made
        try:
            return self._pod(made)
        except Denied:
            raise
        except ValueError as wrong:
            raise Denied(f'Pod "{name_of(made)}" is invalid: {wrong}') from None

    def _pod(self, made: Manifest) -> Manifest:
        last, namespace = self._last, namespace_of(made)
        if last is not None and made["spec"] is last.created and namespace == last.namespace:
            made = {**made, "spec": last.stored}
        else:
            created, ranges = made["spec"], self._ranges.get(namespace, ())
            made = with_defaults({**made, "spec": defaulted(created)}, ranges)
            made = with_priority(made, self._cluster_state.store)
            check_limits(made, ranges)
            pod_requests(made["spec"])
            self._last = _Admitted(namespace, created, made["spec"])
        made = with_label_keys(made)
        self.quotas.charge(made)
        return made

    def observe(self, pod: Manifest) -> None:
        """Charge a pod that was admitted before: quotas that it exceeds reject further pods."""
        self.quotas.observe(pod)

    def left(self, pod: PodState) -> None:
        """Release the quota of a deleted pod."""
        self.quotas.release("Pod", pod.namespace, pod.name)

    def finished(self, running: Running) -> None:
        """Release the quota of a deleted workload object."""
        made = running.manifest
        if kind_of(made) != _POD:
            self.quotas.release(str(made.get("kind")), namespace_of(made), name_of(made))
