"""The configuration of koord-scheduler: the arguments of its quota plugin, and the weights of its scores.

Source: pkg/scheduler/apis/config/v1/defaults.go at a7a1b76b; the chart's templates/koord-scheduler-config.yaml (v1.8.0).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

from apportion_api.koordinator.names import DEFAULT_QUOTA, SCHEDULER, SCHEDULER_CONFIG, SYSTEM_QUOTA
from apportion_runtime.admission.objects import name_of
from apportion_runtime.engines.koordinator.configuration_fields import document_fault, profile_fault, seconds
from apportion_runtime.engines.kube_scheduler import Profile, read_profiles
from apportion_runtime.engines.kube_scheduler.profiles import KIND
from apportion_runtime.sim.engine import UnreadableError, fault_text
from apportion_runtime.snapshots.pod_requests import Amounts, amounts
from apportion_runtime.snapshots.yaml_bounds import check_bounds

FIT_PLUS, NUMA, BALANCE = "NodeResourcesFitPlus", "NodeNUMAResource", "NodeResourcesBalancedAllocation"
_QUOTA, _GANG = "ElasticQuota", "Coscheduling"
_PLUGINS = frozenset(
    (
        _QUOTA, _GANG, FIT_PLUS, NUMA, "SchedulingHint", "Reservation", "LoadAwareScheduling", "DeviceShare",
        "DefaultPreBind",
    )
)  # fmt: skip
"""Plugins that are simulated, or without effect on clusters without reservations, devices and usage metrics."""
_DEFAULT_DELAY_S = 120.0
_OWN = {"defaultQuotaGroupMax": DEFAULT_QUOTA, "systemQuotaGroupMax": SYSTEM_QUOTA}


class ConfigurationError(UnreadableError):
    """An invalid configuration, or one that enables features that are not simulated."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """The configuration of koord-scheduler.

    Attributes:
        profile: Its profile of kube-scheduler's plugins.
        checks_parents: Whether the limits of parents apply to their descendants.
        uses_runtime: Whether a quota is limited to its runtime quota, otherwise to its `max`.
        scales_min: Whether guarantees are scaled down if they exceed what their parent has.
        revokes: Whether pods of quotas above their runtime quota are evicted.
        delay_s: The time after which they are evicted.
        spares_default_quota: Whether pods of the default quota are never preempted.
        own_maxima: The `max` of the default and system quotas that it sets, by name.
        fit_weight: The weight of the NodeResourcesFitPlus score.
        fit_resources: Its strategy and weight of each resource.
        numa_weight: The weight of the NodeNUMAResource score.
        balance_weight: The weight of the NodeResourcesBalancedAllocation score, which is that of kube-scheduler 1.35.
    """

    profile: Profile
    checks_parents: bool = False
    uses_runtime: bool = True
    scales_min: bool = True
    revokes: bool = False
    delay_s: float = _DEFAULT_DELAY_S
    spares_default_quota: bool = True
    own_maxima: Mapping[str, Amounts] = field(default_factory=dict[str, Amounts])
    fit_weight: int = 0
    fit_resources: Mapping[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    numa_weight: int = 0
    balance_weight: int = 0


def read_configuration(objects: Iterable[Mapping[str, Any]]) -> Configuration:
    """Return the configuration in the ConfigMap among objects.

    Raises:
        ConfigurationError: If it is missing or invalid, or enables features that are not simulated.
    """
    found = next((made for made in objects if name_of(made) == SCHEDULER_CONFIG), None)
    if found is None:
        raise ConfigurationError(
            f"ConfigMap {SCHEDULER_CONFIG} does not exist; the default configuration of Koordinator's chart preempts pods in "
            "other quotas, which is not simulated"
        )
    text = (found.get("data") or {}).get(SCHEDULER_CONFIG) or ""
    try:
        check_bounds(text)
        document = yaml.safe_load(text)
        profiles = [each for each in document["profiles"] if each.get("schedulerName") == SCHEDULER]
    except (yaml.YAMLError, ValueError, KeyError, TypeError, AttributeError) as wrong:
        raise _error(f"invalid KubeSchedulerConfiguration: {fault_text(wrong)}") from None
    wrong_type = document_fault(document)
    if wrong_type:
        raise _error(wrong_type)
    if len(profiles) != 1:
        raise _error(f"expected one profile with schedulerName {SCHEDULER}, found {len(profiles)}")
    return _configuration(profiles[0])


def _configuration(written: Mapping[str, Any]) -> Configuration:
    try:
        fault = profile_fault(written)
        if fault:
            raise _error(fault)
        arguments = {str(each["name"]): each.get("args") or {} for each in written.get("pluginConfig") or ()}
        plugins = written.get("plugins") or {}
        _check_plugins(plugins, arguments)
        profiles, unknown = read_profiles([{"kind": KIND, "profiles": [written]}])
        unsupported = sorted(set(unknown) - _PLUGINS)
        if unsupported:
            raise _error(
                f"plugin {unsupported[0]} is not simulated; simulated plugins are {', '.join(sorted(_PLUGINS))}"
            )
        quota = arguments.get(_QUOTA, {})
        if quota.get("hookPlugins"):
            raise _error("ElasticQuota.hookPlugins is not simulated; remove it")
        weights = {str(each["name"]): int(each.get("weight") or 1) for each in _enabled(plugins, "score")}
        resources = arguments.get(FIT_PLUS, {}).get("resources") or {}
        profile = profiles[SCHEDULER]
        others = {name: weight for name, weight in profile.weights.items() if name != BALANCE}
        return Configuration(
            profile=replace(profile, weights=others),
            checks_parents=bool(quota.get("enableCheckParentQuota", False)),
            uses_runtime=bool(quota.get("enableRuntimeQuota", True)),
            scales_min=bool(quota.get("enableMinQuotaScale", True)),
            revokes=bool(quota.get("monitorAllQuotas", False)) and bool(quota.get("enableRuntimeQuota", True)),
            delay_s=_seconds(quota.get("delayEvictTime")),
            spares_default_quota=bool(quota.get("disableDefaultQuotaPreemption", True)),
            own_maxima={name: amounts(quota[key]) for key, name in _OWN.items() if quota.get(key)},
            fit_weight=weights.get(FIT_PLUS, 0),
            fit_resources={str(k): (str(v["type"]), int(v.get("weight") or 0)) for k, v in resources.items()},
            numa_weight=weights.get(NUMA, 0),
            balance_weight=profile.weights.get(BALANCE, 0),
        )
    except UnreadableError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as wrong:
        raise _error(f"invalid profile {SCHEDULER}: {fault_text(wrong)}") from None


def _check_plugins(plugins: Mapping[str, Any], arguments: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise `ConfigurationError` for plugins and arguments that decide what is not simulated."""
    if arguments.get(_GANG, {}).get("enablePreemption"):
        raise _error(
            f"{_GANG}.enablePreemption allows preemption in other quotas, which is not simulated; set it to false, as "
            "`apportion compile` does"
        )
    after = [str(each["name"]) for each in _enabled(plugins, "postFilter")]
    if "DefaultPreemption" in after or not _disables_all(plugins, "postFilter"):
        raise _error(
            "DefaultPreemption preempts pods in other quotas; this is not simulated, so disable the plugin under postFilter"
        )
    for point, names in (("preFilter", (_QUOTA,)), ("postFilter", (_QUOTA,)), ("permit", (_GANG,))):
        missing = set(names) - {str(each["name"]) for each in _enabled(plugins, point)}
        if missing:
            raise _error(f"{min(missing)} is not enabled under {point}; enable it to simulate Koordinator")
    # pkg/scheduler/plugins/noderesourcefitplus/node_resources_fit_plus.go: Score returns an error without this state.
    if _names(plugins, "score", FIT_PLUS) and not _names(plugins, "preScore", FIT_PLUS):
        raise _error(
            f"{FIT_PLUS} is enabled under score but not under preScore, so koord-scheduler cannot schedule a pod that fits "
            "on more than one node; enable it under preScore"
        )


def _names(plugins: Mapping[str, Any], point: str, plugin: str) -> bool:
    return any(str(each["name"]) == plugin for each in (*_enabled(plugins, point), *_enabled(plugins, "multiPoint")))


def _enabled(plugins: Mapping[str, Any], point: str) -> list[Mapping[str, Any]]:
    return list((plugins.get(point) or {}).get("enabled") or ())


def _disables_all(plugins: Mapping[str, Any], point: str) -> bool:
    disabled = {str(each.get("name")) for each in (plugins.get(point) or {}).get("disabled") or ()}
    return bool(disabled & {"*", "DefaultPreemption"})


def _seconds(written: object) -> float:
    return _DEFAULT_DELAY_S if written is None else seconds(written)


def _error(what: str) -> ConfigurationError:
    return ConfigurationError(f"ConfigMap {SCHEDULER_CONFIG}: {what}")
