"""Pods that this scheduler cannot bind, and the gangs that must wait with them.

They are not part of the input of a cycle: otherwise they would win resources, other pods would be evicted for them, and
the rest of their gang would be bound without them.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from operator import itemgetter

from apportion_api.kai.names import (
    GPU_FRACTION_ANNOTATION,
    GPU_MEMORY_ANNOTATION,
    GPU_SHARING_ANNOTATIONS,
    MPS_ANNOTATION,
    POD_GROUP_ANNOTATION,
)
from apportion_runtime.admission.objects import annotations_of
from apportion_runtime.kube.cluster import Key, Manifest
from apportion_runtime.kube.gpu_sharing import rejected_request, unprepared
from apportion_runtime.kube.pod_volumes import PodVolumes, uses_claims


class UnboundPods:
    """The pods of a cluster that are not bound and have not ended, kept from cycle to cycle."""

    def __init__(self) -> None:
        self._examined: dict[Key, Manifest] = {}
        self._members: dict[Key, dict[Key, Manifest]] = {}

    def follow(self, key: Key, before: Manifest | None, after: Manifest | None) -> None:
        """Follow a change of a pod."""
        self._examined.pop(key, None)
        former = before and _group(before)
        if former and (members := self._members.get(former)) is not None:
            members.pop(key, None)
            if not members:
                del self._members[former]
        if after is None or not _is_pending(after):
            return
        if _has_requirements(after):
            self._examined[key] = after
        if group := _group(after):
            self._members.setdefault(group, {})[key] = after

    def unsupported(
        self,
        volumes: PodVolumes,
        scheduler: str,
        rejected: Mapping[Key, str],
        sharing_fault: Callable[[], str | None] | None,
        bound: Container[Key],
    ) -> Mapping[Key, str]:
        """Return the pods that cannot be bound or whose gang has such a pod, each with the reason as a clause.

        Args:
            volumes: The volumes of the cluster.
            scheduler: The `schedulerName` of the pods.
            rejected: Pod groups whose binding was rejected and that wait for another attempt, with the reason.
            sharing_fault: Returns why devices cannot be reserved for pods that share them, if they cannot; None if this
                scheduler does not reserve devices.
            bound: Pods that the cycle regards as bound.
        """

        def is_candidate(key: Key, pod: Manifest) -> bool:
            return pod["spec"].get("schedulerName") == scheduler and key not in bound

        found = {
            key: why
            for key, pod in sorted(self._examined.items(), key=itemgetter(0))
            if is_candidate(key, pod) and (why := _unsupported(pod, volumes, sharing_fault)) is not None
        }
        groups = {group: f"{why}; the gang is retried after a delay" for group, why in rejected.items()}
        for key, why in found.items():
            if (group := _group(self._examined[key])) is not None:
                groups.setdefault(group, f"pod {key[1]} of the gang cannot be bound: {why}")
        made = {key: f"the pod cannot be bound: {why}" for key, why in found.items()}
        for group, why in groups.items():
            for key, pod in self._members.get(group, {}).items():
                if is_candidate(key, pod):
                    made.setdefault(key, why)
        return made


def _unsupported(pod: Manifest, volumes: PodVolumes, sharing_fault: Callable[[], str | None] | None) -> str | None:
    if (rejection := rejected_request(pod)) is not None:
        return rejection
    annotations = annotations_of(pod)
    for key in (GPU_FRACTION_ANNOTATION, GPU_MEMORY_ANNOTATION):
        if key in annotations:
            if sharing_fault is None:
                why = "requires reservation pods: set gpuReservation.image in the scheduler configuration"
                return f"it shares a GPU (annotation {key}), which {why}"
            fault = unprepared(pod) or sharing_fault()
            if fault is not None:
                return f"it shares a GPU (annotation {key}), but {fault}"
            break
    claims = pod["spec"].get("resourceClaims")
    if claims:
        return f"it uses the resource claim `{claims[0].get('name')}`, which this scheduler does not allocate"
    return volumes.unbound(pod)


def _has_requirements(pod: Manifest) -> bool:
    """Return whether a pod requires anything that may not be supported."""
    annotations = annotations_of(pod)
    shares = any(key in annotations for key in (*GPU_SHARING_ANNOTATIONS, MPS_ANNOTATION))
    return shares or bool(pod["spec"].get("resourceClaims")) or uses_claims(pod)


def _is_pending(pod: Manifest) -> bool:
    return (
        not pod["spec"].get("nodeName")
        and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")
        and "deletionTimestamp" not in pod["metadata"]
    )


def _group(pod: Manifest) -> Key | None:
    name = annotations_of(pod).get(POD_GROUP_ANNOTATION)
    return (pod["metadata"]["namespace"], name) if name else None
