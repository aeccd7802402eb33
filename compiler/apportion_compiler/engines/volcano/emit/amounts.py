"""The amounts of a Queue object: quantities by the resource names of pod requests.

| in the policy | in the Queue |
|---|---|
| cpu | a quantity, millicores kept |
| memory | a quantity, bytes kept |
| gpu | whole `nvidia.com/gpu`; Volcano rejects a fraction of an extended resource |
| another resource | whole devices under its own name |

Two quirks: the capacity plugin treats a `capability` with 0 cpu or memory as unset, so a limit of 0 is written as the
smallest amount. And usage above `deserved` is reclaimed only for resources in `deserved`, so devices are always listed
there, including 0.

Source: pkg/scheduler/plugins/capacity/capacity.go (checkHierarchicalQueue) and pkg/scheduler/api/resource_info.go
(GreaterPartlyWithRelevantDimensions) at ed72c7c81; k8s.io/kubernetes pkg/apis/core/validation
(ValidateResourceQuantityValue).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_compiler.backends.partitions import Partition, QueueNames, partitions_of, queue_names
from apportion_compiler.ir.once_per_program import once_per_program
from apportion_compiler.ir.program import Program, Queue
from apportion_policy.quantity import (
    MAX_AMOUNT,
    UNLIMITED,
    Amount,
    Unlimited,
    cpu_text,
    is_over,
    memory_text,
    smaller,
)
from apportion_policy.resources import CPU, GPU, MEMORY, gpu_resource

Amounts = Mapping[str, int]
"""Amounts by the IR's resource name, in the IR's units, with whole GPUs."""

_MODEL_PREFIX = f"{GPU}/"
_WHOLE_GPU = 1000


@dataclass(frozen=True, slots=True)
class QueueAmounts:
    """The amounts of one object. A missing resource has no limit, no guarantee and no reserved part."""

    guarantee: Amounts
    deserved: Amounts
    capability: Amounts


@once_per_program
def amounts_by_partition(program: Program) -> tuple[Mapping[str, QueueAmounts], ...]:
    """Return the amounts of every queue, by id, of each partition in the order of `partitions_of`.

    An inner queue has at least the sum of its children in `guarantee` and `deserved`, because Volcano treats a missing
    amount of a parent as 0; `bounds.py` refuses sums that exceed a quantity. A limit is capped at the limits of
    ancestors, which apply anyway.
    """
    partitions = partitions_of(program)
    divided = len(partitions) > 1
    return tuple(
        _queue_amounts(program, partition, names, divided=divided)
        for partition, names in zip(partitions, queue_names(program, partitions), strict=True)
    )


def _queue_amounts(
    program: Program, partition: Partition, names: QueueNames, *, divided: bool
) -> dict[str, QueueAmounts]:
    resources = _resources(program, partition, divided=divided)
    declared = {
        queue.id: _of_part(queue, partition, resources, divided=divided)
        for queue in program.queues
        if queue.id in names
    }
    # Parents precede their children.
    limits: dict[str | None, Mapping[str, Amount]] = {None: {}}
    for queue in program.queues:
        if queue.id in declared:
            own, above = declared[queue.id].limit, limits[queue.parent]
            limits[queue.id] = {r: smaller(own.get(r, UNLIMITED), above.get(r, UNLIMITED)) for r in resources}
    amounts: dict[str, QueueAmounts] = {}
    for queue in reversed(program.queues):
        if queue.id in declared:
            below = [amounts[child] for child in queue.children if child in amounts]
            amounts[queue.id] = _amounts(declared[queue.id], limits[queue.id], below)
    return amounts


def written_name(resource: str) -> str:
    """Return the resource name that pods request."""
    return GPU_RESOURCE if resource == GPU else resource


def declared_units(amounts: Amounts) -> Amounts:
    """Return amounts with GPUs in thousandths, as in the IR."""
    return {r: amount * _WHOLE_GPU if r == GPU else amount for r, amount in amounts.items()}


def written(amounts: Amounts) -> dict[str, str]:
    """Return the quantities of a Queue's field, capped at the largest amount of a policy."""
    return {written_name(resource): _text(resource, amount) for resource, amount in amounts.items()}


