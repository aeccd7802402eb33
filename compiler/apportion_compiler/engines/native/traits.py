"""Traits of plain Kubernetes: namespaces, ResourceQuotas and LimitRanges, and kube-scheduler."""

from __future__ import annotations

from apportion_api.kubernetes.names import TITLE
from apportion_compiler.engine_versions import KUBERNETES
from apportion_compiler.engines.traits import EngineTraits, Reference

_NAMESPACE = ("", "Namespace")

TRAITS = EngineTraits(
    title=TITLE,
    versions=KUBERNETES,
    # A ResourceQuota limits a single namespace; no object limits several together.
    evicts_non_preemptible="kube-scheduler preempts such pods for {}",
    limit_over_parent="ResourceQuotas enforce only the namespace's limit",
    configuration_kinds=frozenset((_NAMESPACE, ("", "LimitRange"), ("", "ResourceQuota"))),
    references=tuple(
        Reference(("", kind), "metadata.namespace", _NAMESPACE, is_parent=False)
        for kind in ("ResourceQuota", "LimitRange")
    ),
    # GKE limits the number of objects of each namespace with it.
    own_objects=frozenset({"gke-resource-quotas"}),
)
