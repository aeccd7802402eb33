"""`spec.resourceGroups` of ClusterQueues and Cohorts.

The webhook requires the resources of each flavor in the order of `coveredResources`, and each resource and flavor in a
single group (pkg/webhooks/clusterqueue_webhook.go). `borrowingLimit` is relative to the nominal quota, a cohort's to
the sum of its subtree: limit - guaranteed, both including descendants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_compiler.engines.kueue.emit.flavor_quotas import (
    DEVICE,
    TOTAL,
    Amounts,
    Division,
    counted_resources,
    counts_total,
)
from apportion_compiler.engines.kueue.emit.flavors import Flavor, Layout
from apportion_compiler.engines.kueue.names import NO_BOUND, TOTAL_GPUS
from apportion_compiler.ir.program import Program, Queue
from apportion_policy.quantity import Amount, Unlimited, cpu_text, memory_text, smaller
from apportion_policy.resources import CPU, GPU, MEMORY

_KUEUE_NAMES = {GPU: GPU_RESOURCE, TOTAL: TOTAL_GPUS}
_SIZES = {suffix: 1000**power for power, suffix in reversed(list(enumerate(("k", "M", "G", "T", "P", "E"), start=1)))}


@dataclass(frozen=True, slots=True)
class Group:
    """A resource group: the covered resources, in order, and the flavors."""

    resources: tuple[str, ...]
    flavors: tuple[Flavor, ...]


def groups_of(program: Program, layout: Layout) -> tuple[Group, ...]:
    """Return the resource groups of a cluster; every queue has the flavors of them that it may use."""
    resources = counted_resources(program)
    if layout.everywhere is None:
        return (Group(resources, layout.flavors),)
    if not layout.gpus:
        return (Group(resources, (layout.everywhere,)),)
    beside = tuple(resource for resource in resources if resource != GPU)
    total = (TOTAL,) if counts_total(program, layout) else ()
    return (Group((*beside, *total), (layout.everywhere,)), Group((GPU,), layout.gpus))


@dataclass(frozen=True, slots=True)
class _ObjectQuotas:
    """The quotas of one object: nominal quotas, the base of its limits, and the limits.

    With `caps`, lending limits are capped at the nominal quotas, as the webhook requires for a ClusterQueue.
    """

    nominal: Amounts
    total: Amounts
    limit: Amounts
    lending: Amounts
    caps: bool = False


def cluster_queue_groups(queue: Queue, groups: Iterable[Group], division: Division) -> list[dict[str, object]]:
    """Return the groups of a leaf: every flavor that it may use, because unlisted flavors cannot be borrowed."""
    id_ = queue.id
    own = division.own[id_]
    held = _ObjectQuotas(own, own, division.limit[id_], division.lending[id_], caps=True)
    return _groups(groups, held, lambda flavor, _: flavor.is_usable_by(queue))


def cohort_groups(queue: Queue, groups: Iterable[Group], division: Division) -> list[dict[str, object]]:
    """Return the groups of an inner queue: the flavors with a quota or limit of its own."""
    id_ = queue.id
    return _said(
        groups, _ObjectQuotas(division.own[id_], division.total[id_], division.limit[id_], division.lending[id_])
    )


def root_groups(groups: Iterable[Group], root: Amounts) -> list[dict[str, object]]:
    """Return the groups of the root cohort: the capacity beyond all guarantees."""
    return _said(groups, _ObjectQuotas(root, root, {}, {}))


def _said(groups: Iterable[Group], held: _ObjectQuotas) -> list[dict[str, object]]:
    def says(flavor: Flavor, group: Group) -> bool:
        flavor_resources = [(flavor.name, resource) for resource in group.resources]
        return any(
            held.nominal.get(flavor_resource) or flavor_resource in held.limit or flavor_resource in held.lending
            for flavor_resource in flavor_resources
        )

    return _groups(groups, held, says)


def _groups(
    groups: Iterable[Group], held: _ObjectQuotas, listed: Callable[[Flavor, Group], bool]
) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    for group in groups:
        flavors = [
            {"name": flavor.name, "resources": [_quota(flavor, resource, held) for resource in group.resources]}
            for flavor in group.flavors
            if listed(flavor, group)
        ]
        if flavors:
            found.append({"coveredResources": [_KUEUE_NAMES.get(r, r) for r in group.resources], "flavors": flavors})
    return found


def _quota(flavor: Flavor, resource: str, held: _ObjectQuotas) -> dict[str, str]:
    flavor_resource = (flavor.name, resource)
    nominal, total = held.nominal.get(flavor_resource, 0), held.total.get(flavor_resource, 0)
    quota = {"name": _KUEUE_NAMES.get(resource, resource), "nominalQuota": quantity(resource, nominal)}
    bound, lending_limit = held.limit.get(flavor_resource), held.lending.get(flavor_resource)
    if isinstance(bound, int) and isinstance(total, int):
        quota["borrowingLimit"] = quantity(resource, max(bound - total, 0))
    if isinstance(lending_limit, int):
        quota["lendingLimit"] = quantity(resource, smaller(lending_limit, nominal) if held.caps else lending_limit)
    return quota


@lru_cache(maxsize=65_536)
def quantity(resource: str, amount: Amount) -> str:
    """Return an amount as the API server stores it; an unlimited one is a number larger than any cluster."""
    if isinstance(amount, Unlimited):
        return NO_BOUND.get(_KUEUE_NAMES.get(resource, resource), NO_BOUND[GPU_RESOURCE])
    if resource == CPU:
        return cpu_text(amount) if amount % 1000 else _decimal(amount // 1000)
    if resource == MEMORY:
        return memory_text(amount)
    return _decimal(amount // DEVICE if resource in (GPU, TOTAL) else amount)


def _decimal(number: int) -> str:
    """Return an integer as a Kubernetes quantity: with the largest suffix that leaves no fraction."""
    for suffix, size in _SIZES.items():
        if number and number % size == 0:
            return f"{number // size}{suffix}"
    return str(number)
