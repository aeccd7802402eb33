"""Kubernetes' own objects that engines, rules and readers share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from apportion_api.fields import Written
from apportion_api.kubernetes.names import SCHEDULING_GROUP
from apportion_api.objects import ApiObject, each, flag, integer, quantities, text, text_map, texts


@dataclass(frozen=True, slots=True)
class PriorityClass(ApiObject):
    """A PriorityClass."""

    group = SCHEDULING_GROUP
    labels: Mapping[str, str] = text_map("metadata.labels")
    annotations: Mapping[str, str] = text_map("metadata.annotations")
    value: int | None = integer("value")
    is_default: bool | None = flag("globalDefault")
    preemption_policy: str | None = text("preemptionPolicy")
    description: str | None = text("description")


def default_class(classes: Iterable[PriorityClass]) -> PriorityClass | None:
    """Return the class of pods without one: if several are marked as default, the one with the lowest value."""
    return min((cls for cls in classes if cls.is_default), key=lambda cls: cls.value or 0, default=None)


@dataclass(frozen=True, slots=True)
class QuotaScope:
    """The scope of a ResourceQuota; without an operator, it matches pods that have the scope."""

    name: str = text("scopeName", default="")
    operator: str = text("operator", default="")
    values: tuple[str, ...] = texts("values")


@dataclass(frozen=True, slots=True)
class ResourceQuota(ApiObject):
    """A ResourceQuota; `scopes` are the short form of `selected`."""

    namespace: str = text("metadata.namespace", default="")
    hard: Mapping[str, Written] = quantities("spec.hard")
    scopes: tuple[str, ...] = texts("spec.scopes")
    selected: tuple[QuotaScope, ...] = each("spec.scopeSelector.matchExpressions", QuotaScope)

    @property
    def all_scopes(self) -> tuple[QuotaScope, ...]:
        """The scopes of both forms."""
        return (*(QuotaScope(name, "Exists") for name in self.scopes), *self.selected)
