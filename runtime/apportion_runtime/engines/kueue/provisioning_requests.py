"""The ProvisioningRequests that Kueue creates for workloads with quota, and the states of their conditions.

Source: kubernetes-sigs/kueue v0.18.3, pkg/controller/admissionchecks/provisioning.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from apportion_api.kueue.names import MANAGED_LABEL, PARAMETERS_PREFIX, WORKLOAD
from apportion_api.kueue.objects import ProvisioningRequestConfig, ResourceFlavor
from apportion_runtime.admission.expansion.expansion import defaulted
from apportion_runtime.admission.objects import annotations_of, name_of, nested, uid_of
from apportion_runtime.engines.kueue.pod_sets import Update, updated
from apportion_runtime.engines.kueue.records import PodSet
from apportion_runtime.sim.provisioning.request_consumers import CLASS_OF, CONSUMES, condition
from apportion_runtime.sim.scenario.format import Manifest
from apportion_runtime.snapshots.pod_requests import containers_of

_IDENTICAL, _SIMILAR = "IdenticalPodTemplates", "IdenticalWorkloadSchedulingRequirements"
_LIKE = ("resources", "nodeSelector", "tolerations", "affinity", "resourceClaims")
_MAX_NAME, _HASH = 50, 5


class RequestState(Enum):
    """The state of a request for its workload."""

    PENDING = "pending"
    FAILED = "failed"
    REVOKED = "revoked"
    EXPIRED = "expired"
    READY = "ready"


@dataclass(frozen=True, slots=True)
class _Merged:
    pod_set: PodSet
    count: int


def is_needed(pod_sets: Sequence[PodSet], config: ProvisioningRequestConfig) -> bool:
    """Return whether a workload needs the check: whether any of its pods requests a managed resource."""
    return any(True for _ in _required(pod_sets, config))


def _required(pod_sets: Sequence[PodSet], config: ProvisioningRequestConfig) -> Iterator[PodSet]:
    for pod_set in pod_sets:
        spec = pod_set.template.get("spec") or {}
        resources = [container.get("resources") or {} for container in containers_of(spec)]
        asked = {key for each in resources for side in ("requests", "limits") for key in each.get(side) or ()}
        if not config.managed_resources or not asked.isdisjoint(config.managed_resources):
            yield pod_set


def _merged(pod_sets: Sequence[PodSet], config: ProvisioningRequestConfig) -> list[_Merged]:
    """Return the pod sets of a request, merged by the merge policy."""
    found: list[_Merged] = []
    for pod_set in _required(pod_sets, config):
        for number, other in enumerate(found):
            if _is_alike(other.pod_set, pod_set, config.merge_policy):
                found[number] = _Merged(other.pod_set, other.count + pod_set.count)
                break
        else:
            found.append(_Merged(pod_set, pod_set.count))
    return found


def _is_alike(one: PodSet, other: PodSet, policy: str | None) -> bool:
    if policy == _IDENTICAL:
        return one.template == other.template
    if policy != _SIMILAR:
        return False
    specs = [each.template.get("spec") or {} for each in (one, other)]
    containers = [
        [
            [(c.get("resources") or {}).get("requests") for c in spec.get(key) or ()]
            for key in ("containers", "initContainers")
        ]
        for spec in specs
    ]
    return containers[0] == containers[1] and all(specs[0].get(key) == specs[1].get(key) for key in _LIKE)


def overridden_parameter(workload: Manifest, config: ProvisioningRequestConfig) -> str | None:
    """Return why Kueue endlessly recreates the request of a workload, as a clause; None if it does not.

    Source: provReqSyncedWithConfig compares a request, which has the workload's values, with the configuration's.
    """
    annotations = annotations_of(workload)
    for name, value in config.parameters.items():
        annotated = annotations.get(f"{PARAMETERS_PREFIX}{name}")
        if annotated is not None and annotated != value:
            return (
                f"Kueue endlessly deletes and recreates its ProvisioningRequest: {name} is {annotated}, but "
                f"ProvisioningRequestConfig {config.name} sets {value}"
            )
    return None


def request_name(workload: str, check: str, attempt: int) -> str:
    """Return the name of a request."""
    return _limited(f"{workload}-{check}-{attempt}")


def template_name(request: str, pod_set: str) -> str:
    """Return the name of a pod set's PodTemplate."""
    return _limited(f"ppt-{request}-{pod_set}")


