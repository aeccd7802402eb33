"""Resource groups of ClusterQueues and Cohorts (validateResourceGroups), and weights (validateFairSharing)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from apportion_api.fields import Written
from apportion_api.kueue.objects import ResourceGroup, ResourceQuota
from apportion_compiler.engine_rules.verdict import Verdict
from apportion_compiler.engines.kueue.rules.field_validation import FieldVerdicts, quantity
from apportion_compiler.kubernetes_names import is_label_key

NEGATIVE = "must be greater than or equal to 0"
_SMALLEST_WEIGHT = Decimal(10) ** -9


@dataclass(frozen=True, slots=True)
class Rules:
    """Differences between the kinds. `above` is the webhook's name for the parent."""

    above: str
    hangs: bool
    lends_at_most_nominal: bool


def resource_group_verdicts(about: FieldVerdicts, groups: Sequence[ResourceGroup], rules: Rules) -> Iterator[Verdict]:
    """Yield verdicts on `spec.resourceGroups`."""
    resources, flavors = set[str](), set[str]()
    for number, group in enumerate(groups):
        path = f"spec.resourceGroups[{number}]"
        for place, name in enumerate(group.resources):
            at = f"{path}.coveredResources[{place}]"
            if about.is_malformed(at) or not is_label_key(name):
                yield about.rejected(
                    at, "Invalid", f'"{name}" is not a valid resource name', "use a name such as example.com/gpu"
                )
                continue
            if name in resources:
                yield about.rejected(
                    at, "Duplicate", f'Duplicate value: "{name}"', f"cover {name} in only one resource group"
                )
            resources.add(name)
        for place, flavor in enumerate(group.flavors):
            at, name = f"{path}.flavors[{place}]", flavor.flavor
            yield from _quotas(about, at, flavor.resources, group.resources, rules)
            if name and name in flavors:
                yield about.rejected(
                    f"{at}.name", "Duplicate", f'Duplicate value: "{name}"', f"list {name} in only one resource group"
                )
            flavors.add(name)


def weight_verdicts(about: FieldVerdicts, written: Written | None) -> Iterator[Verdict]:
    """Yield verdicts on `spec.fairSharing.weight`."""
    weight = quantity(written)
    if written is not None and weight is None:
        yield about.rejected(
            "spec.fairSharing.weight", "Invalid", f'"{written}" is not a quantity', "use a quantity such as 1"
        )
    elif weight is not None and weight < 0:
        yield about.rejected("spec.fairSharing", "Invalid", NEGATIVE, "use a value of 0 or more")
    elif weight is not None and 0 < weight <= _SMALLEST_WEIGHT:
        yield about.rejected(
            "spec.fairSharing", "Invalid", "When not 0, weight must be > 10e-9", "use 0, or at least 1m"
        )


def _quotas(
    about: FieldVerdicts, path: str, resources: Sequence[ResourceQuota], covered: Sequence[str], rules: Rules
) -> Iterator[Verdict]:
    if len(resources) != len(covered):
        yield about.rejected(
            f"{path}.resources", "Invalid", "flavors must have the same number of resources as the coveredResources",
            f"set one quota for each resource, in this order: {', '.join(covered)}",
        )  # fmt: skip
    for place, (quota, name) in enumerate(zip(resources, covered, strict=False)):
        at = f"{path}.resources[{place}]"
        if quota.resource != name:
            yield about.rejected(
                f"{at}.name", "Invalid", "must match the name in coveredResources",
                "list the resources in the order of coveredResources",
            )  # fmt: skip
        yield from _amount(about, f"{at}.nominalQuota", quota.nominal)
        for field, limit in (("borrowingLimit", quota.borrowing_limit), ("lendingLimit", quota.lending_limit)):
            if limit is not None:
                yield from _amount(about, f"{at}.{field}", limit)
                if not rules.hangs:
                    yield about.rejected(
                        f"{at}.{field}", "Invalid", f"must be nil when {rules.above} is empty",
                        f"remove {field}, or set {rules.above}",
                    )  # fmt: skip
        lending_limit, nominal = quantity(quota.lending_limit), quantity(quota.nominal)
        if (
            rules.lends_at_most_nominal
            and lending_limit is not None
            and nominal is not None
            and lending_limit > nominal
        ):
            yield about.rejected(
                f"{at}.lendingLimit", "Invalid", "must be less than or equal to the nominalQuota",
                f"lower lendingLimit for {quota.resource} to {quota.nominal}",
            )  # fmt: skip


def _amount(about: FieldVerdicts, field: str, written: Written | None) -> Iterator[Verdict]:
    if written is None:
        return
    amount = quantity(written)
    if amount is None:
        yield about.rejected(
            field, "Invalid", f'"{written}" is not a quantity', "use a quantity such as 4, 500m or 2Ti"
        )
    elif amount < 0:
        yield about.rejected(field, "Invalid", NEGATIVE, "use a value of 0 or more")
