"""ClusterQueue by itself: validateClusterQueueSpec, the rules in its definition, and what it says without effect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engines.kueue.names import API, cohort_of
from apportion_compiler.engines.kueue.rules.field_validation import FieldVerdicts, quantity
from apportion_compiler.engines.kueue.rules.quotas import Rules, flavors_of, resource_group_verdicts, weight_verdicts
from apportion_compiler.kubernetes_names import is_label_key, is_label_value
from apportion_compiler.plain_objects import integer, items, mapping, text

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
    """Yield verdicts on a ClusterQueue, and on its change where it is stored already."""
    about, spec = FieldVerdicts(index), mapping(manifest, "spec")
    newest = manifest.get("apiVersion") == API
    rules = Rules("cohort", cohort_of(spec) is not None, lends_at_most_nominal=True)
    yield from resource_group_verdicts(about, spec, rules)
    yield from _selector(about, spec)
    yield from _preemption(about, mapping(spec, "preemption"))
    yield from _fungibility(about, mapping(spec, "flavorFungibility"), newest=newest)
    yield from weight_verdicts(about, spec)
    yield from _totals(about, spec)
    yield from _concurrent_admission(about, spec)
    yield from _on_flavors(about, spec, {} if stored is None else mapping(stored, "spec"))
    yield from about.one_of(spec.get("queueingStrategy"), "spec.queueingStrategy", _STRATEGIES)
    yield from about.one_of(spec.get("stopPolicy"), "spec.stopPolicy", _STOP)
    before = None if stored is None else mapping(stored, "spec").get("concurrentAdmissionPolicy")
    if stored is not None and before != spec.get("concurrentAdmissionPolicy"):
        yield about.rejected(
            "spec.concurrentAdmissionPolicy", "Invalid", "field is immutable", "make another ClusterQueue with it"
        )
    yield from _without_effect(about, spec, newest=newest)


def _selector(about: FieldVerdicts, spec: Mapping[str, object]) -> Iterator[Verdict]:
    selector = mapping(spec, "namespaceSelector")
    yield from about.bad_labels(mapping(selector, "matchLabels"), "spec.namespaceSelector.matchLabels")
    for number, expression in enumerate(items(selector, "matchExpressions")):
        at = f"spec.namespaceSelector.matchExpressions[{number}]"
        operator, values = text(expression, "operator"), items(expression, "values")
        if operator not in _OPERATORS:
            yield about.rejected(f"{at}.operator", "Invalid", "not a valid selector operator", "write In")
        elif operator in ("In", "NotIn") and not values:
            yield about.rejected(
                f"{at}.values", "Required", "must be specified when `operator` is 'In' or 'NotIn'", "name the values"
            )
        elif operator in ("Exists", "DoesNotExist") and values:
            yield about.rejected(
                f"{at}.values", "Forbidden", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                "leave values out",
            )  # fmt: skip
        if not is_label_key(text(expression, "key") or ""):
            yield about.rejected(f"{at}.key", "Invalid", "is not a label key", "write prefix.example.com/name")
        for place, value in enumerate(values):
            if not is_label_value(str(value)):
                yield about.rejected(
                    f"{at}.values[{place}]", "Invalid", "is not a label value", "write a label's value"
                )


def _preemption(about: FieldVerdicts, preemption: Mapping[str, object]) -> Iterator[Verdict]:
    reclaim = preemption.get("reclaimWithinCohort")
    borrow = mapping(preemption, "borrowWithinCohort").get("policy")
    yield from about.one_of(reclaim, "spec.preemption.reclaimWithinCohort", _RECLAIM)
    yield from about.one_of(preemption.get("withinClusterQueue"), "spec.preemption.withinClusterQueue", _WITHIN)
    yield from about.one_of(borrow, "spec.preemption.borrowWithinCohort.policy", _BORROW)
    # The API server fills what is left out with Never.
    if (reclaim or "Never") == "Never" and (borrow or "Never") != "Never":
        yield about.rejected(
            "spec.preemption", "Invalid", "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never",
            "write reclaimWithinCohort: Any, or borrowWithinCohort.policy: Never",
        )  # fmt: skip


def _fungibility(about: FieldVerdicts, fungibility: Mapping[str, object], *, newest: bool) -> Iterator[Verdict]:
    path = "spec.flavorFungibility"
    chosen = [fungibility.get(field) for field in ("whenCanBorrow", "whenCanPreempt")]
    for field, value in zip(("whenCanBorrow", "whenCanPreempt"), chosen, strict=True):
        yield from about.one_of(value, f"{path}.{field}", _SEARCH if newest else _OLD_SEARCH)
    preference = fungibility.get("preference")
    yield from about.one_of(preference, f"{path}.preference", _PREFERENCES)
    # Of the two, only whenCanPreempt is TryNextFlavor where it is left out.
    if preference is not None and (chosen[0] != "TryNextFlavor" or (chosen[1] or "TryNextFlavor") != "TryNextFlavor"):
        yield about.rejected(
            f"{path}.preference",
            "Invalid",
            f'preference "{preference}" requires both whenCanBorrow and whenCanPreempt to be TryNextFlavor',
            "write TryNextFlavor for both, or leave preference out",
        )


def _totals(about: FieldVerdicts, spec: Mapping[str, object]) -> Iterator[Verdict]:
    groups = items(spec, "resourceGroups")
    counts = {
        "flavors": sum(len(items(group, "flavors")) for group in groups),
        "covered resources": sum(len(items(group, "coveredResources")) for group in groups),
    }
    for what, count in counts.items():
        if count > _MAX_IN_ALL:
            yield about.rejected(
                "spec.resourceGroups",
                "Invalid",
                f"total number of {what} across all resourceGroups must be ≤ {_MAX_IN_ALL}, got {count}",
                "divide the ClusterQueue",
            )
    for number, group in enumerate(groups):
        pairs = sum(len(items(flavor, "resources")) for flavor in items(group, "flavors"))
        if pairs > _MAX_PAIRS:
            yield about.rejected(
                f"spec.resourceGroups[{number}]",
                "Invalid",
                f"number of flavor-resource combinations in a resourceGroup must be ≤ {_MAX_PAIRS}, got {pairs}",
                "divide the ClusterQueue",
            )


def _concurrent_admission(about: FieldVerdicts, spec: Mapping[str, object]) -> Iterator[Verdict]:
    policy = spec.get("concurrentAdmissionPolicy")
    if not isinstance(policy, Mapping):
        return
    path, groups = "spec.concurrentAdmissionPolicy.migration", items(spec, "resourceGroups")
    if len(groups) != 1:
        yield about.rejected(
            "spec.resourceGroups", "Invalid",
            "must have exactly one ResourceGroup when ConcurrentAdmissionPolicy is defined",
            "write one resource group, or leave concurrentAdmissionPolicy out",
        )  # fmt: skip
    elif len(items(groups[0], "flavors")) > _MAX_CONCURRENT:
        yield about.rejected(
            "spec.resourceGroups[0].flavors", "Invalid",
            f"cannot have more than {_MAX_CONCURRENT} resource flavors in the ResourceGroup when "
            "ConcurrentAdmissionPolicy is defined",
            f"keep {_MAX_CONCURRENT} flavors",
        )  # fmt: skip
    migration = mapping(policy, "migration")
    mode = migration.get("mode")
    yield from about.one_of(mode, f"{path}.mode", _MODES)
    if migration.get("constraints") is not None:
        last = text(migration, "constraints", "lastAcceptableFlavorName")
        allowed = flavors_of(spec)
        if mode and mode != _MODES[0]:
            yield about.rejected(
                f"{path}.constraints", "Forbidden",
                f'may only be set when migration.mode is "{_MODES[0]}" (got "{mode}")', f"write mode: {_MODES[0]}",
            )  # fmt: skip
        elif last is not None and last not in allowed:
            yield about.rejected(
                f"{path}.constraints.lastAcceptableFlavorName", "Invalid",
                f"must be one of the flavors defined in the ClusterQueue: [{' '.join(allowed)}]", "name one of them",
            )  # fmt: skip
    if spec.get("queueingStrategy") == "StrictFIFO":
        yield about.rejected(
            "spec.queueingStrategy", "Invalid",
            "StrictFIFO queueing strategy cannot be used when ConcurrentAdmissionPolicy is defined",
            "write BestEffortFIFO",
        )  # fmt: skip


def _on_flavors(about: FieldVerdicts, spec: Mapping[str, object], before: Mapping[str, object]) -> Iterator[Verdict]:
    """Yield verdicts on checks for flavors without a quota; a stored one passes while nothing of it changes."""
    flavors = flavors_of(spec)
    spared = {}
    if set(flavors) == set(flavors_of(before)):
        spared = {text(check, "name"): _names(items(check, "onFlavors")) for check in _checks(before)}
    for number, check in enumerate(_checks(spec)):
        named = items(check, "onFlavors")
        if named and spared.get(text(check, "name")) == _names(named):
            continue
        for place, flavor in enumerate(named):
            if flavor not in flavors:
                yield about.rejected(
                    f"spec.admissionChecksStrategy.admissionChecks[{number}].onFlavors[{place}]",
                    "NotSupported",
                    f'"{flavor}" is not supported: {", ".join(sorted(flavors)) or "the ClusterQueue has no flavor"}',
                    f"give {flavor} a quota, or leave it out",
                )


def _names(values: Sequence[object]) -> frozenset[str]:
    return frozenset(value for value in values if isinstance(value, str))


def _checks(spec: Mapping[str, object]) -> list[object]:
    return list(items(spec, "admissionChecksStrategy", "admissionChecks"))


def _without_effect(about: FieldVerdicts, spec: Mapping[str, object], *, newest: bool) -> Iterator[Verdict]:
    if spec.get("namespaceSelector") is None:
        yield about.ignored(
            "spec.namespaceSelector", "Required", "it is missing, and so no namespace's work is admitted",
            "write the namespaces, or {} for all of them",
        )  # fmt: skip
    if newest:
        for field, now in (("cohort", "cohortName"), ("admissionChecks", "admissionChecksStrategy.admissionChecks")):
            if spec.get(field) is not None:
                yield about.ignored(f"spec.{field}", "Invalid", f"v1beta2 has no {field}", f"write {now}")
    reclaim = mapping(spec, "preemption").get("reclaimWithinCohort") or "Never"
    if reclaim == "Never" and cohort_of(spec) is not None and _promises(spec):
        yield about.ignored(
            "spec.preemption.reclaimWithinCohort", "Invalid",
            "it is Never: nominal quota that others borrowed is not reclaimed for this queue",
            "write reclaimWithinCohort: Any",
        )  # fmt: skip
    lower = mapping(spec, "preemption", "borrowWithinCohort").get("policy") == "LowerPriority"
    weight = quantity(mapping(spec, "fairSharing").get("weight"))
    if lower and weight is not None and weight != 1:
        yield about.ignored(
            "spec.preemption.borrowWithinCohort", "Invalid", "fair sharing, which the weight requires, does not support it",
            "leave borrowWithinCohort out, or the weight",
        )  # fmt: skip
    if integer(spec, "preemption", "borrowWithinCohort", "maxPriorityThreshold") is not None and not lower:
        yield about.ignored(
            "spec.preemption.borrowWithinCohort.maxPriorityThreshold", "Invalid", "the policy is Never",
            "write policy: LowerPriority",
        )  # fmt: skip


def _promises(spec: Mapping[str, object]) -> bool:
    """Tell whether a nominal quota is lent: not 0, and not kept back by a lending limit of 0."""
    for group in items(spec, "resourceGroups"):
        for flavor in items(group, "flavors"):
            for resource in items(flavor, "resources"):
                quota = mapping(resource)
                if quantity(quota.get("nominalQuota")) and quantity(quota.get("lendingLimit")) != 0:
                    return True
    return False
