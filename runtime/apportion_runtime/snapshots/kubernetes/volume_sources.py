"""Dependencies of a pod other than resources: config maps and volume claims.

Source: pkg/scheduler/k8s_internal/predicates/config_maps.go; Kubernetes' VolumeBinding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apportion_api.kai.names import SHARED_GPU_CONFIG_MAP_ANNOTATION
from apportion_runtime.snapshots.kubernetes.objects import Object


def _names(objects: Sequence[Object]) -> frozenset[tuple[str, str]] | None:
    """Return namespace and name of objects; None without any, since they may then be missing from the input."""
    return frozenset((o.namespace, o.name) for o in objects) or None


class ExistingVolumes:
    """The config maps and volume claims of a cluster; a kind without any object in the input is not checked."""

    def __init__(self, config_maps: Sequence[Object], volume_claims: Sequence[Object]) -> None:
        self._config_maps = _names(config_maps)
        self._volume_claims = _names(volume_claims)

    def missing_config_maps(self, pod: Object) -> tuple[str, ...]:
        """Return the required config maps of a pod that do not exist."""
        if self._config_maps is None:
            return ()
        shared = pod.annotations.get(SHARED_GPU_CONFIG_MAP_ANNOTATION)
        wanted = {
            ref.get("name") or ""
            for ref in _config_map_refs(pod.spec)
            if not ref.get("optional") and (shared is None or not (ref.get("name") or "").startswith(shared))
        }
        if not wanted:
            return ()
        return tuple(sorted(name for name in wanted if (pod.namespace, name) not in self._config_maps))

    def missing_volume_claims(self, pod: Object) -> tuple[str, ...]:
        """Return the volume claims of a pod that do not exist."""
        volumes = pod.spec.get("volumes")
        if self._volume_claims is None or not volumes:
            return ()
        named: list[str] = []
        for volume in volumes:
            claim = volume.get("persistentVolumeClaim")
            if claim is not None:
                named.append(claim.get("claimName") or "")
            elif volume.get("ephemeral") is not None:
                named.append(f"{pod.name}-{volume.get('name') or ''}")
        return tuple(name for name in named if (pod.namespace, name) not in self._volume_claims)


def _config_map_refs(spec: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    containers = spec.get("containers") or ()
    if spec.get("initContainers") or spec.get("ephemeralContainers"):
        others = (spec.get("initContainers") or (), spec.get("ephemeralContainers") or ())
        containers = [*others[0], *containers, *others[1]]
    found = _mounted_config_maps(spec["volumes"], containers) if spec.get("volumes") else []
    for container in containers:
        for variable in container.get("env") or ():
            # Most variables have a value of their own.
            if "valueFrom" in variable:
                ref = (variable["valueFrom"] or {}).get("configMapKeyRef")
                if ref is not None:
                    found.append(ref)
        for source in container.get("envFrom") or ():
            if source.get("configMapRef") is not None:
                found.append(source["configMapRef"])
    return found


def _mounted_config_maps(
    volumes: Sequence[Mapping[str, Any]], containers: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    mounted = {mount.get("name") for container in containers for mount in container.get("volumeMounts") or ()}
    for volume in volumes:
        if volume.get("name") not in mounted:
            continue
        if volume.get("configMap") is not None:
            found.append(volume["configMap"])
        for source in (volume.get("projected") or {}).get("sources") or ():
            if source.get("configMap") is not None:
                found.append(source["configMap"])
    return found
