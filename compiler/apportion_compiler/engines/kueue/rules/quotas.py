"""Resource groups of ClusterQueues and Cohorts (validateResourceGroups), and weights (validateFairSharing)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from apportion_compiler.engine_rules.verdict import Verdict
from apportion_compiler.engines.kueue.rules.field_validation import FieldVerdicts, quantity
from apportion_compiler.kubernetes_names import is_label_key
from apportion_compiler.plain_objects import items, mapping, text

NEGATIVE = "must be greater than or equal to 0"
_LIMITS = ("borrowingLimit", "lendingLimit")
_SMALLEST_WEIGHT = Decimal(10) ** -9


@dataclass(frozen=True, slots=True)
class Rules:
    """What differs between the kinds. `above` is the webhook's word for what an object may hang below."""

    above: str
    hangs: bool
    lends_at_most_nominal: bool


def resource_group_verdicts(about: FieldVerdicts, spec: Mapping[str, object], rules: Rules) -> Iterator[Verdict]:
    """Yield verdicts on `spec.resourceGroups`."""
    resources: set[object] = set()
    flavors: set[object] = set()
    for number, group in enumerate(items(spec, "resourceGroups")):
        path = f"spec.resourceGroups[{number}]"
        covered = items(group, "coveredResources")
        for place, name in enumerate(covered):
            at = f"{path}.coveredResources[{place}]"
            if not isinstance(name, str) or not is_label_key(name):
                yield about.rejected(at, "Invalid", f'"{name}" is not a valid resource name', "write example.com/name")
                continue
            if name in resources:
                yield about.rejected(
                    at, "Duplicate", f'Duplicate value: "{name}"', f"cover {name} in one resource group only"
                )
            resources.add(name)
        for place, flavor in enumerate(items(group, "flavors")):
            at = f"{path}.flavors[{place}]"
            yield from _quotas(about, at, items(flavor, "resources"), covered, rules)
            name = text(flavor, "name")
            if name is not None and name in flavors:
                yield about.rejected(
                    f"{at}.name", "Duplicate", f'Duplicate value: "{name}"', f"name {name} in one resource group only"
                )
            flavors.add(name)


def flavors_of(spec: Mapping[str, object]) -> list[str]:
    """Return the names of the flavors that quotas are on, in order."""
    groups = items(spec, "resourceGroups")
    return [str(mapping(flavor).get("name")) for group in groups for flavor in items(group, "flavors")]


def weight_verdicts(about: FieldVerdicts, spec: Mapping[str, object]) -> Iterator[Verdict]:
    """Yield verdicts on `spec.fairSharing.weight`."""
    written = mapping(spec, "fairSharing").get("weight")
    weight = quantity(written)
    if written is not None and weight is None:
        yield about.rejected("spec.fairSharing.weight", "Invalid", f'"{written}" is not a quantity', "write 1")
    elif weight is not None and weight < 0:
        yield about.rejected("spec.fairSharing", "Invalid", NEGATIVE, "write 0 or more")
    elif weight is not None and 0 < weight <= _SMALLEST_WEIGHT:
        yield about.rejected(
            "spec.fairSharing", "Invalid", "When not 0, weight must be > 10e-9", "write 1m or more, or 0"
        )


def _quotas(
    about: FieldVerdicts, path: str, resources: Sequence[object], covered: Sequence[object], rules: Rules
) -> Iterator[Verdict]:
    if len(resources) != len(covered):
        yield about.rejected(
            f"{path}.resources", "Invalid", "flavors must have the same number of resources as the coveredResources",
            f"write one quota for each of {', '.join(map(str, covered))}, in this order",
        )  # fmt: skip
    for place, (resource, name) in enumerate(zip(resources, covered, strict=False)):
        at = f"{path}.resources[{place}]"
        quota = mapping(resource)
        if quota.get("name") != name:
            yield about.rejected(
                f"{at}.name", "Invalid", "must match the name in coveredResources",
                "write the resources in the order of coveredResources",
            )  # fmt: skip
        yield from _amount(about, f"{at}.nominalQuota", quota.get("nominalQuota"))
        for limit in _LIMITS:
            if quota.get(limit) is not None:
                yield from _limit(about, at, limit, quota, rules)


def _limit(about: FieldVerdicts, path: str, field: str, quota: Mapping[str, object], rules: Rules) -> Iterator[Verdict]:
    at = f"{path}.{field}"
    yield from _amount(about, at, quota[field])
    if not rules.hangs:
        yield about.rejected(
            at, "Invalid", f"must be nil when {rules.above} is empty", f"leave {field} out, or name a {rules.above}"
        )
    lent, nominal = quantity(quota[field]), quantity(quota.get("nominalQuota"))
    over = lent is not None and nominal is not None and lent > nominal
    if field == "lendingLimit" and rules.lends_at_most_nominal and over:
        yield about.rejected(
            at, "Invalid", "must be less than or equal to the nominalQuota",
            f"lower lendingLimit of {quota.get('name')} to {quota['nominalQuota']}",
        )  # fmt: skip


def _amount(about: FieldVerdicts, field: str, written: object) -> Iterator[Verdict]:
    if written is None:
        return
    amount = quantity(written)
    if amount is None:
        yield about.rejected(field, "Invalid", f'"{written}" is not a quantity', "write 4, 500m or 2Ti")
    elif amount < 0:
        yield about.rejected(field, "Invalid", NEGATIVE, "write 0 or more")
