"""kube-scheduler's configuration: a profile for each `schedulerName`.

Source: kubescheduler.config.k8s.io/v1, pkg/scheduler/apis/config/v1/default_plugins.go and defaults.go at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from apportion_api.counted_nouns import agreeing
from apportion_api.kubernetes.names import HOSTNAME_LABEL, ZONE_LABEL
from apportion_runtime.core.pod_constraints import NodeTerm
from apportion_runtime.engines.kube_scheduler.pods import preferred_nodes
from apportion_runtime.sim.engine import UnreadableError
from apportion_runtime.sim.scenario.format import Manifest
from apportion_runtime.snapshots.kubernetes.terms import node_terms
from apportion_runtime.snapshots.pod_requests import is_extended

DEFAULT = "default-scheduler"
KIND = "KubeSchedulerConfiguration"
LEAST, MOST, BY_SHAPE = "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"
_WEIGHTS: Mapping[str, int] = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "NodeResourcesFit": 1,
    "NodeResourcesBalancedAllocation": 1,
}
_FILTERS = frozenset(
    (
        "NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit", "PodTopologySpread",
        "InterPodAffinity",
    )
)  # fmt: skip
_WITHOUT_EFFECT = frozenset(
    (
        "SchedulingGates", "PrioritySort", "NodeName", "VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding",
        "VolumeZone", "DefaultPreemption", "ImageLocality", "DefaultBinder", "DynamicResources", "GangScheduling",
        "NodeDeclaredFeatures", "EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits",
    )
)  # fmt: skip
DEFAULT_PLUGINS = frozenset((*_WEIGHTS, *_FILTERS, *_WITHOUT_EFFECT))
"""The plugins of kube-scheduler, and those that older versions had."""
_SCORES = frozenset((*_WEIGHTS, "ImageLocality", "VolumeBinding", "DynamicResources"))
"""Plugins that score nodes; without any, the first node that fits is taken."""
_PREPARED = (
    ("filter", "preFilter", ("NodePorts", "NodeResourcesFit", "PodTopologySpread", "InterPodAffinity")),
    ("score", "preScore", ("TaintToleration", "PodTopologySpread", "InterPodAffinity")),
)
"""Plugins whose Filter and Score read what their PreFilter and PreScore wrote (`getPreFilterState` of each)."""
_SYSTEM_SPREAD: tuple[Mapping[str, Any], ...] = (
    {"topologyKey": HOSTNAME_LABEL, "maxSkew": 3, "whenUnsatisfiable": "ScheduleAnyway"},
    {"topologyKey": ZONE_LABEL, "maxSkew": 5, "whenUnsatisfiable": "ScheduleAnyway"},
)


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile.

    Attributes:
        name: The `schedulerName` of its pods.
        weights: The weight of each scoring plugin.
        filters: The enabled filters.
        has_scores: Whether any plugin scores nodes.
        names_nodes: Whether NodeAffinity restricts the search to nodes that a pod names, before it filters.
        preempts: Whether it evicts pods of lower priority.
        percentage: The percentage of nodes to score on clusters of 100 nodes or more; 0 depends on their number.
        candidate_percentage: The number of candidates after which preemption stops searching, in percent of nodes.
        candidates: The least number of them.
        ignored: Extended resources, and groups of them, that the filter NodeResourcesFit ignores.
        strategy: The scoring strategy of NodeResourcesFit.
        resources: The weight of each resource in that score.
        shape: The points of RequestedToCapacityRatio: utilization and score.
        balanced: The weight of each resource in NodeResourcesBalancedAllocation.
        spread: The default constraints; None uses the system defaults.
        added_terms: The required added affinity.
        added_preferences: The preferred added affinity.
        hard_affinity_weight: The weight of the required affinity of other pods in InterPodAffinity.
        ignores_preferences: Whether the preferred terms of other pods count only if the pod has some of its own.
    """

    name: str = DEFAULT
    weights: Mapping[str, int] = field(default_factory=lambda: dict(_WEIGHTS))
    filters: frozenset[str] = _FILTERS
    has_scores: bool = True
    names_nodes: bool = True
    preempts: bool = True
    percentage: int = 0
    candidate_percentage: int = 10
    candidates: int = 100
    ignored: frozenset[str] = frozenset()
    strategy: str = LEAST
    resources: Mapping[str, int] = field(default_factory=lambda: {"cpu": 1, "memory": 1})
    shape: tuple[tuple[int, int], ...] = ()
    balanced: Mapping[str, int] = field(default_factory=lambda: {"cpu": 1, "memory": 1})
    spread: tuple[Mapping[str, Any], ...] = _SYSTEM_SPREAD
    is_system_spread: bool = True
    added_terms: tuple[NodeTerm, ...] | None = None
    added_preferences: tuple[tuple[int, NodeTerm], ...] = ()
    hard_affinity_weight: int = 1
    ignores_preferences: bool = False

    def checks(self, resource: str) -> bool:
        """Return whether NodeResourcesFit compares a resource with what a node has left."""
        if not self.ignored or not is_extended(resource):
            return True
        return resource not in self.ignored and resource.partition("/")[0] not in self.ignored


def known_profiles(objects: Iterable[Manifest]) -> dict[str, Profile]:
    """Return the profiles by `schedulerName`. Raises `UnreadableError` for a plugin that kube-scheduler does not have."""
    profiles, unknown = read_profiles(objects)
    if unknown:
        raise UnreadableError(
            f"KubeSchedulerConfiguration: unknown {agreeing(len(unknown), 'plugin')} {', '.join(unknown)}; kube-scheduler would fail to start"
        )
    return profiles


