"""Division of the policy's totals into quotas of each queue on each flavor.

Kueue's quotas are additive: a cohort's quota is added to those of its members, so `own` is a queue's guarantee without
that of its descendants, and `total` includes it. Amounts are in the IR's units, GPUs in whole devices.

If a single flavor counts a resource, nothing is divided. If several do, a guarantee is assigned to the first flavor
with room for all of it, and split only if there is none, because all pods of a pod set must get their quota on one
flavor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apportion_compiler.engines.kueue.emit.flavor_capacity import (
    RemainingCapacity,
    assign,
    capacity,
    in_proportion,
    per_device,
)
from apportion_compiler.engines.kueue.emit.flavors import Flavor, Layout
from apportion_compiler.ir.gpu_models import counted_models
from apportion_compiler.ir.program import Program, Queue
from apportion_policy.quantity import UNLIMITED, Amount, Unlimited, add, is_over, smaller
from apportion_policy.quantity import total as amount_total
from apportion_policy.resources import CPU, GPU, MEMORY, gpu_resource

DEVICE = 1000
"""Thousandths of one GPU: Kueue counts whole ones."""
TOTAL = "gpu-total"
"""The total of GPUs of all flavors, counted in addition to them if a limit has no model."""

FlavorResource = tuple[str, str]
"""A flavor's name, and a resource of the IR or TOTAL."""
Amounts = dict[FlavorResource, Amount]


@dataclass(frozen=True, slots=True)
class Division:
    """Quotas by queue id: own, total, and limits; a missing (flavor, resource) is unlimited.

    `root` is the capacity of the cluster beyond all guarantees.
    """

    own: dict[str, Amounts]
    total: dict[str, Amounts]
    limit: dict[str, Amounts]
    lending: dict[str, Amounts]
    root: Amounts


def divide(program: Program, layout: Layout) -> Division:
    """Return the quotas of each queue on each flavor."""
    division = Division(_empty(program), _empty(program), _empty(program), _empty(program), {})
    _divide_gpus(program, layout, division)
    for resource in counted_resources(program):
        if resource != GPU:
            _divide_resource(program, layout, resource, division)
    if counts_total(program, layout):
        _count_total(program, layout, division)
    return division


def counted_resources(program: Program) -> tuple[str, ...]:
    """Return cpu, memory and gpu, without which Kueue admits no workload, and the other declared resources."""
    declared_resources = {resource for queue in program.queues for resource in (*queue.guaranteed, *queue.limit)}
    others = sorted(r for r in declared_resources if r not in (CPU, MEMORY, GPU) and not r.startswith(f"{GPU}/"))
    return (CPU, MEMORY, GPU, *others)


def counts_total(program: Program, layout: Layout) -> bool:
    """Return whether a limit covers GPUs of several flavors, and there is a flavor to count them on."""
    several = layout.everywhere is not None and len(layout.gpus) > 1
    return several and any(bounds_all_models(layout, queue) for queue in program.queues)


def bounds_all_models(layout: Layout, queue: Queue) -> bool:
    """Return whether a queue's GPU limit covers all models, regardless of how they are counted."""
    bounded = not isinstance(queue.limit.get(GPU, UNLIMITED), Unlimited)
    return bounded and not (layout.by_model and any(r.startswith(f"{GPU}/") for r in queue.limit))


def _reach(program: Program, flavors: Sequence[Flavor]) -> Mapping[str, list[Flavor]]:
    """Return the flavors that a leaf may use; for an inner queue, those that any of its leaves may use."""
    reach: dict[str, list[Flavor]] = {}
    for queue in reversed(program.queues):
        if queue.is_leaf:
            reach[queue.id] = [flavor for flavor in flavors if flavor.is_usable_by(queue)]
        else:
            below = {flavor.name for child in queue.children for flavor in reach[child]}
            # If no leaf may use any flavor, the guarantee is lent to others.
            reach[queue.id] = [flavor for flavor in flavors if not below or flavor.name in below]
    return reach


