"""Kinds of objects that a cluster can exclude from management: they are not emitted, owned or deleted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from apportion_compiler.backends.capability import Output
from apportion_compiler.ir.program import Program

ADMISSION_KINDS = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")

FAMILIES: Mapping[str, frozenset[str]] = {
    "access": frozenset(("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")),
    "admission": frozenset(ADMISSION_KINDS),
    "namespaces": frozenset(("Namespace",)),
    "priority-classes": frozenset(("PriorityClass",)),
    "quotas": frozenset(("ResourceQuota", "LimitRange")),
}
"""Kinds by their name in `Cluster.managed_elsewhere`."""


def managed(output: Output, program: Program) -> Output:
    """Return the output of a backend without the objects that are managed elsewhere on this cluster."""
    elsewhere = frozenset(kind for family in program.managed_elsewhere for kind in FAMILIES[family])
    external = {name for queue in program.queues for name in queue.external_namespaces}
    if not elsewhere and not external:
        return output
    kept = tuple(
        manifest
        for manifest in output.manifests
        if manifest["kind"] not in elsewhere and not (manifest["kind"] == "Namespace" and _name(manifest) in external)
    )
    return replace(output, manifests=kept)


def _name(manifest: Mapping[str, object]) -> object:
    metadata = manifest["metadata"]
    return metadata.get("name") if isinstance(metadata, Mapping) else None
