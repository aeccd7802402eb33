"""Pods that this scheduler cannot bind, and the gangs that must wait with them.

They are not part of the input of a cycle: otherwise they would win resources, other pods would be evicted for them, and
the rest of their gang would be bound without them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from apportion_api.kai.names import GPU_FRACTION_ANNOTATION, GPU_MEMORY_ANNOTATION, POD_GROUP_ANNOTATION
from apportion_runtime.admission.objects import annotations_of
from apportion_runtime.kube.cluster import Manifest
from apportion_runtime.kube.gpu_sharing import unprepared
from apportion_runtime.kube.pod_volumes import PodVolumes
from apportion_runtime.kube.resources import POD

PodName = tuple[str, str]
"""Namespace and name."""


def unsupported_pods(
    objects: Sequence[Manifest],
    volumes: PodVolumes,
    scheduler: str,
    rejected: Mapping[PodName, str],
    sharing_fault: Callable[[], str | None] | None,
) -> Mapping[PodName, str]:
    """Return the pending pods that cannot be bound or whose gang has such a pod, each with the reason as a clause.

    Args:
        objects: The objects of the cluster.
        volumes: Its volumes.
        scheduler: The `schedulerName` of the pods.
        rejected: Pod groups whose binding was rejected and that wait for another attempt, with the reason.
        sharing_fault: Returns why devices cannot be reserved for pods that share them, if they cannot; None if this
            scheduler does not reserve devices.
    """
    unbound = [one for one in objects if one["kind"] == POD and not one["spec"].get("nodeName")]
    pending = [one for one in unbound if _is_pending(one, scheduler)]
    found = {_name(pod): why for pod in pending if (why := _unsupported(pod, volumes, sharing_fault)) is not None}
    if not found and not rejected:
        return found
    groups = {group: f"{why}; its gang is retried after a delay" for group, why in rejected.items()}
    for pod in pending:
        if (why := found.get(_name(pod))) is not None and (group := _group(pod)) is not None:
            groups.setdefault(group, f"pod {pod['metadata']['name']} of its gang cannot be bound: {why}")
    made: dict[PodName, str] = {}
    for pod in pending:
        name = _name(pod)
        if name in found:
            made[name] = f"the pod cannot be bound: {found[name]}"
        elif (group := _group(pod)) in groups and group is not None:
            made[name] = groups[group]
    return made


def _unsupported(pod: Manifest, volumes: PodVolumes, sharing_fault: Callable[[], str | None] | None) -> str | None:
    annotations = annotations_of(pod)
    for key in (GPU_FRACTION_ANNOTATION, GPU_MEMORY_ANNOTATION):
        if key in annotations:
            if sharing_fault is None:
                why = "requires reservation pods: set gpuReservation.image in the configuration of the scheduler"
                return f"it shares a GPU (annotation {key}), which {why}"
            fault = unprepared(pod) or sharing_fault()
            if fault is not None:
                return f"it shares a GPU (annotation {key}), but {fault}"
            break
    claims = pod["spec"].get("resourceClaims")
    if claims:
        return f"it uses the resource claim `{claims[0].get('name')}`, which this scheduler does not allocate"
    return volumes.unbound(pod)


def _is_pending(pod: Manifest, scheduler: str) -> bool:
    spec = pod["spec"]
    return (
        spec.get("schedulerName") == scheduler
        and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")
        and "deletionTimestamp" not in pod["metadata"]
    )


def _name(pod: Manifest) -> PodName:
    return pod["metadata"]["namespace"], pod["metadata"]["name"]


def _group(pod: Manifest) -> PodName | None:
    name = annotations_of(pod).get(POD_GROUP_ANNOTATION)
    return (pod["metadata"]["namespace"], name) if name else None
