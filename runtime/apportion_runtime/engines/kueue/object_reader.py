"""Reads Kueue's objects and its manager's configuration, v1beta2 and v1beta1."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from apportion_runtime.admission.objects import kind_of, name_of, namespace_of, nested
from apportion_runtime.core.plugins.predicates import matches
from apportion_runtime.engines.kueue.api_names import CONFIGURATION, CONFIGURATION_GROUP, PROVISIONING
from apportion_runtime.engines.kueue.pod_sets import FRAMEWORKS, POD_FRAMEWORKS, ResourceTransformations
from apportion_runtime.engines.kueue.quota_tree import UNLIMITED, FlavorResource, Node, Quota
from apportion_runtime.engines.kueue.records import (
    BEST_EFFORT,
    NEVER,
    STRATEGIES,
    Check,
    Flavor,
    Fungibility,
    Group,
    Preemption,
    Queue,
)
from apportion_runtime.engines.kueue.scheduling_cycle import Rules
from apportion_runtime.engines.kueue.usage_tree import cohort_name
from apportion_runtime.sim.api.pod_requests import amount
from apportion_runtime.sim.scenario.format import Manifest
from apportion_runtime.snapshots.faults import IGNORED_VALUE, Fault
from apportion_runtime.snapshots.kubernetes.terms import label_selector
from apportion_runtime.snapshots.quantities import NANO, parse_duration, parse_quantity

List = Callable[[str], Sequence[Manifest]]
_NEXT = "TryNextFlavor"
_KNOWN = {**FRAMEWORKS, **POD_FRAMEWORKS}
_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True)
class PodsReady:
    """`waitForPodsReady`: how long released pods may take, and how work that took longer comes back."""

    timeout_s: float = 300.0
    base_s: float = 60.0
    most_s: float = 3600.0
    limit: int | None = None
    by_eviction: bool = True
    recovery_s: float | None = None
    """How long a pod that was lost may take to be ready again; None is for ever."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The manager's configuration, as far as it decides anything here. `namespaces` None is every namespace."""

    strategies: Sequence[str] | None = None
    counting: ResourceTransformations = field(default_factory=ResourceTransformations)
    kinds: frozenset[tuple[str, str]] = frozenset(_KNOWN.values())
    manages_unnamed: bool = False
    namespaces: Mapping[str, Any] | None = None
    pods_ready: PodsReady | None = None


@dataclass(frozen=True, slots=True)
class Provisioning:
    """A ProvisioningRequestConfig; `selectors` are keys of node labels and the detail of the class that has the value."""

    provisioning_class: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    managed: tuple[str, ...] = ()
    merges: str = ""
    limit: int = 3
    base_s: int = 60
    most_s: int = 1800
    selectors: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Configured:
    """Everything that Kueue was told.

    Attributes:
        local_queues: By namespace and name the ClusterQueue.
        provisioning: By check how its requests are made; None is a check of another controller.
        classes: By WorkloadPriorityClass its value.
    """

    rules: Rules
    settings: Settings
    local_queues: Mapping[tuple[str, str], str]
    provisioning: Mapping[str, Provisioning | None]
    classes: Mapping[str, int]
    parents: Mapping[str, str | None]


def read(objects: List) -> Configured:
    """Return what the objects of a cluster say. Raises `ValueError` for an object that cannot be read."""
    settings = _settings(objects(CONFIGURATION))
    flavors = {name_of(made): _flavor(made) for made in objects("ResourceFlavor")}
    provisioning = dict(_checks(objects))
    queues = {
        name_of(made): _named(made, lambda made: _queue(made, flavors, provisioning))
        for made in objects("ClusterQueue")
    }
    cohorts = [_named(made, _cohort) for made in objects("Cohort")]
    return Configured(
        Rules(queues, cohorts, flavors, settings.strategies),
        settings,
        {(namespace_of(made), name_of(made)): str(nested(made, "spec", "clusterQueue")) for made in _open(objects)},
        provisioning,
        {name_of(made): int(made.get("value") or 0) for made in objects("WorkloadPriorityClass")},
        _parents(queues, cohorts),
    )


def _named(made: Manifest, reader: Callable[[Manifest], _Read]) -> _Read:
    """Read an object; what is wrong with it is said with its name."""
    try:
        return reader(made)
    except (KeyError, TypeError, AttributeError) as wrong:
        raise ValueError(f"{made['kind']} {name_of(made)}: it is not of the form that its kind has ({wrong})") from None
    except ValueError as wrong:
        raise ValueError(f"{made['kind']} {name_of(made)}: {wrong}") from None


def _open(objects: List) -> Iterator[Manifest]:
    for made in objects("LocalQueue"):
        if nested(made, "spec", "stopPolicy") in (None, "None"):
            yield made


