"""Rules on a single ClusterQueue: validateClusterQueueSpec, CEL rules of the CRD, and fields without effect."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_api.kueue.names import API, LOWER_PRIORITY, NEVER, NEXT_FLAVOR, STRICT
from apportion_api.kueue.objects import ClusterQueue, Fungibility, Preemption, ResourceQuota
from apportion_api.objects import LabelSelector, read
from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engines.kueue.rules.field_validation import FieldVerdicts, quantity
from apportion_compiler.engines.kueue.rules.quotas import Rules, resource_group_verdicts, weight_verdicts
from apportion_compiler.kubernetes_names import is_label_key, is_label_value

_RECLAIM = ("Never", "LowerPriority", "Any")
_WITHIN = ("Never", "LowerPriority", "LowerOrNewerEqualPriority")
_BORROW = ("Never", "LowerPriority")
_STOP = ("None", "Hold", "HoldAndDrain")
_STRATEGIES = ("BestEffortFIFO", "StrictFIFO")
_PREFERENCES = ("BorrowingOverPreemption", "PreemptionOverBorrowing")
_SEARCH = ("TryNextFlavor", "MayStopSearch")
_OLD_SEARCH = ("TryNextFlavor", "MayStopSearch", "Borrow", "Preempt")
_MODES = ("TryPreferredFlavors", "RetainFirstAdmission")
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_MAX_IN_ALL = 256
_MAX_PAIRS = 512
_MAX_CONCURRENT = 16


def cluster_queue_verdicts(index: int, manifest: Manifest, stored: Manifest | None) -> Iterator[Verdict]:
    """Yield verdicts on a ClusterQueue, and on its update if it exists."""
    queue, before = read(ClusterQueue, manifest), None if stored is None else read(ClusterQueue, stored)
    about, newest = FieldVerdicts(index, queue.faults), manifest.get("apiVersion") == API
    rules = Rules("cohort", queue.parent is not None, lends_at_most_nominal=True)
    yield from resource_group_verdicts(about, queue.groups, rules)
    if queue.selector is not None:
        yield from _selector(about, queue.selector)
    yield from _preemption(about, queue.preemption)
    yield from _fungibility(about, queue.fungibility, newest=newest)
    yield from weight_verdicts(about, queue.weight)
    yield from _totals(about, queue)
    yield from _concurrent_admission(about, queue)
    yield from _on_flavors(about, queue, ClusterQueue() if before is None else before)
    yield from about.one_of(queue.strategy, "spec.queueingStrategy", _STRATEGIES)
    yield from about.one_of(queue.stop_policy, "spec.stopPolicy", _STOP)
    if before is not None and before.concurrent_admission != queue.concurrent_admission:
        yield about.rejected(
            "spec.concurrentAdmissionPolicy",
            "Invalid",
            "field is immutable",
            "create a new ClusterQueue with this value",
        )
    yield from _without_effect(about, queue, newest=newest)


def _selector(about: FieldVerdicts, selector: LabelSelector) -> Iterator[Verdict]:
    yield from about.bad_labels(selector.labels, "spec.namespaceSelector.matchLabels")
    for number, expression in enumerate(selector.expressions):
        at = f"spec.namespaceSelector.matchExpressions[{number}]"
        operator, values = expression.operator, expression.values
        if operator not in _OPERATORS:
            yield about.rejected(f"{at}.operator", "Invalid", "not a valid selector operator", "use In")
        elif operator in ("In", "NotIn") and not values:
            yield about.rejected(
                f"{at}.values", "Required", "must be specified when `operator` is 'In' or 'NotIn'", "set values"
            )
        elif operator in ("Exists", "DoesNotExist") and values:
            yield about.rejected(
                f"{at}.values", "Forbidden", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                "remove values",
            )  # fmt: skip
        if not is_label_key(expression.key):
            yield about.rejected(
                f"{at}.key", "Invalid", "is not a valid label key", "use a key such as example.com/name"
            )
        for place, value in enumerate(values):
            if not is_label_value(value):
                yield about.rejected(
                    f"{at}.values[{place}]",
                    "Invalid",
                    "is not a valid label value",
                    "use letters, digits, dashes, underscores and dots",
                )


def _preemption(about: FieldVerdicts, preemption: Preemption) -> Iterator[Verdict]:
    yield from about.one_of(preemption.reclaim, "spec.preemption.reclaimWithinCohort", _RECLAIM)
    yield from about.one_of(preemption.within_queue, "spec.preemption.withinClusterQueue", _WITHIN)
    yield from about.one_of(preemption.borrowing, "spec.preemption.borrowWithinCohort.policy", _BORROW)
    if preemption.reclaim == NEVER and preemption.borrowing != NEVER:
        yield about.rejected(
            "spec.preemption", "Invalid", "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never",
            "set reclaimWithinCohort: Any, or borrowWithinCohort.policy: Never",
        )  # fmt: skip


def _fungibility(about: FieldVerdicts, fungibility: Fungibility, *, newest: bool) -> Iterator[Verdict]:
    path, preference = "spec.flavorFungibility", fungibility.preference
    chosen = fungibility.when_can_borrow, fungibility.when_can_preempt
    for field, value in zip(("whenCanBorrow", "whenCanPreempt"), chosen, strict=True):
        yield from about.one_of(value, f"{path}.{field}", _SEARCH if newest else _OLD_SEARCH)
    yield from about.one_of(preference, f"{path}.preference", _PREFERENCES)
    if preference is not None and chosen != (NEXT_FLAVOR, NEXT_FLAVOR):
        yield about.rejected(
            f"{path}.preference",
            "Invalid",
            f'preference "{preference}" requires both whenCanBorrow and whenCanPreempt to be TryNextFlavor',
            "set whenCanBorrow and whenCanPreempt to TryNextFlavor, or remove preference",
        )


def _totals(about: FieldVerdicts, queue: ClusterQueue) -> Iterator[Verdict]:
    counts = {
        "flavors": len(queue.flavors),
        "covered resources": sum(len(group.resources) for group in queue.groups),
    }
    for what, count in counts.items():
        if count > _MAX_IN_ALL:
            yield about.rejected(
                "spec.resourceGroups",
                "Invalid",
                f"total number of {what} across all resourceGroups must be ≤ {_MAX_IN_ALL}, got {count}",
                "split the ClusterQueue",
            )
    for number, group in enumerate(queue.groups):
        pairs = sum(len(flavor.resources) for flavor in group.flavors)
        if pairs > _MAX_PAIRS:
            yield about.rejected(
                f"spec.resourceGroups[{number}]",
                "Invalid",
                f"number of flavor-resource combinations in a resourceGroup must be ≤ {_MAX_PAIRS}, got {pairs}",
                "split the ClusterQueue",
            )


def _concurrent_admission(about: FieldVerdicts, queue: ClusterQueue) -> Iterator[Verdict]:
    policy, path = queue.concurrent_admission, "spec.concurrentAdmissionPolicy.migration"
    if policy is None:
        return
    if len(queue.groups) != 1:
        yield about.rejected(
            "spec.resourceGroups", "Invalid",
            "must have exactly one ResourceGroup when ConcurrentAdmissionPolicy is defined",
            "use one resource group, or remove concurrentAdmissionPolicy",
        )  # fmt: skip
    elif len(queue.flavors) > _MAX_CONCURRENT:
        yield about.rejected(
            "spec.resourceGroups[0].flavors", "Invalid",
            f"cannot have more than {_MAX_CONCURRENT} resource flavors in the ResourceGroup when "
            "ConcurrentAdmissionPolicy is defined",
            f"keep {_MAX_CONCURRENT} flavors",
        )  # fmt: skip
    mode, allowed = policy.mode, queue.flavors
    yield from about.one_of(mode, f"{path}.mode", _MODES)
    if policy.constraints is not None:
        last = policy.constraints.last_flavor
        if mode and mode != _MODES[0]:
            yield about.rejected(
                f"{path}.constraints", "Forbidden",
                f'may only be set when migration.mode is "{_MODES[0]}" (got "{mode}")', f"set mode: {_MODES[0]}",
            )  # fmt: skip
        elif last is not None and last not in allowed:
            yield about.rejected(
                f"{path}.constraints.lastAcceptableFlavorName", "Invalid",
                f"must be one of the flavors defined in the ClusterQueue: [{' '.join(allowed)}]", f"use one of {', '.join(allowed)}",
            )  # fmt: skip
    if queue.strategy == STRICT:
        yield about.rejected(
            "spec.queueingStrategy", "Invalid",
            "StrictFIFO queueing strategy cannot be used when ConcurrentAdmissionPolicy is defined",
            "use BestEffortFIFO",
        )  # fmt: skip


def _on_flavors(about: FieldVerdicts, queue: ClusterQueue, before: ClusterQueue) -> Iterator[Verdict]:
    """Yield verdicts on checks for flavors without a quota; an unchanged existing one is accepted."""
    flavors = queue.flavors
    is_same = set(flavors) == set(before.flavors)
    spared = {check.name: set(check.flavors) for check in before.checks} if is_same else {}
    for number, check in enumerate(queue.checks):
        if check.flavors and spared.get(check.name) == set(check.flavors):
            continue
        for place, flavor in enumerate(check.flavors):
            if flavor not in flavors:
                yield about.rejected(
                    f"spec.admissionChecksStrategy.admissionChecks[{number}].onFlavors[{place}]",
                    "NotSupported",
                    f'"{flavor}" is not supported; supported flavors: {", ".join(sorted(flavors)) or "none"}',
                    f"add a quota for {flavor}, or remove {flavor} from onFlavors",
                )


def _without_effect(about: FieldVerdicts, queue: ClusterQueue, *, newest: bool) -> Iterator[Verdict]:
    if queue.selector is None:
        yield about.ignored(
            "spec.namespaceSelector", "Required", "without namespaceSelector, the ClusterQueue admits no workloads",
            "select the namespaces, or set {} to select all of them",
        )  # fmt: skip
    if newest:
        for field, former, now in (
            ("cohort", queue.former_cohort, "cohortName"),
            ("admissionChecks", queue.former_checks, "admissionChecksStrategy.admissionChecks"),
        ):
            if former:
                yield about.ignored(f"spec.{field}", "Invalid", f"v1beta2 has no field {field}", f"use {now}")
    preemption = queue.preemption
    if (
        preemption.reclaim == NEVER
        and queue.parent is not None
        and any(_is_lent(quota) for _, _, quota in queue.quotas())
    ):
        yield about.ignored(
            "spec.preemption.reclaimWithinCohort", "Invalid",
            "with Never, nominal quota borrowed by other queues is not reclaimed for this queue",
            "set reclaimWithinCohort: Any",
        )  # fmt: skip
    lower, weight = preemption.borrowing == LOWER_PRIORITY, quantity(queue.weight)
    if lower and weight is not None and weight != 1:
        yield about.ignored(
            "spec.preemption.borrowWithinCohort", "Invalid", "the weight requires fair sharing, which does not support "
            "borrowWithinCohort",
            "remove borrowWithinCohort or the weight",
        )  # fmt: skip
    if preemption.threshold is not None and not lower:
        yield about.ignored(
            "spec.preemption.borrowWithinCohort.maxPriorityThreshold", "Invalid",
            "the threshold has no effect with policy Never",
            "set policy: LowerPriority",
        )  # fmt: skip


def _is_lent(quota: ResourceQuota) -> bool:
    """Return whether a nominal quota is lent: it is not 0, and its lending limit is not 0."""
    return bool(quantity(quota.nominal)) and quantity(quota.lending_limit) != 0