def _limited(name: str) -> str:
    if len(name) <= _MAX_NAME:
        return name
    return f"{name[:_MAX_NAME]}-{hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()[:_HASH]}"


def flavor_update(flavors: Mapping[str, ResourceFlavor], given: Mapping[str, str]) -> Update:
    """Return the additions of a pod set's flavors to its template."""
    labels: dict[str, str] = {}
    passing: list[Mapping[str, Any]] = []
    for name in sorted(set(given.values())):
        labels.update(flavors[name].labels)
        passing += flavors[name].tolerations
    return Update(node_selector=labels, tolerations=tuple(passing))


def request_objects(
    workload: Manifest,
    name: str,
    config: ProvisioningRequestConfig,
    pod_sets: Sequence[PodSet],
    updates: Mapping[str, Update],
) -> Iterator[dict[str, Any]]:
    """Yield the PodTemplates of a request, and the request."""
    namespace = workload["metadata"]["namespace"]
    owner = {"apiVersion": workload["apiVersion"], "kind": WORKLOAD, "name": name_of(workload), "uid": uid_of(workload)}
    sets: list[dict[str, Any]] = []
    for merged in _merged(pod_sets, config):
        called = template_name(name, merged.pod_set.name)
        template = updated(merged.pod_set.template, updates[merged.pod_set.name])
        template = {**template, "spec": defaulted(template["spec"])}
        yield {
            "apiVersion": "v1",
            "kind": "PodTemplate",
            "metadata": {"name": called, "namespace": namespace, "labels": dict(MANAGED_LABEL)},
            "template": template,
        }
        sets.append({"count": merged.count, "podTemplateRef": {"name": called}})
    parameters = {
        key.removeprefix(PARAMETERS_PREFIX): value
        for key, value in annotations_of(workload).items()
        if key.startswith(PARAMETERS_PREFIX)
    }
    yield {
        "apiVersion": "autoscaling.x-k8s.io/v1",
        "kind": "ProvisioningRequest",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": dict(MANAGED_LABEL),
            "ownerReferences": [{**owner, "controller": True}],
        },
        "spec": {
            "provisioningClassName": config.provisioning_class,
            "parameters": {**config.parameters, **parameters},
            "podSets": sets,
        },
    }


def answer_of(request: Manifest) -> tuple[RequestState, str]:
    """Return the state of a request from its conditions, the worst first, and the message."""
    order = (
        ("Failed", RequestState.FAILED),
        ("CapacityRevoked", RequestState.REVOKED),
        ("BookingExpired", RequestState.EXPIRED),
        ("Provisioned", RequestState.READY),
    )
    for kind, answer in order:
        found = condition(request, kind)
        if found is not None:
            return answer, found["message"]
    return RequestState.PENDING, ""


def consuming_updates(
    request: Manifest, config: ProvisioningRequestConfig, pod_sets: Sequence[PodSet]
) -> dict[str, Update]:
    """Return the additions of a provisioned request to the template of each pod set.

    Merged pod sets get no additions: Kueue finds a pod set by the name of its PodTemplate
    (kubernetes-sigs/kueue#14408).
    """
    annotations = {CONSUMES[0]: name_of(request), CLASS_OF: str(config.provisioning_class)}
    details = nested(request, "status", "provisioningClassDetails") or {}
    selector = {each.key: details[each.detail] for each in config.node_labels if each.detail in details}
    update = Update(annotations, selector)
    return {merged.pod_set.name: update for merged in _merged(pod_sets, config)}


def backoff_s(retries: int, base_s: float, most_s: float) -> float:
    """Return the backoff of the nth retry."""
    return min(float(most_s), base_s * 2.0 ** min(retries - 1, 30))
