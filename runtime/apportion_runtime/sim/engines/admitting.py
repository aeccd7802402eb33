"""What the API server makes of a pod before it keeps it: its priority.

Source: plugin/pkg/admission/priority at Kubernetes v1.36.3.
"""

from __future__ import annotations

from apportion_runtime.admission.objects import kind_of, name_of, namespace_of
from apportion_runtime.sim.engines.engine import Denied
from apportion_runtime.sim.scenario import Manifest
from apportion_runtime.sim.store import ClusterApi
from apportion_runtime.sim.world import PodState, World

_POD = ("", "Pod")


class Admission:
    """The admission plugins that are on in every cluster, as far as the simulation has their objects."""

    def __init__(self, world: World) -> None:
        self._world = world

    def admit(self, made: Manifest) -> Manifest:
        """Return an object as it is kept. Raises `Denied`."""
        if kind_of(made) != _POD:
            return made
        return with_priority(made, self._world.store)

    def left(self, pod: PodState) -> None:
        """A pod is gone."""


def with_priority(made: Manifest, store: ClusterApi) -> Manifest:
    """Return a pod with the priority and the preemption policy of its class, or of the class for those that name none.

    Raises:
        Denied: If there is no such class, or the pod says another priority than its class.
    """
    spec = made["spec"]
    name = spec.get("priorityClassName") or ""
    if name:
        found = store.get("PriorityClass", "", name)
        if found is None:
            raise Denied(f"{_forbidden(made)}: no PriorityClass with name {name} was found")
    else:
        defaults = [each for each in store.list("PriorityClass") if each.get("globalDefault")]
        found = min(defaults, key=lambda each: (int(each.get("value") or 0), name_of(each)), default=None)
    value = 0 if found is None else int(found.get("value") or 0)
    if spec.get("priority") not in (None, value):
        raise Denied(
            f"{_forbidden(made)}: the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
            f"priority admission controller computed {value} from the given PriorityClass name"
        )
    policy = "PreemptLowerPriority" if found is None else found.get("preemptionPolicy") or "PreemptLowerPriority"
    added = {"priorityClassName": name_of(found)} if found is not None else {}
    return {**made, "spec": {**spec, **added, "priority": value, "preemptionPolicy": policy}}


def _forbidden(made: Manifest) -> str:
    return f'pods "{name_of(made)}" is forbidden' if namespace_of(made) or name_of(made) else "pods is forbidden"
