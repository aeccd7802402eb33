"""The admission plugins of the API server that every cluster enables.

ValidatingAdmissionPolicies are not evaluated.
"""

from __future__ import annotations

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


class Admission:
    """The admission plugins of one cluster: LimitRanger, Priority, and, last, ResourceQuota."""

    def __init__(self, cluster_state: ClusterState) -> None:
        self._cluster_state = cluster_state
        self.quotas = Quotas(cluster_state.store.list("ResourceQuota"))
        self._ranges: dict[str, list[Manifest]] = {}
        for made in sorted(cluster_state.store.list("LimitRange"), key=name_of):
            self._ranges.setdefault(namespace_of(made), []).append(made)

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
        ranges = self._ranges.get(namespace_of(made), ())
        made = with_defaults({**made, "spec": defaulted(made["spec"])}, ranges)
        made = with_label_keys(with_priority(made, self._cluster_state.store))
        check_limits(made, ranges)
        pod_requests(made["spec"])
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
