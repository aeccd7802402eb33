"""Kubernetes' own objects that engines, rules and readers share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apportion_api.kubernetes.names import SCHEDULING_GROUP
from apportion_api.objects import ApiObject, flag, integer, text, text_map


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
