"""The Priority admission plugin: sets the priority of a pod from its class.

Source: plugin/pkg/admission/priority/admission.go at Kubernetes v1.36.3.
"""

from __future__ import annotations

from apportion_api.kubernetes.objects import PriorityClass, default_class
from apportion_api.objects import read
from apportion_runtime.admission.objects import name_of
from apportion_runtime.sim.api.object_store import ClusterApi
from apportion_runtime.sim.engine import Denied
from apportion_runtime.sim.scenario.format import Manifest

_LOWER = "PreemptLowerPriority"


def with_priority(made: Manifest, store: ClusterApi) -> Manifest:
    """Return a pod with the priority and preemption policy of its class, or of the global default class.

    Raises:
        Denied: If the class does not exist, or the pod specifies a different priority.
    """
    spec = made["spec"]
    name = spec.get("priorityClassName") or ""
    found: PriorityClass | None
    if name:
        written = store.get("PriorityClass", "", name)
        if written is None:
            raise Denied(f'pods "{name_of(made)}" is forbidden: no PriorityClass with name {name} was found')
        found = read(PriorityClass, written)
    else:
        found = default_class(read(PriorityClass, each) for each in store.list("PriorityClass"))
    value = 0 if found is None else found.value or 0
    if spec.get("priority") not in (None, value):
        raise Denied(
            f'pods "{name_of(made)}" is forbidden: the integer value of priority ({spec["priority"]}) must not be '
            f"provided in pod spec; priority admission controller computed {value} from the given PriorityClass name"
        )
    policy = _LOWER if found is None else found.preemption_policy or _LOWER
    named = {"priorityClassName": found.name} if found is not None else {}
    return {**made, "spec": {**spec, **named, "priority": value, "preemptionPolicy": policy}}
