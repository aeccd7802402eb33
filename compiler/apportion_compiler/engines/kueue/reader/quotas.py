"""Quotas of ClusterQueues and Cohorts as amounts of the IR.

Kueue's quotas are added to those of descendants; the result is totals. Amounts of several flavors are added up, with a
limit only if every flavor has one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from apportion_api.fields import Written
from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_api.kueue.objects import QuotaHolder
from apportion_compiler.engines.kueue.names import NO_BOUND, TOTAL_GPUS
from apportion_compiler.engines.kueue.reader.flavors import FlavorFacts
from apportion_policy.errors import QuantityError
from apportion_policy.quantity import UNLIMITED, Amount, Unlimited, add, kubernetes_units
from apportion_policy.quantity import total as amount_total
from apportion_policy.resources import CPU, GPU, MEMORY, gpu_resource

_UNITS = {CPU: (CPU, 1000, 1), MEMORY: (MEMORY, 1, 1), GPU_RESOURCE: (GPU, 1, 1000), TOTAL_GPUS: (TOTAL_GPUS, 1, 1000)}
"""For each resource, the policy's name, and Kueue's and the IR's number of units per base unit."""

FlavorResource = tuple[str, str]
"""A flavor, and the policy's name of a resource; TOTAL_GPUS is unchanged."""


@dataclass(frozen=True, slots=True)
class Quotas:
    """The quotas of one object on each flavor; a missing limit is unlimited."""

    nominal: Mapping[FlavorResource, Amount]
    borrowing: Mapping[FlavorResource, int]
    lending: Mapping[FlavorResource, int]


@dataclass(frozen=True, slots=True)
class Totals:
    """The totals of a queue including its descendants, in the policy's terms."""

    guaranteed: dict[str, Amount] = field(default_factory=dict)
    limit: dict[str, Amount] = field(default_factory=dict)
    lending_limit: dict[str, Amount] = field(default_factory=dict)


def quotas_of(holder: QuotaHolder) -> Quotas:
    """Return the quotas of a ClusterQueue or Cohort. Raises `ValueError` if an amount is not a quantity."""
    nominal: dict[FlavorResource, Amount] = {}
    borrowing: dict[FlavorResource, int] = {}
    lending: dict[FlavorResource, int] = {}
    for path, flavor, quota in holder.quotas():
        name = quota.resource
        if not name:
            continue
        resource = _UNITS.get(name, (name, 1, 1))[0]
        flavor_resource = (flavor, resource)
        written = 0 if quota.nominal is None else quota.nominal
        stands_in = written == NO_BOUND.get(name, NO_BOUND[GPU_RESOURCE])
        nominal[flavor_resource] = UNLIMITED if stands_in else _amount(holder, f"{path}.nominalQuota", name, written)
        if quota.borrowing_limit is not None:
            borrowing[flavor_resource] = _amount(holder, f"{path}.borrowingLimit", name, quota.borrowing_limit)
        if quota.lending_limit is not None:
            lending[flavor_resource] = _amount(holder, f"{path}.lendingLimit", name, quota.lending_limit)
    return Quotas(nominal, borrowing, lending)


def flavor_resource_totals(
    own: Quotas, children: Iterable[Mapping[FlavorResource, Amount]]
) -> dict[FlavorResource, Amount]:
    """Return the totals of a queue on each flavor, including descendants."""
    total = dict(own.nominal)
    for child in children:
        for flavor_resource, amount in child.items():
            total[flavor_resource] = add(total.get(flavor_resource, 0), amount)
    return total


def totals(
    own: Quotas, total: Mapping[FlavorResource, Amount], facts: Mapping[str, FlavorFacts], *, may_borrow: bool
) -> Totals:
    """Return a queue's amounts. Without a cohort, it cannot borrow, and its quota is also its limit."""
    found = Totals()
    limit = {
        flavor_resource: add(total.get(flavor_resource, 0), bound) for flavor_resource, bound in own.borrowing.items()
    }
    if not may_borrow:
        limit = dict(total)
    by_name: dict[str, list[FlavorResource]] = {}
    for flavor_resource in {**total, **limit, **own.lending}:
        for name in _names(flavor_resource, facts):
            by_name.setdefault(name, []).append(flavor_resource)
    over_all = [flavor_resource for flavor_resource in limit if flavor_resource[1] == TOTAL_GPUS]
    for name, flavor_resources in by_name.items():
        found.guaranteed[name] = amount_total(total.get(flavor_resource, 0) for flavor_resource in flavor_resources)
        bounds = [limit.get(flavor_resource, UNLIMITED) for flavor_resource in flavor_resources]
        is_gpu = name == GPU or name.startswith(f"{GPU}/")
        if not (is_gpu and over_all) and not any(isinstance(bound, Unlimited) for bound in bounds):
            found.limit[name] = amount_total(bounds)
        if any(flavor_resource in own.lending for flavor_resource in flavor_resources):
            lendable = amount_total(
                own.lending.get(flavor_resource, total.get(flavor_resource, 0)) for flavor_resource in flavor_resources
            )
            if not isinstance(lendable, Unlimited):
                found.lending_limit[name] = lendable
    if over_all and not isinstance(limit[over_all[0]], Unlimited):
        # Counted in addition to the flavors, each of which may have this amount.
        found.limit[GPU] = limit[over_all[0]]
    return found


def _names(flavor_resource: FlavorResource, facts: Mapping[str, FlavorFacts]) -> tuple[str, ...]:
    """Return the policy's resource names for a flavor's resource."""
    flavor, resource = flavor_resource
    if resource == TOTAL_GPUS:
        return ()
    model = facts[flavor].counted if resource == GPU and flavor in facts else None
    return (resource,) if model is None else (resource, gpu_resource(model))


def _amount(holder: QuotaHolder, path: str, name: str, written: Written) -> int:
    _, parts, scale = _UNITS.get(name, (name, 1, 1))
    try:
        amount = kubernetes_units(written, parts) * scale
    except QuantityError as fault:
        raise ValueError(f"{holder}: {path}: {fault}") from fault
    if amount < 0:
        raise ValueError(f"{holder}: {path}: {written} is negative")
    return amount
