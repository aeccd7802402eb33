"""Volume claims of pods: whether they are bound, and the nodes on which their volumes are available.

Source: Kubernetes' VolumeBinding and VolumeZone plugins. Not supported: choosing a node for a claim that is not bound yet
(`WaitForFirstConsumer`), which requires the provisioner's answer before the pod is bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, TypeVar

from apportion_runtime.kube.cluster import Key, Manifest
from apportion_runtime.kube.resources import VOLUME_CLAIM

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
Term = Mapping[str, Any]


class PodVolumes:
    """The volume claims and volumes of a cluster, kept from cycle to cycle, and the pods that use each claim."""

    def __init__(self) -> None:
        self._claims: dict[Key, Manifest] = {}
        self._volumes: dict[str, Manifest] = {}
        self._claims_of: dict[str, dict[Key, None]] = {}
        self._users: dict[Key, dict[Key, None]] = {}

    def follow_pod(self, key: Key, before: Manifest | None, after: Manifest | None) -> None:
        """Follow a change of a pod."""
        for pod, is_user in ((before, False), (after, True)):
            for name in () if pod is None else _claim_names(pod):
                _set(self._users, (key[0], name), key, is_member=is_user)

    def follow(self, kind: str, key: Key, after: Manifest | None) -> Iterable[Key]:
        """Follow a change of a claim or a volume, and return the pods that use it."""
        if kind == VOLUME_CLAIM:
            for claim, is_user in ((self._claims.pop(key, None), False), (after, True)):
                if claim is not None and (name := _volume_name(claim)):
                    _set(self._claims_of, name, key, is_member=is_user)
            if after is not None:
                self._claims[key] = after
            return self._users.get(key, {})
        _, name = key
        self._volumes.pop(name, None)
        if after is not None:
            self._volumes[name] = after
        return [pod for claim in self._claims_of.get(name, {}) for pod in self._users.get(claim, {})]

    def unbound(self, pod: Manifest) -> str | None:
        """Return why the volumes of a pod are not available; None if they are."""
        for name in _claim_names(pod):
            claim = self._claims.get((pod["metadata"]["namespace"], name))
            if claim is None:
                return f"its volume claim `{name}` does not exist"
            if not _volume_name(claim) or claim.get("status", {}).get("phase") != "Bound":
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
        volume = self._volumes.get(_volume_name(claim), {})
        required = (volume.get("spec", {}).get("nodeAffinity") or {}).get("required") or {}
        terms: Sequence[Term] = required.get("nodeSelectorTerms") or ()
        return terms


def uses_claims(pod: Manifest) -> bool:
    """Return whether a pod uses volume claims."""
    return any(True for _ in _claim_names(pod))


def _claim_names(pod: Manifest) -> Iterator[str]:
    for volume in pod["spec"].get("volumes") or ():
        if volume.get("persistentVolumeClaim"):
            yield volume["persistentVolumeClaim"].get("claimName") or ""
        elif volume.get("ephemeral"):
            yield f"{pod['metadata']['name']}-{volume['name']}"


def _volume_name(claim: Manifest) -> str:
    return claim.get("spec", {}).get("volumeName") or ""


K = TypeVar("K")


def _set(members: dict[K, dict[Key, None]], of: K, key: Key, *, is_member: bool) -> None:
    """Add a key to the members of something, or remove it."""
    if is_member:
        members.setdefault(of, {})[key] = None
    elif of in members:
        members[of].pop(key, None)
        if not members[of]:
            del members[of]


def _all_of(terms: Sequence[Term]) -> Term:
    return {
        key: joined
        for key in ("matchExpressions", "matchFields")
        if (joined := [one for term in terms for one in term.get(key) or ()])
    }
