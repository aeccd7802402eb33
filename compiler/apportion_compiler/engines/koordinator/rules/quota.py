"""An ElasticQuota as the webhook sees it: labels and annotations as what they mean, after its own defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apportion_api.koordinator.names import (
    FORCE_UPDATE_LABEL,
    IS_PARENT_LABEL,
    IS_ROOT_LABEL,
    NAMESPACES_ANNOTATION,
    PARENT_LABEL,
    ROOT_QUOTA,
    TREE_ID_LABEL,
)
from apportion_compiler.embedded_text import json_value
from apportion_compiler.engine_rules.quota_amounts import Amounts, read_amounts
from apportion_compiler.engine_rules.verdict import Effect, Manifest, Verdict
from apportion_compiler.plain_objects import annotations_of, labels_of, mapping, name_of, text


@dataclass(frozen=True, slots=True)
class Quota:
    """One quota. `index` is None where it is in the cluster and not among the manifests."""

    index: int | None
    manifest: Manifest
    name: str
    namespace: str
    parent: str
    is_parent: bool
    is_root: bool
    forced: bool
    tree_id: str
    namespaces: tuple[str, ...]
    least: Amounts
    most: Amounts

    @property
    def max_keys(self) -> frozenset[str]:
        """The resources of `max`."""
        return frozenset(mapping(self.manifest, "spec", "max"))

    @property
    def min_keys(self) -> frozenset[str]:
        """The resources of `min`."""
        return frozenset(mapping(self.manifest, "spec", "min"))

    def rejected(self, field: str, kind: str, message: str, cure: str) -> Verdict:
        """Return a refusal of the quota, which is among the manifests."""
        return self._verdict(Effect.REJECTED, field, kind, message, cure)

    def ignored(self, field: str, kind: str, message: str, cure: str) -> Verdict:
        """Return something of the quota that is accepted and not done."""
        return self._verdict(Effect.IGNORED, field, kind, message, cure)

    def _verdict(self, effect: Effect, field: str, kind: str, message: str, cure: str) -> Verdict:
        if self.index is None:
            raise ValueError(f"quota {self.name} is not in the manifests")
        return Verdict(effect, self.index, field, kind, message, cure)


def read_quota(manifest: Manifest, index: int | None) -> Quota:
    """Return a manifest as a quota; without a parent it hangs below Koordinator's root."""
    labels, spec = labels_of(manifest), mapping(manifest, "spec")
    at = 0 if index is None else index
    return Quota(
        index,
        manifest,
        name_of(manifest),
        text(manifest, "metadata", "namespace") or "default",
        labels.get(PARENT_LABEL) or ROOT_QUOTA,
        labels.get(IS_PARENT_LABEL) == "true",
        labels.get(IS_ROOT_LABEL) == "true",
        labels.get(FORCE_UPDATE_LABEL) == "true",
        labels.get(TREE_ID_LABEL, ""),
        bound_namespaces(annotations_of(manifest)),
        read_amounts(at, spec, "min", "spec", signed=True),
        read_amounts(at, spec, "max", "spec", signed=True),
    )


def bound_namespaces(annotations: Mapping[str, str]) -> tuple[str, ...]:
    """Return the namespaces that the annotation binds; none where it is not a JSON list of text."""
    try:
        found = json_value(annotations.get(NAMESPACES_ANNOTATION) or "[]")
    except ValueError:
        return ()
    return tuple(found) if isinstance(found, list) and all(isinstance(name, str) for name in found) else ()