def _empty(program: Program) -> dict[str, Amounts]:
    return {queue.id: {} for queue in program.queues}


def _divide_gpus(program: Program, layout: Layout, division: Division) -> None:
    flavors = layout.gpu_flavors
    remaining: RemainingCapacity = {flavor.name: capacity(program, flavor, GPU) for flavor in flavors}
    reach = _reach(program, flavors)
    models = counted_models(program) if layout.by_model else ()
    _assign_to_leaves(program, reach, models, remaining, division)
    for queue in reversed(program.queues):
        if not queue.is_leaf and GPU not in program.unmanaged:
            _assign_to_inner(queue, flavors, reach[queue.id], models=models, remaining=remaining, division=division)
        _sum(queue, flavors, GPU, division)
    for queue in program.queues:
        may_use = reach[queue.id]
        for resource in _declared_resources(layout, queue.limit, models):
            each_alike = resource == GPU and not layout.joined
            _limit(program, queue, resource, _of(resource, may_use), division, each_alike=each_alike)
        for resource in _declared_resources(layout, queue.lending_limit, models):
            _lend(queue, resource, _of(resource, may_use), division)
    _surplus(program, flavors, GPU, division)


def _assign_to_leaves(
    program: Program,
    reach: Mapping[str, list[Flavor]],
    models: Sequence[str],
    remaining: RemainingCapacity,
    division: Division,
) -> None:
    guarantees: list[tuple[Queue, Amount, list[Flavor]]] = []
    for queue in program.queues:
        if not queue.is_leaf:
            continue
        may_use = reach[queue.id]
        rest = UNLIMITED if GPU in program.unmanaged else _promised(queue, GPU)
        for model in models:
            amount = _promised(queue, gpu_resource(model))
            guarantees.append((queue, amount, [flavor for flavor in may_use if flavor.model == model]))
            rest = _less(rest, amount)
        guarantees.append((queue, rest, may_use))
    # Queues without a choice come first, so that the others see the remaining capacity.
    for queue, amount, chosen in sorted(guarantees, key=lambda promise: len(promise[2]) > 1):
        _assign(division.own[queue.id], GPU, amount, chosen, remaining)


def _assign_to_inner(
    queue: Queue,
    flavors: Sequence[Flavor],
    reach: Sequence[Flavor],
    *,
    models: Sequence[str],
    remaining: RemainingCapacity,
    division: Division,
) -> None:
    """Assign the guarantee of an inner queue beyond its children's."""
    below = {f.name: amount_total(division.total[c].get((f.name, GPU), 0) for c in queue.children) for f in flavors}
    rest = _less(_promised(queue, GPU), amount_total(below.values()))
    may_use = [flavor for flavor in reach if not isinstance(below[flavor.name], Unlimited)]
    for model in models:
        held = amount_total(below[flavor.name] for flavor in flavors if flavor.model == model)
        more = smaller(_less(_promised(queue, gpu_resource(model)), held), rest)
        chosen = [flavor for flavor in may_use if flavor.model == model]
        if chosen:
            _assign(division.own[queue.id], GPU, more, chosen, remaining)
            rest = _less(rest, more)
    _assign(division.own[queue.id], GPU, rest, may_use, remaining)


def _declared_resources(layout: Layout, bounds: Mapping[str, Amount], models: Sequence[str]) -> list[str]:
    """Return the resource names by which limits count GPUs: the models if there are any, else all GPUs."""
    by_model = layout.by_model and any(resource.startswith(f"{GPU}/") for resource in bounds)
    return [gpu_resource(model) for model in models] if by_model else [GPU]


def _of(resource: str, flavors: Sequence[Flavor]) -> list[Flavor]:
    model = resource.partition("/")[2] if resource.startswith(f"{GPU}/") else None
    return [flavor for flavor in flavors if model is None or flavor.model == model]


