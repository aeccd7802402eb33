"""Reads Kueue's objects and its manager's configuration, v1beta2 and v1beta1."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from apportion_api.fields import Written
from apportion_api.kueue.configuration import Configuration, WaitForPodsReady
from apportion_api.kueue.names import CONFIGURATION, NOT_STOPPED, PROVISIONING_CONTROLLER
from apportion_api.kueue.objects import (
    AdmissionCheck,
    ClusterQueue,
    Cohort,
    LocalQueue,
    ProvisioningRequestConfig,
    QuotaHolder,
    ResourceFlavor,
    WorkloadPriorityClass,
)
from apportion_api.objects import ApiObject, LabelSelector, read_all
from apportion_api.objects import read as read_object
from apportion_runtime.admission.objects import name_of, nested
from apportion_runtime.core.label_requirements import matches
from apportion_runtime.core.pod_constraints import Expression
from apportion_runtime.engines.kueue.pod_sets import FRAMEWORKS, POD_FRAMEWORKS, ResourceTransformations
from apportion_runtime.engines.kueue.quota_tree import UNLIMITED, FlavorResource, Node, Quota
from apportion_runtime.engines.kueue.records import STRATEGIES, Queue
from apportion_runtime.engines.kueue.scheduling_cycle import Rules
from apportion_runtime.engines.kueue.usage_tree import cohort_name
from apportion_runtime.sim.scenario.format import Manifest
from apportion_runtime.snapshots.faults import IGNORED_VALUE, Fault
from apportion_runtime.snapshots.pod_requests import amount
from apportion_runtime.snapshots.quantities import NANO, parse_duration, parse_quantity

List = Callable[[str], Sequence[Manifest]]
_KNOWN = {**FRAMEWORKS, **POD_FRAMEWORKS}
_Object = TypeVar("_Object", bound=ApiObject)


@dataclass(frozen=True, slots=True)
class PodsReady:
    """`waitForPodsReady`: the timeout of admitted workloads, and how they are requeued."""

    timeout_s: float = 300.0
    base_s: float = 60.0
    most_s: float = 3600.0
    limit: int | None = None
    by_eviction: bool = True
    recovery_s: float | None = None
    """The recovery timeout of a lost pod; None is unlimited."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The part of the manager's configuration that is simulated. `namespaces` None selects all namespaces."""

    strategies: Sequence[str] | None = None
    counting: ResourceTransformations = field(default_factory=ResourceTransformations)
    kinds: frozenset[tuple[str, str]] = frozenset(_KNOWN.values())
    manages_unnamed: bool = False
    namespaces: LabelSelector | None = None
    pods_ready: PodsReady | None = None


@dataclass(frozen=True, slots=True)
class Configured:
    """The configuration of Kueue from its objects.

    Attributes:
        local_queues: The ClusterQueue of each LocalQueue, by namespace and name.
        provisioning: The ProvisioningRequestConfig of each check; None for checks of other controllers.
        classes: The value of each WorkloadPriorityClass.
    """

    rules: Rules
    settings: Settings
    local_queues: Mapping[tuple[str, str], str]
    provisioning: Mapping[str, ProvisioningRequestConfig | None]
    classes: Mapping[str, int]
    parents: Mapping[str, str | None]


def read(objects: List) -> Configured:
    """Return the configuration from the objects of a cluster. Raises `ValueError` for an invalid object."""
    settings = _settings(objects(CONFIGURATION))
    flavors = {flavor.name: flavor for flavor in _all(ResourceFlavor, objects)}
    provisioning = dict(_checks(objects))
    queues = {made.name: _queue(made, flavors, provisioning) for made in _all(ClusterQueue, objects)}
    cohorts = [_cohort(made) for made in _all(Cohort, objects)]
    return Configured(
        Rules(queues, cohorts, flavors, settings.strategies),
        settings,
        {
            (made.namespace, made.name): str(made.cluster_queue)
            for made in _all(LocalQueue, objects)
            if made.stop_policy == NOT_STOPPED
        },
        provisioning,
        {made.name: made.value or 0 for made in _all(WorkloadPriorityClass, objects)},
        _parents(queues, cohorts),
    )


def _all(form: type[_Object], objects: List) -> list[_Object]:
    return [read_object(form, made) for made in objects(form.__name__)]


def _parents(queues: Mapping[str, Queue], cohorts: Sequence[Node]) -> dict[str, str | None]:
    """Return the tree for the history; a cohort with the name of a queue is marked as a cohort."""
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


def _quotas(holder: QuotaHolder) -> dict[FlavorResource, Quota]:
    if holder.faults:
        raise ValueError(f"{holder}: {holder.faults[0]}")
    quotas: dict[FlavorResource, Quota] = {}
    for _, flavor, quota in holder.quotas():
        try:
            quotas[flavor, quota.resource] = Quota(
                _bounded(quota.resource, quota.nominal) or 0,
                _bounded(quota.resource, quota.borrowing_limit),
                _bounded(quota.resource, quota.lending_limit),
            )
        except ValueError as wrong:
            raise ValueError(f"{holder}: {wrong}") from None
    return quotas


def _bounded(resource: str, written: Written | None) -> int | None:
    # The engine treats an amount beyond its integer range as unlimited.
    return None if written is None else min(amount(resource, written), UNLIMITED)


