"""The objects and labels that a pod requires to use shared devices, written before it is bound, as by KAI's binder.

KAI's admission webhook prepares the pod when it is created: its container reads two ConfigMaps that do not exist yet,
named by an annotation. The binder writes them with the devices and the portion, and labels the pod with the groups.

Source: pkg/binder/plugins/gpusharing/gpu_sharing.go, pkg/binder/common/gpu_access.go,
pkg/binder/common/gpusharingconfigmap/config_map.go, pkg/binder/binding/binder.go. Differences: the groups of a pod with
fractions of several devices are written as the scheduler reads them (`GetGpuGroups`), since there is no BindRequest that
holds them; ConfigMaps of a failed attempt are left to the garbage collector.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from apportion_api.kai.gpu_sharing import gpu_sharing_fault
from apportion_api.kai.names import (
    GPU_CONTAINER_ANNOTATION,
    GPU_GROUP_LABEL,
    GPU_GROUP_LABEL_PREFIX,
    RECEIVED_FRACTION,
    RECEIVED_TYPE_ANNOTATION,
    SHARED_GPU_CONFIG_MAP_ANNOTATION,
)
from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_runtime.admission.objects import annotations_of
from apportion_runtime.kube.cluster import Cluster, Manifest
from apportion_runtime.kube.resources import POD
from apportion_runtime.snapshots.kubernetes.gpus import gpu_group_labels

_DEVICES, _FORMER_DEVICES = "NVIDIA_VISIBLE_DEVICES", "RUNAI-VISIBLE-DEVICES"
_PORTION, _FORMER_PORTION = "GPU_PORTION", "RUNAI_NUM_OF_GPUS"
_CDI_NAME = "k8s.device-plugin.nvidia.com/gpu={}"


class Share(NamedTuple):
    """A pod's share of shared devices.

    Attributes:
        groups: The groups of the devices.
        portion: The fraction of each.
    """

    groups: tuple[str, ...]
    portion: float


class _Container(NamedTuple):
    spec: Mapping[str, Any]
    suffix: str


def rejected_request(pod: Manifest) -> str | None:
    """Return why KAI's admission webhook rejects the annotations by which a pod shares GPUs, as a clause, or None."""
    annotations = annotations_of(pod)
    fault = gpu_sharing_fault(annotations, has_gpu_limit=_has_gpu_limit(pod["spec"]))
    if fault is None:
        return None
    if fault.expected is not None:
        return f"annotation {fault.annotation} is `{annotations[fault.annotation]}`; it must be {fault.expected}"
    return f"KAI's admission webhook rejects the annotation {fault.annotation}: {fault.message}"


def unprepared(pod: Manifest) -> str | None:
    """Return why a pod cannot use shared devices, as a clause; None if KAI's admission webhook has prepared it."""
    if SHARED_GPU_CONFIG_MAP_ANNOTATION not in annotations_of(pod):
        return (
            f"KAI's admission webhook has not set annotation {SHARED_GPU_CONFIG_MAP_ANNOTATION}: install the webhook "
            "and recreate the pod"
        )
    if _container(pod) is None:
        return f"it has no container `{annotations_of(pod)[GPU_CONTAINER_ANNOTATION]}`"
    return None


def device_name(device: str, *, uses_cdi: bool) -> str:
    """Return the name of a device for the device plugin, which expects an ID or a CDI name."""
    return _CDI_NAME.format(device) if uses_cdi else device


def write_share(cluster: Cluster, pod: Manifest, share: Share, devices: Sequence[str]) -> None:
    """Write the ConfigMaps, labels and annotation of a pod that `unprepared` accepts.

    Args:
        cluster: The cluster.
        pod: The pod.
        share: What it gets.
        devices: The names of the devices, in the order of its groups.

    Raises:
        Refused: If the API server rejects a write.
        Unreachable: If it did not respond.
        NotLeader: If this scheduler lost its lease.
    """
    visible = ",".join(devices)
    for made in config_maps(pod, visible, share.portion):
        stored = cluster.put(made)
        if _FORMER_DEVICES in (stored.get("data") or {}):
            cluster.put({**made, "data": {**made["data"], _FORMER_DEVICES: visible}})
    metadata = pod["metadata"]
    cluster.merge(POD, metadata["namespace"], metadata["name"], share_patch(pod, share.groups))


def config_maps(pod: Manifest, visible: str, portion: float) -> tuple[Manifest, Manifest]:
    """Return the ConfigMaps that a prepared pod reads: the second is read as a whole into the environment."""
    container = _container(pod)
    assert container is not None
    name = f"{annotations_of(pod)[SHARED_GPU_CONFIG_MAP_ANNOTATION]}-{container.suffix}"
    text = f"{portion:.2f}"
    capabilities, direct = {_FORMER_PORTION: text, _PORTION: text}, dict[str, str]()
    (capabilities if _reads_devices(container.spec) else direct)[_DEVICES] = visible
    return _config_map(pod, name, capabilities), _config_map(pod, f"{name}-evar", direct)


def is_group_label(key: str) -> bool:
    """Return whether a label puts its pod into a group."""
    return key == GPU_GROUP_LABEL or key.startswith(GPU_GROUP_LABEL_PREFIX)


def share_patch(pod: Manifest, groups: Sequence[str]) -> dict[str, Any]:
    """Return the patch that puts a pod into groups, and removes it from all others."""
    labels = {**unshare_patch(pod)["metadata"]["labels"], **gpu_group_labels(groups)}
    metadata = {"uid": pod["metadata"]["uid"], "labels": labels}
    return {"metadata": {**metadata, "annotations": {RECEIVED_TYPE_ANNOTATION: RECEIVED_FRACTION}}}


def unshare_patch(pod: Manifest) -> dict[str, Any]:
    """Return the patch that removes a pod from all groups."""
    labels = pod["metadata"].get("labels") or {}
    removed = {key: None for key in labels if is_group_label(key)}
    return {"metadata": {"uid": pod["metadata"]["uid"], "labels": removed}}


def _container(pod: Manifest) -> _Container | None:
    spec = pod["spec"]
    name = annotations_of(pod).get(GPU_CONTAINER_ANNOTATION)
    if name is None:
        return _Container(spec["containers"][0], "0")
    for key, prefix in (("initContainers", "i"), ("containers", "")):
        for number, container in enumerate(spec.get(key) or ()):
            if container["name"] == name:
                return _Container(container, f"{prefix}{number}")
    return None


def _has_gpu_limit(spec: Mapping[str, Any]) -> bool:
    containers = (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
    return any(GPU_RESOURCE in ((one.get("resources") or {}).get("limits") or {}) for one in containers)


def _reads_devices(container: Mapping[str, Any]) -> bool:
    return any(
        one["name"] == _DEVICES and (one.get("valueFrom") or {}).get("configMapKeyRef")
        for one in container.get("env") or ()
    )


def _config_map(pod: Manifest, name: str, data: Mapping[str, str]) -> Manifest:
    metadata = pod["metadata"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": metadata["namespace"], "ownerReferences": [owner]},
        "data": dict(data),
    }
