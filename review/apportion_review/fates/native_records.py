"""Whether recorded runs of kube-scheduler cover a cluster; what they cover is in tests/conformance/native-fates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_compiler.plain_objects import Manifest, integer, items, mapping, of_kind, text
from apportion_review.fates.unmanaged import SYSTEM_NAMESPACES
from apportion_review.fates.workloads import of_group, owned_pods, pending_pods
from apportion_runtime.engines.kube_scheduler.profiles import DEFAULT, KIND
from apportion_runtime.sim.observed.missing_pods import n_missing_pods

_PLACED_BY = ("affinity", "topologySpreadConstraints", "resourceClaims", "schedulingGates")
_SPREAD_BY_DEFAULT = frozenset(("ReplicaSet", "StatefulSet"))
_PLUGINS = frozenset(("NodeResourcesFit", "PodTopologySpread"))
"""Those that Apportion configures for the profile of every pod."""


def is_recorded(objects: Sequence[Manifest]) -> bool:
    """Return whether recorded runs cover a cluster: pending pods, if any, use only scheduling features of the runs."""
    if next(pending_pods(objects), None) is None and not n_missing_pods(objects):
        # Priorities alone decide what may be evicted later.
        return True
    return next(_unrecorded(objects), None) is None


def _unrecorded(objects: Sequence[Manifest]) -> Iterator[str]:
    """Yield features that decide where pods are placed, and that the runs lack."""
    for configuration in of_kind(objects, "kubescheduler.config.k8s.io", KIND):
        for profile in items(configuration, "profiles"):
            configured = {text(each, "name") for each in items(profile, "pluginConfig")}
            if text(profile, "schedulerName") in (None, DEFAULT) and (
                mapping(profile, "plugins") or not configured <= _PLUGINS
            ):
                yield "plugins"
    for owned in owned_pods(objects):
        if owned.owner.namespace not in SYSTEM_NAMESPACES:
            yield from (feature for pod in owned.pods for feature in _features_of(pod))
    for pod in pending_pods(objects):
        yield from _features_of(pod)
    for kind in sorted(_SPREAD_BY_DEFAULT):
        if n_missing_pods(list(of_group(objects, "apps", kind))):
            yield kind
    for node in of_group(objects, "", "Node"):
        yield from (
            effect for taint in items(node, "spec", "taints") if (effect := text(taint, "effect")) == "NoExecute"
        )


def _features_of(pod: Manifest) -> Iterator[str]:
    spec = mapping(pod, "spec")
    yield from (key for key in _PLACED_BY if spec.get(key))
    if (text(spec, "schedulerName") or DEFAULT) != DEFAULT and not text(spec, "nodeName"):
        yield "schedulerName"
    owners: Sequence[Mapping[str, object]] = [mapping(each) for each in items(pod, "metadata", "ownerReferences")]
    if any(owner.get("kind") in _SPREAD_BY_DEFAULT for owner in owners):
        yield "default spread"
    for container in items(spec, "containers"):
        if any(integer(port, "hostPort") for port in items(container, "ports")):
            yield "hostPort"
    if any(mapping(volume).get("persistentVolumeClaim") for volume in items(spec, "volumes")):
        yield "volumes"
