"""KubeSchedulerConfiguration: faults with which kube-scheduler does not start."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from apportion_compiler.engines.native.rules.fault import Fault, ignored, rejected
from apportion_compiler.kubernetes_names import is_label_key
from apportion_compiler.plain_objects import Manifest, integer, items, mapping, text

API_VERSION = "kubescheduler.config.k8s.io/v1"

IN_TREE_PLUGINS = frozenset(
    {
        "DefaultBinder", "DefaultPreemption", "DynamicResources", "GangScheduling", "ImageLocality",
        "InterPodAffinity", "NodeAffinity", "NodeDeclaredFeatures", "NodeName", "NodePorts",
        "NodeResourcesBalancedAllocation", "NodeResourcesFit", "NodeUnschedulable", "NodeVolumeLimits",
        "PodGroupPodsCount", "PodTopologySpread", "PrioritySort", "SchedulingGates", "TaintToleration",
        "TopologyPlacementGenerator", "VolumeBinding", "VolumeRestrictions", "VolumeZone",
    }
)  # fmt: skip
"""In-tree plugins of kube-scheduler."""
_REMOVED = frozenset({"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"})
_STRATEGIES = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
_DEFAULT_NAME = "default-scheduler"

_Args = Mapping[str, object]


def scheduler_configuration(manifest: Manifest, before: Manifest | None) -> Iterator[Fault]:
    """Yield the faults of a configuration."""
    if manifest.get("apiVersion") != API_VERSION:
        yield rejected(
            "apiVersion",
            "Invalid",
            f"kube-scheduler no longer supports {manifest.get('apiVersion')}",
            f"use {API_VERSION}",
        )
    profiles = items(manifest, "profiles")
    names: dict[str, int] = {}
    for index, profile in enumerate(profiles):
        path = f"profiles[{index}]"
        yield from _name(profile, path, names, alone=len(profiles) == 1)
        names.setdefault(text(profile, "schedulerName") or _DEFAULT_NAME, index)
        yield from _plugins(profile, path)
        yield from _plugin_config(profile, path)
        if mapping(profile, "plugins", "queueSort") != mapping(profiles[0], "plugins", "queueSort"):
            yield rejected(
                f"{path}.plugins.queueSort",
                "Invalid",
                "must be the same for all profiles",
                "set the same value in each profile",
            )
    share = integer(manifest, "percentageOfNodesToScore")
    if share is not None and not 0 <= share <= 100:
        yield rejected("percentageOfNodesToScore", "Invalid", "not in valid range [0-100]", "use a value from 0 to 100")


def _name(profile: object, path: str, names: Mapping[str, int], *, alone: bool) -> Iterator[Fault]:
    name = text(profile, "schedulerName")
    if name is None and not alone:
        yield rejected(
            f"{path}.schedulerName",
            "Required",
            "with several profiles, each must have a name",
            "set schedulerName",
        )
    elif (name or _DEFAULT_NAME) in names:
        yield rejected(
            f"{path}.schedulerName",
            "Duplicate",
            f"profiles[{names[name or _DEFAULT_NAME]}] already has the name {name or _DEFAULT_NAME}",
            "rename the profile",
        )


def _plugins(profile: object, path: str) -> Iterator[Fault]:
    for point in mapping(profile, "plugins"):
        for index, plugin in enumerate(items(profile, "plugins", point, "enabled")):
            name = text(plugin, "name") or ""
            at = f"{path}.plugins.{point}.enabled[{index}]"
            if name in _REMOVED:
                yield rejected(at, "Invalid", f"{name} was removed from kube-scheduler", "use NodeVolumeLimits")
            elif name not in IN_TREE_PLUGINS:
                yield rejected(
                    at,
                    "Invalid",
                    f"kube-scheduler does not start: {f'plugin {name} does not exist' if name else 'a plugin has no name'}",
                    "remove the plugin, and set nodeAffinity for GPU models in the workload or in NodeAffinity's addedAffinity"
                    if "gpu" in name.lower()
                    else "remove the plugin, or run a scheduler that includes it"
                    if name
                    else "set the plugin name",
                )
    sorts = items(profile, "plugins", "queueSort", "enabled")
    if len(sorts) > 1:
        yield rejected(
            f"{path}.plugins.queueSort.enabled",
            "Invalid",
            "only one queue sort plugin can be enabled",
            "enable only one queue sort plugin",
        )


def _plugin_config(profile: object, path: str) -> Iterator[Fault]:
    enabled = {
        text(plugin, "name")
        for point in mapping(profile, "plugins")
        for plugin in items(profile, "plugins", point, "enabled")
    }
    seen: set[str] = set()
    for index, config in enumerate(items(profile, "pluginConfig")):
        name, at = text(config, "name") or "", f"{path}.pluginConfig[{index}]"
        if name in seen:
            yield rejected(at, "Duplicate", f"{name} is already configured", f"keep only one configuration for {name}")
        seen.add(name)
        if name not in IN_TREE_PLUGINS and name not in enabled:
            yield ignored(at, "Unused", f"kube-scheduler has no plugin {name}", f"remove the configuration for {name}")
        check = _ARGS.get(name)
        if check is not None:
            yield from check(mapping(config, "args"), f"{at}.args")


def _fit(args: _Args, path: str) -> Iterator[Fault]:
    strategy = mapping(args, "scoringStrategy")
    if not strategy:
        return
    kind, path = text(strategy, "type"), f"{path}.scoringStrategy"
    if kind is not None and kind not in _STRATEGIES:
        yield rejected(
            f"{path}.type", "NotSupported", f"{kind} is not a scoring strategy", f"use one of {', '.join(_STRATEGIES)}"
        )
    for index, resource in enumerate(items(strategy, "resources")):
        weight = integer(resource, "weight")
        if weight is not None and not 0 <= weight <= 100:
            yield rejected(
                f"{path}.resources[{index}].weight",
                "Invalid",
                f"resource weight of {text(resource, 'name')} not in valid range (0, 100]",
                "use a value from 1 to 100",
            )
    shape = items(strategy, "requestedToCapacityRatio", "shape")
    if kind == _STRATEGIES[2] and not shape:
        yield rejected(
            f"{path}.requestedToCapacityRatio",
            "Required",
            f"must be specified when type is {kind}",
            "set requestedToCapacityRatio.shape",
        )
    elif kind != _STRATEGIES[2] and strategy.get("requestedToCapacityRatio") is not None:
        yield rejected(
            f"{path}.requestedToCapacityRatio",
            "Forbidden",
            f"must be nil when type is not {_STRATEGIES[2]}",
            f"remove requestedToCapacityRatio, or set type: {_STRATEGIES[2]}",
        )
    yield from _shape(shape, f"{path}.requestedToCapacityRatio.shape")


def _shape(shape: Sequence[object], path: str) -> Iterator[Fault]:
    before = -1
    for index, point in enumerate(shape):
        utilization, score = integer(point, "utilization") or 0, integer(point, "score") or 0
        if utilization <= before:
            yield rejected(
                f"{path}[{index}].utilization",
                "Invalid",
                "values must be sorted in increasing order",
                "sort the points by utilization",
            )
        if not 0 <= utilization <= 100:
            yield rejected(
                f"{path}[{index}].utilization", "Invalid", "not in valid range [0, 100]", "use a value from 0 to 100"
            )
        if not 0 <= score <= 10:
            yield rejected(
                f"{path}[{index}].score", "Invalid", "not in valid range [0, 10]", "use a value from 0 to 10"
            )
        before = utilization


def _balance(args: _Args, path: str) -> Iterator[Fault]:
    seen: set[str] = set()
    for index, resource in enumerate(items(args, "resources")):
        name, at = text(resource, "name") or "", f"{path}.resources[{index}]"
        if name in seen:
            yield rejected(f"{at}.name", "Duplicate", f"{name} is listed twice", f"list {name} once")
        seen.add(name)
        if integer(resource, "weight") not in (None, 0, 1):
            yield rejected(f"{at}.weight", "Invalid", "must be 1", "use 1")


def _spread(args: _Args, path: str) -> Iterator[Fault]:
    constraints, kind = items(args, "defaultConstraints"), text(args, "defaultingType")
    if kind not in (None, "System", "List"):
        yield rejected(f"{path}.defaultingType", "NotSupported", f"{kind} is not supported", "use System or List")
    if kind == "System" and constraints:
        yield rejected(
            f"{path}.defaultingType", "Invalid", "System, when .defaultConstraints are not empty", "use List"
        )
    seen: set[tuple[str, str]] = set()
    for index, constraint in enumerate(constraints):
        at = f"{path}.defaultConstraints[{index}]"
        key, otherwise = text(constraint, "topologyKey") or "", text(constraint, "whenUnsatisfiable") or ""
        if (integer(constraint, "maxSkew") or 0) <= 0:
            yield rejected(f"{at}.maxSkew", "Invalid", "not in valid range (0, inf)", "use a value of at least 1")
        if not is_label_key(key):
            yield rejected(
                f"{at}.topologyKey",
                "Invalid" if key else "Required",
                "is not a valid label key",
                "use a node label key, such as topology.kubernetes.io/zone",
            )
        if otherwise not in ("DoNotSchedule", "ScheduleAnyway"):
            yield rejected(
                f"{at}.whenUnsatisfiable",
                "NotSupported" if otherwise else "Required",
                f"{otherwise} is not supported" if otherwise else "must be set",
                "use ScheduleAnyway",
            )
        if mapping(constraint).get("labelSelector") is not None:
            yield rejected(
                f"{at}.labelSelector",
                "Forbidden",
                "constraint must not define a selector, as they deduced for each pod",
                "remove labelSelector",
            )
        if (key, otherwise) in seen:
            yield rejected(at, "Duplicate", f"{key} is already listed with {otherwise}", f"list {key} once")
        seen.add((key, otherwise))


def _interpod(args: _Args, path: str) -> Iterator[Fault]:
    weight = integer(args, "hardPodAffinityWeight")
    if weight is not None and not 0 <= weight <= 100:
        yield rejected(
            f"{path}.hardPodAffinityWeight", "Invalid", "not in valid range [0, 100]", "use a value from 0 to 100"
        )


def _preemption(args: _Args, path: str) -> Iterator[Fault]:
    share, least = integer(args, "minCandidateNodesPercentage"), integer(args, "minCandidateNodesAbsolute")
    if share is not None and not 0 <= share <= 100:
        yield rejected(
            f"{path}.minCandidateNodesPercentage", "Invalid", "not in valid range [0, 100]", "use a value from 0 to 100"
        )
    if least is not None and least < 0:
        yield rejected(
            f"{path}.minCandidateNodesAbsolute", "Invalid", "not in valid range [0, inf)", "use a value of 0 or more"
        )


_ARGS: Mapping[str, Callable[[_Args, str], Iterator[Fault]]] = {
    "DefaultPreemption": _preemption,
    "InterPodAffinity": _interpod,
    "NodeResourcesBalancedAllocation": _balance,
    "NodeResourcesFit": _fit,
    "PodTopologySpread": _spread,
}