def _weight(holder: QuotaHolder) -> float:
    return 1.0 if holder.weight is None else parse_quantity(holder.weight) / NANO


def _cohort(made: Cohort) -> Node:
    parent = None if made.parent is None else cohort_name(made.parent)
    return Node(cohort_name(made.name), parent, _quotas(made), _weight(made), is_cohort=True)


def _queue(made: ClusterQueue, flavors: Container[str], provisioning: Container[str]) -> Queue:
    return Queue(
        made.name,
        made.parent,
        made.groups,
        _quotas(made),
        _weight(made),
        made.preemption,
        made.fungibility,
        made.strategy,
        made.all_checks,
        made.selector,
        _inactive(made, flavors, provisioning),
    )


def _inactive(made: ClusterQueue, flavors: Container[str], provisioning: Container[str]) -> str:
    reasons: list[str] = []
    if made.stop_policy != NOT_STOPPED:
        reasons.append("is stopped")
    missing = sorted({name for name in made.flavors if name not in flavors})
    if missing:
        reasons.append(f"references missing ResourceFlavor(s): {', '.join(missing)}")
    unknown = sorted(check.name for check in made.all_checks if check.name not in provisioning)
    if unknown:
        reasons.append(f"references missing or inactive AdmissionCheck(s): {', '.join(unknown)}")
    return f"Can't admit new workloads: {', '.join(reasons)}." if reasons else ""


def _checks(objects: List) -> Iterator[tuple[str, ProvisioningRequestConfig | None]]:
    """Yield the checks that are active."""
    configs = {config.name: config for config in _all(ProvisioningRequestConfig, objects)}
    for check in _all(AdmissionCheck, objects):
        if check.controller != PROVISIONING_CONTROLLER:
            yield check.name, None
        elif check.parameters in configs:
            yield check.name, configs[check.parameters]


def _settings(configurations: Sequence[Manifest]) -> Settings:
    made = next(iter(read_all(Configuration, configurations)), None)
    if made is None:
        return Settings()
    sharing, ready = made.fair_sharing, made.pods_ready
    return Settings(
        strategies=sharing.strategies or STRATEGIES if sharing is not None and made.is_on(sharing) else None,
        counting=ResourceTransformations(
            made.excluded_prefixes,
            {each.resource: (each.strategy == "Retain", each.outputs) for each in made.transformations},
        ),
        kinds=frozenset(_KNOWN[name] for name in made.frameworks or _KNOWN if name in _KNOWN),
        manages_unnamed=bool(made.manages_unnamed),
        namespaces=made.namespaces,
        pods_ready=_pods_ready(ready) if ready is not None and made.is_on(ready) else None,
    )


def _pods_ready(made: WaitForPodsReady) -> PodsReady:
    requeuing, known = made.requeuing, PodsReady()
    timeout_s = known.timeout_s if made.timeout is None else parse_duration(made.timeout)
    recovery_s = timeout_s if made.recovery_timeout is None else parse_duration(made.recovery_timeout)
    return PodsReady(
        timeout_s,
        known.base_s if requeuing.base_s is None else float(requeuing.base_s),
        known.most_s if requeuing.max_s is None else float(requeuing.max_s),
        requeuing.limit,
        requeuing.timestamp == "Eviction",
        recovery_s or None,
    )


def selects(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """Return whether a label selector matches labels; None matches nothing, an empty one everything."""
    if selector is None or any(labels.get(key) != value for key, value in selector.labels.items()):
        return False
    return all(matches(Expression(each.key, each.operator, each.values), labels) for each in selector.expressions)


def unmodelled(objects: List) -> Iterator[Fault]:
    """Yield a fault for each setting of the objects that is not simulated."""
    for made in objects("ResourceFlavor"):
        if nested(made, "spec", "topologyName"):
            yield _not_simulated(made, "spec.topologyName is not simulated: pods are placed without topology awareness")
    for made in objects("AdmissionCheck"):
        controller = nested(made, "spec", "controllerName")
        if controller != PROVISIONING_CONTROLLER:
            yield _not_simulated(
                made, f"its controller {controller} is not simulated: workloads that require this check stay pending"
            )
    for made in objects(CONFIGURATION):
        if nested(made, "waitForPodsReady", "blockAdmission"):
            yield _not_simulated(
                made,
                "waitForPodsReady.blockAdmission is not simulated: workloads are admitted without waiting for the pods of other workloads",
            )
        if nested(made, "admissionFairSharing"):
            yield _not_simulated(made, "admissionFairSharing is not simulated: past usage has no effect")
        if nested(made, "featureGates"):
            gates = ", ".join(sorted(nested(made, "featureGates")))
            yield _not_simulated(made, f"featureGates are not simulated: {gates}")
    for made in objects("ClusterQueue"):
        if nested(made, "spec", "admissionScope"):
            yield _not_simulated(made, "admissionScope is not simulated: past usage has no effect")
        if nested(made, "spec", "concurrentAdmissionPolicy"):
            yield _not_simulated(
                made, "concurrentAdmissionPolicy is not simulated: a workload is tried on one flavor at a time"
            )


def _not_simulated(made: Manifest, message: str) -> Fault:
    return Fault(
        IGNORED_VALUE,
        f"{str(made['kind']).lower()} {name_of(made)}",
        message,
        "remove the setting, or expect the cluster to decide differently",
    )