def _parents(queues: Mapping[str, Queue], cohorts: Sequence[Node]) -> dict[str, str | None]:
    """Return the tree for the history; a cohort that is named like a queue says that it is a cohort."""
    plain = cohort_name("")

    def shown(name: str | None) -> str | None:
        if name is None:
            return None
        bare = name.removeprefix(plain)
        return name if bare in queues else bare

    found = {str(shown(cohort.name)): shown(cohort.parent) for cohort in cohorts}
    for queue in queues.values():
        parent = None if queue.cohort is None else shown(cohort_name(queue.cohort))
        found[queue.name] = parent
    for parent in [parent for parent in found.values() if parent is not None]:
        found.setdefault(parent, None)
    return found


def _flavor(made: Manifest) -> Flavor:
    spec = made.get("spec") or {}
    return Flavor(
        name_of(made),
        {key: str(value) for key, value in (spec.get("nodeLabels") or {}).items()},
        tuple(spec.get("nodeTaints") or ()),
        tuple(spec.get("tolerations") or ()),
    )


def _groups(
    spec: Manifest,
) -> tuple[tuple[Group, ...], dict[FlavorResource, Quota]]:
    groups: list[Group] = []
    quotas: dict[FlavorResource, Quota] = {}
    for group in spec.get("resourceGroups") or ():
        flavors = group.get("flavors") or ()
        groups.append(Group(tuple(group.get("coveredResources") or ()), tuple(each["name"] for each in flavors)))
        for flavor in flavors:
            for quota in flavor.get("resources") or ():
                quotas[flavor["name"], quota["name"]] = Quota(
                    _bounded(quota["name"], quota.get("nominalQuota", 0)),
                    _limit(quota, "borrowingLimit"),
                    _limit(quota, "lendingLimit"),
                )
    return tuple(groups), quotas


def _bounded(resource: str, written: str | float) -> int:
    # The engine takes an amount beyond its integers for one without bounds.
    return min(amount(resource, written), UNLIMITED)


def _limit(quota: Mapping[str, Any], key: str) -> int | None:
    return None if quota.get(key) is None else _bounded(quota["name"], quota[key])


def _weight(spec: Manifest) -> float:
    said = nested(spec, "fairSharing", "weight")
    return 1.0 if said is None else parse_quantity(said) / NANO


def _cohort(made: Manifest) -> Node:
    spec = made.get("spec") or {}
    parent = spec.get("parentName") or spec.get("parent")
    _, quotas = _groups(spec)
    return Node(
        cohort_name(name_of(made)), cohort_name(parent) if parent else None, quotas, _weight(spec), is_cohort=True
    )


def _queue(made: Manifest, flavors: Mapping[str, Flavor], provisioning: Mapping[str, Provisioning | None]) -> Queue:
    spec = made.get("spec") or {}
    groups, quotas = _groups(spec)
    checks = tuple(_named_checks(spec))
    preemption, fungibility = spec.get("preemption") or {}, spec.get("flavorFungibility") or {}
    borrowing = preemption.get("borrowWithinCohort") or {}
    stopped = str(spec.get("stopPolicy") or "None")
    return Queue(
        name_of(made),
        spec.get("cohortName") or spec.get("cohort") or None,
        groups,
        quotas,
        _weight(spec),
        Preemption(
            preemption.get("withinClusterQueue") or NEVER,
            preemption.get("reclaimWithinCohort") or NEVER,
            borrowing.get("policy") or NEVER,
            borrowing.get("maxPriorityThreshold"),
        ),
        Fungibility(
            fungibility.get("whenCanBorrow") == _NEXT,
            fungibility.get("whenCanPreempt", _NEXT) == _NEXT,
            fungibility.get("preference") == "PreemptionOverBorrowing",
        ),
        spec.get("queueingStrategy") or BEST_EFFORT,
        checks,
        spec.get("namespaceSelector"),
        stopped,
        _inactive(groups, checks, flavors, provisioning, stopped),
    )


def _named_checks(spec: Manifest) -> Iterator[Check]:
    for each in nested(spec, "admissionChecksStrategy", "admissionChecks") or ():
        yield Check(each["name"], frozenset(each.get("onFlavors") or ()))
    for name in spec.get("admissionChecks") or ():
        yield Check(name)


def _inactive(
    groups: Sequence[Group],
    checks: Sequence[Check],
    flavors: Mapping[str, Flavor],
    provisioning: Mapping[str, Provisioning | None],
    stopped: str,
) -> str:
    reasons: list[str] = []
    if stopped != "None":
        reasons.append("is stopped")
    missing = sorted({name for group in groups for name in group.flavors if name not in flavors})
    if missing:
        reasons.append(f"references missing ResourceFlavor(s): {', '.join(missing)}")
    unknown = sorted(check.name for check in checks if check.name not in provisioning)
    if unknown:
        reasons.append(f"references missing or inactive AdmissionCheck(s): {', '.join(unknown)}")
    return f"Can't admit new workloads: {', '.join(reasons)}." if reasons else ""


def _checks(objects: List) -> Iterator[tuple[str, Provisioning | None]]:
    """Yield the checks that are active."""
    configs = {name_of(made): made.get("spec") or {} for made in objects("ProvisioningRequestConfig")}
    for made in objects("AdmissionCheck"):
        if nested(made, "spec", "controllerName") != PROVISIONING:
            yield name_of(made), None
            continue
        config = configs.get(str(nested(made, "spec", "parameters", "name")))
        if config is not None:
            yield name_of(made), _provisioning(config)


