"""Pods: state, requests, and where they may run.

Source: pkg/scheduler/api/pod_info/pod_info.go, cache/pod_transform.go, cache/cache.go, plugins/numa/seed_placements.go.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from apportion_api.kai.names import (
    APP_LABEL,
    POD_GROUP_ANNOTATION,
    SCALING_APP,
    SUB_GROUP_LABEL,
    ZONES_OBSERVED_ANNOTATION,
    ZONES_PREDICTED_ANNOTATION,
)
from apportion_runtime.core.resources import NO_GPUS, GpuRequest
from apportion_runtime.core.snapshot import ClaimReference, Container, Pod
from apportion_runtime.core.status import BINDING, BOUND, GATED, PENDING, RELEASING, RUNNING, STUCK, SUCCEEDED, UNKNOWN
from apportion_runtime.snapshots.codec import described_value
from apportion_runtime.snapshots.faults import IGNORED_VALUE, UNKNOWN_GROUP, UNREADABLE, Fault
from apportion_runtime.snapshots.kubernetes.amounts import parsed, plain
from apportion_runtime.snapshots.kubernetes.configuration import Engine
from apportion_runtime.snapshots.kubernetes.devices import Claims, allocation
from apportion_runtime.snapshots.kubernetes.gpus import gpu_groups, gpu_request
from apportion_runtime.snapshots.kubernetes.objects import Object
from apportion_runtime.snapshots.kubernetes.requests import APP, INIT, SIDECAR, Requirements, pod_requirements
from apportion_runtime.snapshots.kubernetes.terms import PodTerms, required_nodes, tolerations
from apportion_runtime.snapshots.kubernetes.times import created, moment
from apportion_runtime.snapshots.kubernetes.volume_sources import ExistingVolumes

_FAILED = "Failed"
_MOST_KEPT = 10_000
"""Distinct requests whose results are kept."""
_ANY_ADDRESS = "0.0.0.0"  # noqa: S104 - Kubernetes' notation for any address of a host.
_EMPTY: Mapping[str, float] = Requirements().vector()
Zones = tuple[tuple[str, Mapping[str, float]], ...]
_Asked = tuple[Mapping[str, float], GpuRequest, tuple[Container, ...]]


class PodReader:
    """Reads the pods of a cluster. Pods with the same requests share the result.

    Attributes:
        now: The time of reading, in seconds since 1970.
        is_complete: Whether a pod group that is not read does not exist. On a live cluster, the group of a pod that is
            not bound may be about to be created, or its deletion about to be followed by that of the pod.
    """

    def __init__(
        self,
        *,
        engine: Engine,
        now: float,
        nodes: Collection[str],
        groups: Collection[str],
        bindings: Mapping[tuple[str, str], Object],
        claims: Claims,
        terms: PodTerms,
        existing: ExistingVolumes,
        has_zones: bool,
        faults: list[Fault],
        is_complete: bool = True,
    ) -> None:
        self.is_complete = is_complete
        self._engine = engine
        self.now = now
        self._nodes = nodes
        self._groups = groups
        self._bindings = bindings
        self._claims = claims
        self._terms = terms
        self._existing = existing
        self._has_zones = has_zones
        self._faults = faults
        self._asked: dict[str, _Asked] = {}
        self._utilities = frozenset((engine.reservation_app, SCALING_APP))

    def read(self, pods: Sequence[Object]) -> tuple[Pod, ...]:
        """Return the pods; those that failed are not watched by the engine."""
        return tuple(self._pod(pod) for pod in pods if pod.status.get("phase") != _FAILED)

    def _pod(self, pod: Object) -> Pod:
        metadata, spec, stated = pod.metadata, pod.spec, pod.status
        uid = metadata.get("uid") or f"{pod.namespace}/{pod.name}"
        phase = stated.get("phase") or "Pending"
        if phase == "Succeeded":
            return self._succeeded(pod, uid)
        binding = self._bindings.get((pod.namespace, pod.name))
        node = spec.get("nodeName") or None
        if node is not None and node not in self._nodes:
            # For a pod on an unknown node, the engine reads nothing but the pod itself.
            binding = None
        is_known = node is None or node in self._nodes
        if node is None and binding is not None:
            node = binding.spec["selectedNode"]
        status = self._status(pod, phase, is_bound=binding is not None)
        request, gpu, containers = self._requests(pod)
        references = self._references(pod) if spec.get("resourceClaims") else ()
        claimed = 0
        if references and is_known:
            named = [c["resourceClaimName"] for c in spec.get("resourceClaims") or () if c.get("resourceClaimName")]
            claimed = self._claims.gpus_of(uid, pod.namespace, named)
        asked = gpu
        gpu, is_old_mig = gpu_request(pod, asked, claimed, self._faults)
        if asked.mig and gpu.mig != asked.mig:
            # An annotation replaces the MIG instances, but their charged amount remains.
            request = {**request, **{name: float(count) for name, count in asked.mig}}
        labels = pod.labels
        groups = gpu_groups(labels)
        if binding is not None:
            groups = tuple(binding.spec.get("selectedGPUGroups") or ()) or groups
            self._assume(pod, uid, binding)
        scheduler = spec.get("schedulerName") or "default-scheduler"
        app = labels.get(APP_LABEL)
        if app in self._utilities:
            # The engine's own helper pods are not charged to queues, and hold no devices themselves.
            scheduler = self._engine.settings.scheduler_name
            if app == self._engine.reservation_app:
                gpu, groups = NO_GPUS, ()
        affinity = spec.get("affinity") or {}
        return Pod(
            uid=uid,
            name=pod.name,
            namespace=pod.namespace,
            group=self._group(pod),
            status=status,
            node=node,
            sub_group=labels.get(SUB_GROUP_LABEL, ""),
            request=request,
            gpu=gpu,
            gpu_groups=groups,
            legacy_mig=is_old_mig,
            labels=labels,
            created=created(pod, self._faults),
            node_selector=spec.get("nodeSelector") or {},
            node_affinity=required_nodes(affinity) if affinity else None,
            affinity=self._terms.of(affinity.get("podAffinity")) if affinity else (),
            anti_affinity=self._terms.of(affinity.get("podAntiAffinity")) if affinity else (),
            pod_preferences=self._terms.preferred(affinity) if affinity else (),
            tolerations=tolerations(spec.get("tolerations")),
            host_ports=_host_ports(spec),
            nominated_node=stated.get("nominatedNodeName") or None,
            priority_class=spec.get("priorityClassName") or "",
            priority=spec.get("priority"),
            scheduler=scheduler,
            qos_class=stated.get("qosClass") or "",
            claims=references,
            missing_claims=self._existing.missing_volume_claims(pod),
            missing_config_maps=self._existing.missing_config_maps(pod),
            numa_placement=self._zones(pod, binding) if self._has_zones else (),
            containers=containers,
        )

    def _succeeded(self, pod: Object, uid: str) -> Pod:
        sub_group = pod.labels.get(SUB_GROUP_LABEL, "")
        return Pod(
            uid, pod.name, pod.namespace, self._group(pod), SUCCEEDED, sub_group=sub_group, request=_EMPTY, scheduler=""
        )  # fmt: skip

    def _group(self, pod: Object) -> str | None:
        name = pod.annotations.get(POD_GROUP_ANNOTATION)
        if not name:
            return None
        if name in self._groups:
            return name
        # The pod groups of other shards are not read, and garbage collection may delete a group before its last pods.
        is_bound, is_deleted = bool(pod.spec.get("nodeName")), pod.metadata.get("deletionTimestamp") is not None
        if self._engine.is_of_pool(pod.labels) and not is_deleted and (is_bound or self.is_complete):
            effect = "counts towards its node only, not towards a queue" if is_bound else "is not scheduled"
            message = f"pod group `{name}` does not exist; the pod {effect}"
            hint = "include the pod groups: kubectl get podgroups.scheduling.run.ai -A -o json"
            place = pod.place.at("metadata", "annotations", POD_GROUP_ANNOTATION)
            self._faults.append(Fault(UNKNOWN_GROUP, pod.address, message, hint, place))
        return None

    def _status(self, pod: Object, phase: str, *, is_bound: bool) -> int:
        is_deleted = pod.metadata.get("deletionTimestamp") is not None
        if phase == "Running":
            if not is_deleted:
                return RUNNING
            deleted = moment(pod, "deletionTimestamp", self._faults)
            is_stuck = deleted is not None and self.now - deleted > self._engine.stuck_after_s
            return STUCK if is_stuck else RELEASING
        if phase != "Pending":
            return UNKNOWN
        if is_deleted:
            return RELEASING
        if pod.spec.get("nodeName"):
            return BOUND
        if is_bound:
            return BINDING
        return GATED if pod.spec.get("schedulingGates") else PENDING

    def _requests(self, pod: Object) -> _Asked:
        spec = pod.spec
        written = [
            (SIDECAR if container.get("restartPolicy") == "Always" else INIT, "initContainers", number, container)
            for number, container in enumerate(spec.get("initContainers") or ())
        ]
        written += [
            (APP, "containers", number, container) for number, container in enumerate(spec.get("containers") or ())
        ]
        known = repr([(kind, (c.get("resources") or {}).get("requests")) for kind, _, _, c in written])
        overhead = spec.get("overhead")
        if overhead:
            known += repr(overhead)
        found = self._asked.get(known)
        if found is not None:
            return found
        n_faults = len(self._faults)
        if not spec.get("containers"):
            held = "none" if spec.get("containers") == [] else described_value(spec.get("containers"))
            message = f"`spec.containers`: expected at least one container, found {held}"
            hint = "export the pod unmodified from the API server; without containers, its requests are unknown"
            self._faults.append(Fault(UNREADABLE, pod.address, message, hint, pod.place.at("spec", "containers")))
        containers = [
            (
                kind,
                parsed(
                    (container.get("resources") or {}).get("requests"),
                    pod,
                    ("spec", key, number, "resources", "requests"),
                    self._faults,
                ),
            )
            for kind, key, number, container in written
        ]
        made = pod_requirements(containers, parsed(overhead, pod, ("spec", "overhead"), self._faults))
        aligned = (
            tuple(Container(plain(quantities), kind) for kind, quantities in containers) if self._has_zones else ()
        )
        asked = made.vector(), made.gpu(), aligned
        if len(self._faults) == n_faults:
            if len(self._asked) >= _MOST_KEPT:
                self._asked.clear()
            self._asked[known] = asked
        return asked

    def _references(self, pod: Object) -> tuple[ClaimReference, ...]:
        written = pod.spec.get("resourceClaims") or ()
        made = {s.get("name"): s.get("resourceClaimName") for s in pod.status.get("resourceClaimStatuses") or ()}
        return tuple(
            ClaimReference(
                claim.get("name") or "",
                claim.get("resourceClaimName") or made.get(claim.get("name")),
                of_template=not claim.get("resourceClaimName"),
            )
            for claim in written
        )

    def _assume(self, pod: Object, uid: str, binding: Object) -> None:
        names = {reference.name: reference.claim for reference in self._references(pod)}
        for given in binding.spec.get("resourceClaimAllocations") or ():
            claim = names.get(given.get("name") or "")
            if claim is not None:
                self._claims.assume(pod.namespace, claim, allocation(given.get("allocation")), uid)

    def _zones(self, pod: Object, binding: Object | None) -> Zones:
        given = None if binding is None else binding.spec.get("predictedNUMAZones")
        return (
            self._annotated_zones(pod, ZONES_OBSERVED_ANNOTATION)
            or self._zones_of(given or (), pod)
            or self._annotated_zones(pod, ZONES_PREDICTED_ANNOTATION)
        )

    def _annotated_zones(self, pod: Object, key: str) -> Zones:
        text = pod.annotations.get(key)
        if not text:
            return ()
        try:
            return self._zones_of(json.loads(text), pod)
        except (ValueError, TypeError, AttributeError):
            message = f"annotation `{key}` is not a list of zones; the engine ignores it"
            place = pod.place.at("metadata", "annotations", key)
            hint = "do not set the annotation manually: the node agent that owns it sets it"
            self._faults.append(Fault(IGNORED_VALUE, pod.address, message, hint, place))
            return ()

    def _zones_of(self, given: Sequence[Mapping[str, Any]], pod: Object) -> Zones:
        return tuple(
            (part.get("zone") or "", plain(parsed(part.get("amount"), pod, ("metadata",), self._faults)))
            for part in given
        )


def _host_ports(spec: Mapping[str, Any]) -> tuple[tuple[str, str, int], ...]:
    containers = spec.get("containers") or ()
    if spec.get("initContainers"):
        containers = [*containers, *(c for c in spec["initContainers"] if c.get("restartPolicy") == "Always")]
    found: list[tuple[str, str, int]] = []
    for container in containers:
        for port in container.get("ports") or ():
            if port.get("hostPort"):
                found.append((port.get("hostIP") or _ANY_ADDRESS, port.get("protocol") or "TCP", port["hostPort"]))
    return tuple(found)