def least(resource: str, amount: int) -> int:
    """Return a limit as it is written: 0 of cpu or memory becomes the smallest amount."""
    return max(amount, 1) if resource in (CPU, MEMORY) else amount


@dataclass(frozen=True, slots=True)
class _DeclaredAmounts:
    guaranteed: Mapping[str, Amount]
    limit: Mapping[str, Amount]
    lending: Mapping[str, Amount]


def _amounts(declared: _DeclaredAmounts, limits: Mapping[str, Amount], below: list[QueueAmounts]) -> QueueAmounts:
    guarantee: dict[str, int] = {}
    deserved: dict[str, int] = {}
    capability: dict[str, int] = {}
    for resource, limit in limits.items():
        guaranteed_amount = declared.guaranteed.get(resource, 0)
        deserved[resource] = max(
            _whole(resource, guaranteed_amount), sum(child.deserved.get(resource, 0) for child in below)
        )
        kept = max(
            _reserved(resource, guaranteed_amount, declared.lending),
            sum(child.guarantee.get(resource, 0) for child in below),
        )
        if kept:
            guarantee[resource] = kept
        if not isinstance(declared.limit.get(resource, UNLIMITED), Unlimited):
            # A check rejects a guarantee above a limit; it occurs here only if that check is off.
            capability[resource] = max(least(resource, _whole(resource, limit)), deserved[resource])
    return QueueAmounts(guarantee, deserved, capability)


def _reserved(resource: str, guaranteed_amount: Amount, lending: Mapping[str, Amount]) -> int:
    """Return the part of a guarantee that is never lent."""
    lending_limit = lending.get(resource, UNLIMITED)
    if (
        isinstance(guaranteed_amount, Unlimited)
        or isinstance(lending_limit, Unlimited)
        or not is_over(guaranteed_amount, lending_limit)
    ):
        return 0
    return _whole(resource, guaranteed_amount) - _whole(resource, smaller(guaranteed_amount, lending_limit))


def _resources(program: Program, partition: Partition, *, divided: bool) -> tuple[str, ...]:
    """Return the resources of objects in a partition: those that any queue of the policy declares."""
    if divided and partition.model is not None:
        return (GPU,)
    declared_resources = {r for queue in program.queues for r in (*queue.guaranteed, *queue.limit)}
    counted = {GPU if r.startswith(_MODEL_PREFIX) else r for r in declared_resources}
    ordered = [r for r in (CPU, MEMORY, GPU) if r in counted]
    return (*ordered, *sorted(counted - set(ordered)))


def _of_part(queue: Queue, partition: Partition, resources: Iterable[str], *, divided: bool) -> _DeclaredAmounts:
    """Return the declared amounts of a queue in one partition, with GPUs as one resource.

    If quotas distinguish models, the partition without a model has cpu, memory and other devices, and no GPUs; a
    model's partition counts only its GPUs, because a policy does not divide cpu and memory among GPU models.
    """
    if not divided:
        return _DeclaredAmounts(queue.guaranteed, queue.limit, queue.lending_limit)
    if partition.model is None:
        others = [r for r in resources if r != GPU]
        return _DeclaredAmounts(
            {**{r: queue.guaranteed.get(r, 0) for r in others}, GPU: 0},
            {**{r: queue.limit[r] for r in others if r in queue.limit}, GPU: 0},
            queue.lending_limit,
        )
    model = gpu_resource(partition.model)
    return _DeclaredAmounts(
        {GPU: queue.guaranteed.get(model, 0)},
        {GPU: queue.limit.get(model, queue.limit.get(GPU, UNLIMITED))},
        {GPU: queue.lending_limit.get(model, queue.lending_limit.get(GPU, UNLIMITED))},
    )


def _whole(resource: str, amount: Amount) -> int:
    """Return an amount that can be written: GPUs are rounded down."""
    number = 0 if isinstance(amount, Unlimited) else amount
    return number // _WHOLE_GPU if resource == GPU else number


def _text(resource: str, amount: int) -> str:
    if resource == GPU:
        return str(min(amount, MAX_AMOUNT // _WHOLE_GPU))
    capped = min(amount, MAX_AMOUNT)
    if resource == CPU:
        return cpu_text(capped)
    return memory_text(capped) if resource == MEMORY else str(capped)