def _provisioning(spec: Manifest) -> Provisioning:
    retry, known = spec.get("retryStrategy") or {}, Provisioning("")
    selectors = nested(spec, "podSetUpdates", "nodeSelector") or ()
    return Provisioning(
        str(spec.get("provisioningClassName")),
        {key: str(value) for key, value in (spec.get("parameters") or {}).items()},
        tuple(spec.get("managedResources") or ()),
        str(spec.get("podSetMergePolicy") or ""),
        int(retry.get("backoffLimitCount", known.limit)),
        int(retry.get("backoffBaseSeconds", known.base_s)),
        int(retry.get("backoffMaxSeconds", known.most_s)),
        tuple((each["key"], each["valueFromProvisioningClassDetail"]) for each in selectors),
    )


def _settings(configurations: Sequence[Manifest]) -> Settings:
    made = next((made for made in configurations if kind_of(made)[0] == CONFIGURATION_GROUP), None)
    if made is None:
        return Settings()
    sharing, ready = _part(made, "fairSharing"), _part(made, "waitForPodsReady")
    frameworks = nested(made, "integrations", "frameworks")
    return Settings(
        strategies=None if sharing is None else tuple(sharing.get("preemptionStrategies") or STRATEGIES),
        counting=_counting(made.get("resources") or {}),
        kinds=frozenset(_KNOWN[name] for name in frameworks or _KNOWN if name in _KNOWN),
        manages_unnamed=bool(made.get("manageJobsWithoutQueueName")),
        namespaces=made.get("managedJobsNamespaceSelector"),
        pods_ready=None if ready is None else _pods_ready(ready),
    )


def _part(made: Manifest, key: str) -> Manifest | None:
    """Return a part of the configuration if it is on: v1beta1 says so, later versions by having it."""
    part: Manifest | None = made.get(key)
    is_old = str(made.get("apiVersion")).endswith("/v1beta1")
    return part if part is not None and (not is_old or part.get("enable")) else None


def _counting(resources: Manifest) -> ResourceTransformations:
    return ResourceTransformations(
        tuple(resources.get("excludeResourcePrefixes") or ()),
        {
            each["input"]: (
                each.get("strategy", "Retain") == "Retain",
                {name: str(value) for name, value in (each.get("outputs") or {}).items()},
            )
            for each in resources.get("transformations") or ()
        },
    )


def _pods_ready(made: Manifest) -> PodsReady:
    strategy, known = made.get("requeuingStrategy") or {}, PodsReady()
    limit = strategy.get("backoffLimitCount")
    timeout_s = known.timeout_s if made.get("timeout") is None else parse_duration(str(made["timeout"]))
    recovery_s = timeout_s if made.get("recoveryTimeout") is None else parse_duration(str(made["recoveryTimeout"]))
    return PodsReady(
        timeout_s,
        float(strategy.get("backoffBaseSeconds", known.base_s)),
        float(strategy.get("backoffMaxSeconds", known.most_s)),
        None if limit is None else int(limit),
        strategy.get("timestamp", "Eviction") == "Eviction",
        recovery_s or None,
    )


def selects(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """Tell whether a label selector chooses something with labels; none chooses nothing, an empty one everything."""
    terms = label_selector(selector)
    return terms is not None and all(matches(term, labels) for term in terms)


def unmodelled(objects: List) -> Iterator[Fault]:
    """Yield what the objects say and nothing here heeds."""
    for made in objects("ResourceFlavor"):
        if nested(made, "spec", "topologyName"):
            yield _passed_over(made, "its topology is ignored: pods are placed as if it had none")
    for made in objects("AdmissionCheck"):
        said = nested(made, "spec", "controllerName")
        if said != PROVISIONING:
            yield _passed_over(made, f"its controller {said} is not simulated: work that needs it stays pending")
    for made in objects(CONFIGURATION):
        if nested(made, "waitForPodsReady", "blockAdmission"):
            yield _passed_over(made, "waitForPodsReady.blockAdmission is ignored: work is admitted side by side")
        if nested(made, "admissionFairSharing"):
            yield _passed_over(made, "admissionFairSharing is ignored: past usage does not count")
        if nested(made, "featureGates"):
            gates = ", ".join(sorted(nested(made, "featureGates")))
            yield _passed_over(made, f"featureGates are ignored: {gates}")
    for made in objects("ClusterQueue"):
        if nested(made, "spec", "admissionScope"):
            yield _passed_over(made, "admissionScope is ignored: past usage does not count")
        if nested(made, "spec", "concurrentAdmissionPolicy"):
            yield _passed_over(made, "concurrentAdmissionPolicy is ignored: work is tried on one flavor at a time")


def _passed_over(made: Manifest, message: str) -> Fault:
    return Fault(IGNORED_VALUE, f"{str(made['kind']).lower()} {name_of(made)}", message, "reckon with it")