def read_profiles(objects: Iterable[Manifest]) -> tuple[dict[str, Profile], tuple[str, ...]]:
    """Return the profiles by `schedulerName`, and enabled plugins that are not simulated."""
    found: dict[str, Profile] = {}
    unknown: set[str] = set()
    for made in objects:
        if made.get("kind") == KIND:
            percentage = made.get("percentageOfNodesToScore")
            for written in made.get("profiles") or ():
                profile = _profile(written, unknown, percentage or 0)
                found[profile.name] = profile
    if not found:
        found[DEFAULT] = Profile()
    return found, tuple(sorted(unknown))


def _profile(written: Mapping[str, Any], unknown: set[str], percentage: int) -> Profile:
    own = written.get("percentageOfNodesToScore")
    profile = Profile(name=written.get("schedulerName") or DEFAULT, percentage=int(percentage if own is None else own))
    plugins = written.get("plugins") or {}
    _check_points(profile.name, plugins)
    profile = _with_plugins(profile, plugins, unknown)
    for each in written.get("pluginConfig") or ():
        profile = _with_arguments(profile, str(each.get("name")), each.get("args") or {})
    return profile


def _with_plugins(profile: Profile, plugins: Mapping[str, Any], unknown: set[str]) -> Profile:
    for settings in plugins.values():
        unknown |= {str(each.get("name")) for each in (settings or {}).get("enabled") or ()} - DEFAULT_PLUGINS
    weights, filters, preempts = dict(profile.weights), set(profile.filters), profile.preempts
    for point in ("multiPoint", "score", "filter", "postFilter"):
        settings = plugins.get(point) or {}
        for each in settings.get("disabled") or ():
            name = str(each.get("name"))
            if point in ("multiPoint", "score"):
                weights = {} if name == "*" else {k: v for k, v in weights.items() if k != name}
            if point in ("multiPoint", "filter"):
                filters = set() if name == "*" else filters - {name}
            if point in ("multiPoint", "postFilter") and name in ("*", "DefaultPreemption"):
                preempts = False
        for each in settings.get("enabled") or ():
            name = str(each.get("name"))
            if point in ("multiPoint", "score") and name in _WEIGHTS:
                weights[name] = int(each.get("weight") or 1)
            if point in ("multiPoint", "filter") and name in _FILTERS:
                filters.add(name)
            if point in ("multiPoint", "postFilter") and name == "DefaultPreemption":
                preempts = True
    return replace(
        profile,
        weights=weights,
        filters=frozenset(filters),
        has_scores=any(_is_enabled(plugins, "score", name) for name in _SCORES),
        names_nodes=_is_enabled(plugins, "preFilter", "NodeAffinity"),
        preempts=preempts,
    )


def _is_enabled(plugins: Mapping[str, Any], point: str, name: str) -> bool:
    """Return whether a default plugin runs at an extension point that it implements."""
    for settings in (plugins.get(point) or {}, plugins.get("multiPoint") or {}):
        if any(each.get("name") == name for each in settings.get("enabled") or ()):
            return True
        if any(each.get("name") in (name, "*") for each in settings.get("disabled") or ()):
            return False
    return True


def _check_points(name: str, plugins: Mapping[str, Any]) -> None:
    """Raise `UnreadableError` if a plugin runs without the one before that prepares it, so that attempts fail."""
    for point, before, prepared in _PREPARED:
        for plugin in prepared:
            if _is_enabled(plugins, point, plugin) and not _is_enabled(plugins, before, plugin):
                raise UnreadableError(
                    f"KubeSchedulerConfiguration: profile `{name}` enables {plugin} for `{point}` without `{before}`; "
                    "kube-scheduler would fail to schedule its pods"
                )


def _with_arguments(profile: Profile, name: str, args: Mapping[str, Any]) -> Profile:
    match name:
        case "NodeResourcesFit":
            settings = args.get("scoringStrategy") or {}
            shape = (settings.get("requestedToCapacityRatio") or {}).get("shape") or ()
            return replace(
                profile,
                strategy=settings.get("type") or LEAST,
                resources=_weights(settings.get("resources")) or profile.resources,
                shape=tuple((int(point["utilization"]), int(point["score"])) for point in shape),
                ignored=frozenset((*(args.get("ignoredResources") or ()), *(args.get("ignoredResourceGroups") or ()))),
            )
        case "DefaultPreemption":
            return replace(
                profile,
                candidate_percentage=int(args.get("minCandidateNodesPercentage", 10)),
                candidates=int(args.get("minCandidateNodesAbsolute", 100)),
            )
        case "NodeResourcesBalancedAllocation":
            return replace(profile, balanced=_weights(args.get("resources")) or profile.balanced)
        case "PodTopologySpread":
            if args.get("defaultingType", "System") == "System":
                return profile
            return replace(profile, spread=tuple(args.get("defaultConstraints") or ()), is_system_spread=False)
        case "NodeAffinity":
            added = args.get("addedAffinity") or {}
            return replace(
                profile,
                added_terms=node_terms(added.get("requiredDuringSchedulingIgnoredDuringExecution")),
                added_preferences=preferred_nodes(added.get("preferredDuringSchedulingIgnoredDuringExecution")),
            )
        case "InterPodAffinity":
            return replace(
                profile,
                hard_affinity_weight=int(args.get("hardPodAffinityWeight", 1)),
                ignores_preferences=bool(args.get("ignorePreferredTermsOfExistingPods")),
            )
        case _:
            return profile


def _weights(written: Iterable[Mapping[str, Any]] | None) -> dict[str, int]:
    return {str(each["name"]): int(each.get("weight") or 1) for each in written or ()}
