"""The fields and plugins of koord-scheduler's configuration, which it decodes strictly.

Source: pkg/scheduler/apis/config/v1/types.go, pkg/scheduler/apis/config/scheme/scheme.go (strict decoding) and
cmd/koord-scheduler/main.go (its plugins) at a7a1b76b; kubescheduler.config.k8s.io/v1 at v1.35.6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from apportion_runtime.engines.kube_scheduler.profiles import DEFAULT_PLUGINS, KIND
from apportion_runtime.sim.engine import UnreadableError
from apportion_runtime.snapshots.pod_requests import amounts

_API = "kubescheduler.config.k8s.io/v1"
_POINTS = frozenset(
    (
        "preEnqueue", "queueSort", "preFilter", "filter", "postFilter", "preScore", "score", "reserve", "permit",
        "preBind", "bind", "postBind", "multiPoint",
    )
)  # fmt: skip
_PROFILE = frozenset(("schedulerName", "percentageOfNodesToScore", "plugins", "pluginConfig"))
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_OTHER = "value"
_BOOL, _INTEGER, _TEXT, _DURATION, _AMOUNTS = (
    "true or false",
    "an integer",
    "a string",
    "a duration such as 2m0s",
    "a quantity for each resource",
)
_ARGUMENTS: Mapping[str, Mapping[str, str]] = {
    "ElasticQuota": {
        "delayEvictTime": _DURATION,
        "revokePodInterval": _DURATION,
        "defaultQuotaGroupMax": _AMOUNTS,
        "systemQuotaGroupMax": _AMOUNTS,
        "quotaGroupNamespace": _TEXT,
        "monitorAllQuotas": _BOOL,
        "enableCheckParentQuota": _BOOL,
        "enableRuntimeQuota": _BOOL,
        "enableMinQuotaScale": _BOOL,
        "disableDefaultQuotaPreemption": _BOOL,
        "enableQueueHint": _BOOL,
        "quotaSnapshotUpdateInterval": _DURATION,
        "hookPlugins": _OTHER,
    },
    "Coscheduling": {
        "defaultTimeout": _DURATION,
        "controllerWorkers": _INTEGER,
        "skipCheckScheduleCycle": _BOOL,
        "enablePreemption": _BOOL,
        "awareNetworkTopology": _BOOL,
        "defaultMatchPolicy": _TEXT,
    },
    "NodeResourcesFitPlus": {"resources": _OTHER},
    "SchedulingHint": {"maxHintNodes": _INTEGER},
}
"""The arguments of the plugins that decide what is simulated; those of others are not read."""
_OWN_PLUGINS = frozenset(
    (*_ARGUMENTS, "LoadAwareScheduling", "NodeNUMAResource", "Reservation", "DeviceShare", "DefaultPreBind",
     "ScarceResourceAvoidance")
)  # fmt: skip


def document_fault(document: Mapping[str, Any]) -> str | None:
    """Return why koord-scheduler does not decode a document, by its `apiVersion` and `kind`; they may be missing."""
    return next(_type_faults(document, KIND, ""), None)


def profile_fault(profile: Mapping[str, Any]) -> str | None:
    """Return the first unknown or wrongly typed field, plugin or argument of a profile; None if there is none."""
    return next(_profile_faults(profile), None)


def seconds(written: object) -> float:
    """Return a duration such as `2m0s` in seconds. Raises `ValueError` for other values."""
    total, number = 0.0, ""
    for each in str(written):
        if each in _UNITS and number:
            total, number = total + float(number) * _UNITS[each], ""
        else:
            number += each
    if number or not isinstance(written, str) or not written:
        raise ValueError(f"`{written}` is not a duration such as 2m0s")
    return total


def _type_faults(made: Mapping[str, Any], kind: str, where: str) -> Iterator[str]:
    for field, expected in (("apiVersion", _API), ("kind", kind)):
        if made.get(field, expected) != expected:
            yield f"{where}{field} is `{made[field]}`, must be `{expected}`"


def _profile_faults(profile: Mapping[str, Any]) -> Iterator[str]:
    for field in profile:
        if field not in _PROFILE:
            yield f"unknown field `{field}` in profile"
    for point, settings in (profile.get("plugins") or {}).items():
        if point not in _POINTS:
            yield f"unknown extension point `{point}`"
        for each in (settings or {}).get("enabled") or ():
            if each["name"] not in _OWN_PLUGINS and each["name"] not in DEFAULT_PLUGINS:
                yield f"unknown plugin `{each['name']}` under {point}; koord-scheduler would fail to start"
    seen: set[str] = set()
    for each in profile.get("pluginConfig") or ():
        name = str(each["name"])
        if name not in _OWN_PLUGINS and name not in DEFAULT_PLUGINS:
            yield f"unknown plugin `{name}` in pluginConfig; koord-scheduler would ignore its arguments"
        if name in seen:
            yield f"plugin `{name}` appears twice in pluginConfig"
        seen.add(name)
        if name in _ARGUMENTS:
            yield from _argument_faults(name, each.get("args") or {})


def _argument_faults(plugin: str, arguments: Mapping[str, Any]) -> Iterator[str]:
    yield from _type_faults(arguments, f"{plugin}Args", f"{plugin}.")
    known = _ARGUMENTS[plugin]
    for field, value in arguments.items():
        if field in ("apiVersion", "kind"):
            continue
        if field not in known:
            yield f"unknown argument {plugin}.{field}"
        elif value is not None and not _has_type(value, known[field]):
            yield f"{plugin}.{field} is `{value}`, must be {known[field]}"


def _has_type(value: object, expected: str) -> bool:
    if expected == _BOOL:
        return isinstance(value, bool)
    if expected == _INTEGER:
        return isinstance(value, int) and not isinstance(value, bool)
    if expected == _TEXT:
        return isinstance(value, str)
    if expected == _DURATION:
        return _is_read(seconds, value)
    return expected != _AMOUNTS or (isinstance(value, Mapping) and _is_read(amounts, value))


def _is_read(read: Callable[[Any], object], value: object) -> bool:
    try:
        read(value)
    except (ValueError, TypeError, UnreadableError):
        return False
    return True
