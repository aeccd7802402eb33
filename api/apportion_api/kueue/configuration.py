"""The configuration of Kueue's manager."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apportion_api.kueue.names import CONFIGURATION_GROUP
from apportion_api.objects import (
    ApiObject,
    LabelSelector,
    each,
    flag,
    integer,
    optional_part,
    part,
    text,
    text_map,
    texts,
)


@dataclass(frozen=True, slots=True)
class RequeuingStrategy:
    """Requeuing of workloads that exceeded the timeout."""

    timestamp: str = text("timestamp", default="Eviction")
    limit: int | None = integer("backoffLimitCount")
    base_s: int | None = integer("backoffBaseSeconds")
    max_s: int | None = integer("backoffMaxSeconds")


@dataclass(frozen=True, slots=True)
class WaitForPodsReady:
    """The timeout of admitted pods; `enable` is a field of v1beta1, later versions enable it by its presence."""

    enable: bool | None = flag("enable")
    timeout: str | None = text("timeout")
    recovery_timeout: str | None = text("recoveryTimeout")
    requeuing: RequeuingStrategy = part("requeuingStrategy", RequeuingStrategy)
    block_admission: bool | None = flag("blockAdmission")


@dataclass(frozen=True, slots=True)
class FairSharing:
    """Preemption by fair shares; `enable` is a field of v1beta1, later versions enable it by its presence."""

    enable: bool | None = flag("enable")
    strategies: tuple[str, ...] = texts("preemptionStrategies")


@dataclass(frozen=True, slots=True)
class Transformation:
    """The conversion of a resource to others, and whether the original is still counted."""

    resource: str = text("input", default="")
    strategy: str = text("strategy", default="Retain")
    outputs: Mapping[str, str] = text_map("outputs")


@dataclass(frozen=True, slots=True)
class Configuration(ApiObject):
    """The configuration of Kueue's manager."""

    group = CONFIGURATION_GROUP
    api: str = text("apiVersion", default="")
    frameworks: tuple[str, ...] = texts("integrations.frameworks")
    manages_unnamed: bool | None = flag("manageJobsWithoutQueueName")
    namespaces: LabelSelector | None = optional_part("managedJobsNamespaceSelector", LabelSelector)
    excluded_prefixes: tuple[str, ...] = texts("resources.excludeResourcePrefixes")
    transformations: tuple[Transformation, ...] = each("resources.transformations", Transformation)
    fair_sharing: FairSharing | None = optional_part("fairSharing", FairSharing)
    pods_ready: WaitForPodsReady | None = optional_part("waitForPodsReady", WaitForPodsReady)

    def is_on(self, part: FairSharing | WaitForPodsReady) -> bool:
        """Return whether a part is enabled."""
        return bool(part.enable) or not self.api.endswith("/v1beta1")
