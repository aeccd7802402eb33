"""Volume claims of pods: whether they are bound, and the nodes on which their volumes are available.

Source: Kubernetes' VolumeBinding and VolumeZone plugins. Not supported: choosing a node for a claim that is not bound yet
(`WaitForFirstConsumer`), which requires the provisioner's answer before the pod is bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from apportion_runtime.kube.cluster import Manifest
from apportion_runtime.kube.resources import VOLUME, VOLUME_CLAIM

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
Term = Mapping[str, Any]


class PodVolumes:
    """The volume claims and volumes of a cluster."""

    def __init__(self, objects: Sequence[Manifest]) -> None:
        self._claims = {
            (one["metadata"]["namespace"], one["metadata"]["name"]): one
            for one in objects
            if one["kind"] == VOLUME_CLAIM
        }
        self._volumes = {one["metadata"]["name"]: one for one in objects if one["kind"] == VOLUME}

    def unbound(self, pod: Manifest) -> str | None:
        """Return why the volumes of a pod are not available; None if they are."""
        for name in _claim_names(pod):
            claim = self._claims.get((pod["metadata"]["namespace"], name))
            if claim is None:
                return f"its volume claim `{name}` does not exist"
            if not claim.get("spec", {}).get("volumeName") or claim.get("status", {}).get("phase") != "Bound":
                return (
                    f"its volume claim `{name}` is not bound, and this scheduler does not bind claims "
                    "(WaitForFirstConsumer): use a storage class with volumeBindingMode Immediate"
                )
        return None

    def with_affinity(self, pod: Manifest) -> Manifest:
        """Return a pod that also requires the nodes of its volumes."""
        required = [terms for name in _claim_names(pod) if (terms := self._terms(pod["metadata"]["namespace"], name))]
        if not required:
            return pod
        affinity = pod["spec"].get("affinity") or {}
        node_affinity = affinity.get("nodeAffinity") or {}
        own = (node_affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms")
        # Terms are alternatives, and each volume restricts every one of them.
        terms = [_all_of(chosen) for chosen in product(*([own] if own else []), *required)]
        node_affinity = {**node_affinity, _REQUIRED: {"nodeSelectorTerms": terms}}
        return {**pod, "spec": {**pod["spec"], "affinity": {**affinity, "nodeAffinity": node_affinity}}}

    def _terms(self, namespace: str, name: str) -> Sequence[Term]:
        claim = self._claims.get((namespace, name), {})
        volume = self._volumes.get(claim.get("spec", {}).get("volumeName") or "", {})
        required = (volume.get("spec", {}).get("nodeAffinity") or {}).get("required") or {}
        terms: Sequence[Term] = required.get("nodeSelectorTerms") or ()
        return terms


def _claim_names(pod: Manifest) -> Iterator[str]:
    for volume in pod["spec"].get("volumes") or ():
        if volume.get("persistentVolumeClaim"):
            yield volume["persistentVolumeClaim"].get("claimName") or ""
        elif volume.get("ephemeral"):
            yield f"{pod['metadata']['name']}-{volume['name']}"


def _all_of(terms: Sequence[Term]) -> Term:
    return {
        key: joined
        for key in ("matchExpressions", "matchFields")
        if (joined := [one for term in terms for one in term.get(key) or ()])
    }
