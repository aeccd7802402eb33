"""ElasticQuota, ElasticQuotaProfile and ClusterNetworkTopology; with parsed labels and annotations.

Source: apis/extension/elastic_quota.go at a7a1b76b.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apportion_api.embedded_json import json_value
from apportion_api.fields import Written
from apportion_api.koordinator.names import (
    ALLOW_LENT_LABEL,
    FORCE_UPDATE_LABEL,
    GROUP,
    IS_PARENT_LABEL,
    IS_ROOT_LABEL,
    NAMESPACES_ANNOTATION,
    PARENT_LABEL,
    PROFILE_GROUP,
    RESOURCE_KEYS_ANNOTATION,
    ROOT_QUOTA,
    SHARED_WEIGHT_ANNOTATION,
    TOPOLOGY_GROUP,
    TREE_ID_LABEL,
)
from apportion_api.objects import ApiObject, derived, each, optional_quantities, quantities, text, text_map, texts
from apportion_api.quantities import parse_quantity

_FIELDS = ("min", "max")
_ACCOUNTED = frozenset(("cpu", "memory"))


def _json(written: str | None) -> object:
    try:
        return json_value(written) if written else None
    except ValueError:
        return None


def _texts(written: str | None) -> tuple[str, ...] | None:
    found = _json(written)
    return tuple(found) if isinstance(found, list) and all(isinstance(name, str) for name in found) else None


@dataclass(frozen=True, slots=True)
class ElasticQuota(ApiObject):
    """An ElasticQuota; without a parent, it is a child of Koordinator's root, and without `max`, it is unlimited.

    `unknown` are names of unknown fields.
    """

    group = GROUP
    namespace: str | None = text("metadata.namespace")
    labels: Mapping[str, str] = text_map("metadata.labels")
    annotations: Mapping[str, str] = text_map("metadata.annotations")
    minimum: Mapping[str, Written] = quantities("spec.min")
    limits: Mapping[str, Written] | None = optional_quantities("spec.max")
    unknown: tuple[str, ...] = derived(
        lambda quota: tuple(key for key in quota.at("spec").written if key not in _FIELDS), ()
    )
    used: Mapping[str, Written] = quantities("status.used")

    @property
    def maximum(self) -> Mapping[str, Written]:
        """Its `max`."""
        return self.limits or {}

    @property
    def parent(self) -> str:
        """The name of its parent quota."""
        return self.labels.get(PARENT_LABEL) or ROOT_QUOTA

    @property
    def is_parent(self) -> bool:
        """Whether it may have child quotas, and no pods."""
        return self.labels.get(IS_PARENT_LABEL) == "true"

    @property
    def is_root(self) -> bool:
        """Whether it is the root of a tree."""
        return self.labels.get(IS_ROOT_LABEL) == "true"

    @property
    def is_forced(self) -> bool:
        """Whether the check of the sums of minima is disabled."""
        return self.labels.get(FORCE_UPDATE_LABEL) == "true"

    @property
    def lends(self) -> bool:
        """Whether others may use its guarantee while it does not request it."""
        return self.labels.get(ALLOW_LENT_LABEL) != "false"

    @property
    def tree_id(self) -> str:
        """The tree of the quota; empty for the default tree."""
        return self.labels.get(TREE_ID_LABEL, "")

    @property
    def has_malformed_namespaces(self) -> bool:
        """Whether the annotation of its namespaces is set but invalid, because it is not a JSON list of names."""
        written = self.annotations.get(NAMESPACES_ANNOTATION)
        return bool(written) and _texts(written) is None

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces whose pods use it by default."""
        return _texts(self.annotations.get(NAMESPACES_ANNOTATION)) or ()

    @property
    def listed_weights(self) -> Mapping[str, object] | None:
        """The weights as written; None if there are none."""
        found = _json(self.annotations.get(SHARED_WEIGHT_ANNOTATION))
        return found if isinstance(found, dict) else None

    @property
    def has_zero_weights(self) -> bool:
        """Whether every weight is zero, so that Koordinator uses `max` instead."""
        return not any(map(_counts, self._filled_weights.values()))

    @property
    def weights(self) -> Mapping[str, object]:
        """The effective weights: its `max` for resources without one, and for all if every weight is zero."""
        return self.maximum if self.has_zero_weights else self._filled_weights

    @property
    def _filled_weights(self) -> Mapping[str, object]:
        """Its weights as Koordinator's webhook stores them: of the resources of `max` alone."""
        listed = self.listed_weights or {}
        return {resource: listed.get(resource, limit) for resource, limit in self.maximum.items()}


def _counts(weight: object) -> bool:
    try:
        return parse_quantity(weight if isinstance(weight, int | float) else str(weight)) != 0
    except ValueError:
        return True


@dataclass(frozen=True, slots=True)
class ElasticQuotaProfile(ApiObject):
    """An ElasticQuotaProfile: nodes, and the root of the tree that Koordinator creates for them."""

    group = PROFILE_GROUP
    labels: Mapping[str, str] = text_map("metadata.labels")
    annotations: Mapping[str, str] = text_map("metadata.annotations")
    quota: str | None = text("spec.quotaName")
    quota_labels: Mapping[str, str] = text_map("spec.quotaLabels")
    nodes: Mapping[str, str] = text_map("spec.nodeSelector.matchLabels")

    @property
    def tree_id(self) -> str:
        """The id of the tree for its nodes."""
        return self.labels.get(TREE_ID_LABEL, "")

    @property
    def is_parent(self) -> bool:
        """Whether its root may have child quotas."""
        return self.quota_labels.get(IS_PARENT_LABEL) == "true"

    @property
    def resources(self) -> frozenset[str]:
        """The resources that its root counts."""
        found = _json(self.annotations.get(RESOURCE_KEYS_ANNOTATION))
        return frozenset(key for key in found if isinstance(key, str)) if isinstance(found, list) else _ACCOUNTED


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer of a topology, below another one or at the top; only the first label key is used."""

    name: str = text("topologyLayer", default="")
    parent: str | None = text("parentTopologyLayer")
    labels: tuple[str, ...] = texts("labelKey")


@dataclass(frozen=True, slots=True)
class ClusterNetworkTopology(ApiObject):
    """A ClusterNetworkTopology."""

    group = TOPOLOGY_GROUP
    annotations: Mapping[str, str] = text_map("metadata.annotations")
    layers: tuple[Layer, ...] = each("spec.networkTopologySpec", Layer)