def _divide_resource(program: Program, layout: Layout, resource: str, division: Division) -> None:
    flavors = [layout.everywhere] if layout.everywhere is not None else list(layout.flavors)
    remaining: RemainingCapacity = {flavor.name: capacity(program, flavor, resource) for flavor in flavors}
    reach = _reach(program, flavors)
    for queue in reversed(program.queues):
        if resource in program.unmanaged:
            amount: Amount = UNLIMITED if queue.is_leaf else 0
        else:
            below = amount_total(division.total[c].get((f.name, resource), 0) for c in queue.children for f in flavors)
            amount = _less(_promised(queue, resource), below)
        _assign_with_gpus(queue, resource, amount, reach[queue.id], remaining=remaining, division=division)
        _sum(queue, flavors, resource, division)
    for queue in program.queues:
        _limit(program, queue, resource, reach[queue.id], division, each_alike=False)
        _lend(queue, resource, reach[queue.id], division)
    _surplus(program, flavors, resource, division)


def _assign_with_gpus(
    queue: Queue,
    resource: str,
    amount: Amount,
    flavors: Sequence[Flavor],
    *,
    remaining: RemainingCapacity,
    division: Division,
) -> None:
    """Assign an amount to the machines of the queue's GPUs as far as they have room, and the rest to others."""
    own = division.own[queue.id]
    if len(flavors) < 2 or isinstance(amount, Unlimited):
        _assign(own, resource, amount, flavors, remaining)
        return
    gpus = {flavor.name: own.get((flavor.name, GPU), 0) for flavor in flavors}
    left = amount
    for flavor in flavors:
        devices = gpus[flavor.name]
        if isinstance(devices, int) and devices and left:
            part = min(left, devices * per_device(flavor, resource) // DEVICE)
            left -= part
            _assign(own, resource, part, [flavor], remaining)
    ordinary = [flavor for flavor in flavors if not flavor.has_gpus]
    largest = sorted(flavors, key=lambda flavor: -(d if isinstance(d := gpus[flavor.name], int) else 0))
    _assign(own, resource, left, ordinary or largest[:1], remaining)


def _assign(
    own: Amounts, resource: str, amount: Amount, flavors: Sequence[Flavor], remaining: RemainingCapacity
) -> None:
    if not flavors or amount == 0:
        return
    parts: Mapping[str, Amount]
    if isinstance(amount, Unlimited):
        parts = {flavor.name: amount for flavor in flavors}
    else:
        parts = assign(amount, flavors, remaining)
    for name, part in parts.items():
        own[name, resource] = add(own.get((name, resource), 0), part)


def _sum(queue: Queue, flavors: Sequence[Flavor], resource: str, division: Division) -> None:
    own, total = division.own[queue.id], division.total[queue.id]
    for flavor in flavors:
        flavor_resource = (flavor.name, resource)
        total[flavor_resource] = amount_total(
            (own.get(flavor_resource, 0), *(division.total[child].get(flavor_resource, 0) for child in queue.children))
        )


def _limit(
    program: Program, queue: Queue, resource: str, flavors: Sequence[Flavor], division: Division, *, each_alike: bool
) -> None:
    """Set a queue's limit on the flavors that it applies to.

    The limit is divided among several flavors; with `each_alike`, each gets the whole limit, because the sum is
    enforced elsewhere.
    """
    limit = _whole(resource, queue.limit.get(resource, UNLIMITED))
    if not flavors or isinstance(limit, Unlimited):
        return
    counted, total, held = _held(queue, resource, flavors, division)
    if isinstance(held, Unlimited):
        return
    if len(flavors) == 1 or each_alike:
        parts = dict.fromkeys(total, limit)
    else:
        more = _divided(program, max(limit - held, 0), counted, flavors, total)
        parts = {name: more.get(name, 0) + amount for name, amount in total.items()}
    division.limit[queue.id].update({(name, counted): part for name, part in parts.items()})


def _lend(queue: Queue, resource: str, flavors: Sequence[Flavor], division: Division) -> None:
    """Set a queue's lending limit, assigned to the flavors in turn."""
    left = _whole(resource, queue.lending_limit.get(resource, UNLIMITED))
    if isinstance(left, Unlimited):
        return
    counted, total, held = _held(queue, resource, flavors, division)
    if isinstance(held, Unlimited):
        return
    for name, amount in total.items():
        part = left if len(flavors) == 1 else min(left, amount)
        division.lending[queue.id][name, counted] = part
        left -= part


def _held(
    queue: Queue, resource: str, flavors: Sequence[Flavor], division: Division
) -> tuple[str, dict[str, int], Amount]:
    """Return the amounts of a resource of a queue: on each flavor, and in total."""
    counted = GPU if resource.startswith(f"{GPU}/") else resource
    amounts = {flavor.name: division.total[queue.id].get((flavor.name, counted), 0) for flavor in flavors}
    bounded = {name: amount for name, amount in amounts.items() if isinstance(amount, int)}
    return counted, bounded, amount_total(amounts.values())


def _divided(
    program: Program, amount: int, resource: str, flavors: Sequence[Flavor], total: Mapping[str, int]
) -> Mapping[str, int]:
    sizes = {flavor.name: capacity(program, flavor, resource) for flavor in flavors}
    if resource != GPU:
        return in_proportion(amount, flavors, sizes)
    remaining: RemainingCapacity = {name: None if size is None else size - total[name] for name, size in sizes.items()}
    return assign(amount, flavors, remaining)


def _surplus(program: Program, flavors: Sequence[Flavor], resource: str, division: Division) -> None:
    """Assign the capacity beyond the guarantees of the top-level queues to the root."""
    for flavor in flavors:
        held = capacity(program, flavor, resource)
        flavor_resource = (flavor.name, resource)
        guaranteed = amount_total(
            division.total[queue.id].get(flavor_resource, 0) for queue in program.queues if queue.parent is None
        )
        if held is not None and isinstance(guaranteed, int) and held > guaranteed:
            division.root[flavor_resource] = held - guaranteed


def _count_total(program: Program, layout: Layout, division: Division) -> None:
    """Count the GPUs of all flavors again on the flavor of all nodes, for limits without a model."""
    assert layout.everywhere is not None
    flavor_resource = (layout.everywhere.name, TOTAL)
    for queue in reversed(program.queues):
        held = amount_total(division.total[queue.id].get((flavor.name, GPU), 0) for flavor in layout.gpus)
        below = amount_total(division.total[child][flavor_resource] for child in queue.children)
        division.total[queue.id][flavor_resource] = held
        division.own[queue.id][flavor_resource] = _less(held, below)
        limit = _whole(GPU, queue.limit.get(GPU, UNLIMITED))
        if bounds_all_models(layout, queue) and isinstance(held, int):
            division.limit[queue.id][flavor_resource] = limit
    surplus = amount_total(division.root.get((flavor.name, GPU), 0) for flavor in layout.gpus)
    division.root[flavor_resource] = surplus


def _promised(queue: Queue, resource: str) -> Amount:
    """Return a guarantee, capped at the queue's own limit: in Kueue, a guarantee can always be used."""
    amount, limit = queue.guaranteed.get(resource, 0), queue.limit.get(resource, UNLIMITED)
    return _whole(resource, limit if is_over(amount, limit) else amount)


def _whole(resource: str, amount: Amount) -> Amount:
    if isinstance(amount, Unlimited) or not (resource == GPU or resource.startswith(f"{GPU}/")):
        return amount
    return amount - amount % DEVICE


def _less(amount: Amount, taken: Amount) -> Amount:
    """Return the remainder, at least 0; 0 if the subtracted amount is unlimited."""
    if isinstance(taken, Unlimited):
        return 0
    return amount if isinstance(amount, Unlimited) else max(amount - taken, 0)
