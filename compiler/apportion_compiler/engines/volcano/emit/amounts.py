"""What a queue's object says of each resource: quantities of the resource names that pods ask for.

| in the policy | in the Queue |
|---|---|
| cpu | a quantity, millicores kept |
| memory | a quantity, bytes kept |
| gpu | whole `nvidia.com/gpu`; Volcano refuses a part of an extended resource |
| another resource | whole devices under its own name |

Two traps shape what is written. The capacity plugin reads a `capability` of no cpu or no memory as none set, so that
a limit of 0 is written as the least amount there is. And work that runs beyond `deserved` is reclaimed only on
resources that `deserved` names, so that devices are always named there, 0 included.

Source: pkg/scheduler/plugins/capacity/capacity.go (checkHierarchicalQueue) and pkg/scheduler/api/resource_info.go
(GreaterPartlyWithRelevantDimensions) at ed72c7c81; k8s.io/kubernetes pkg/apis/core/validation
(ValidateResourceQuantityValue).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_compiler.backends.partitions import Partition, QueueNames
from apportion_compiler.ir.program import Program, Queue
from apportion_policy.quantity import UNLIMITED, Amount, Unlimited, cpu_text, is_over, memory_text, smaller
from apportion_policy.resources import CPU, GPU, MEMORY, gpu_resource

Amounts = Mapping[str, int]
"""By the IR's name of a resource, in the IR's units, GPUs whole."""

_MODEL_PREFIX = f"{GPU}/"


@dataclass(frozen=True, slots=True)
class QueueAmounts:
    """What one object says. A resource that is missing is not bounded, not promised, not kept back."""

    guarantee: Amounts
    deserved: Amounts
    capability: Amounts


def queue_amounts(
    program: Program, partition: Partition, names: QueueNames, *, divided: bool
) -> dict[str, QueueAmounts]:
    """Return the amounts of every queue of a part of the cluster, by id.

    An inner queue has at least the sum of its children's in `guarantee` and `deserved`: Volcano reads a missing
    amount of a parent as none at all. A limit above that of a queue above is written as that, which is what holds.
    """
    resources = _resources(program, partition, divided=divided)
    said = {
        queue.id: _of_part(queue, partition, resources, divided=divided)
        for queue in program.queues
        if queue.id in names
    }
    # Parents stand before their children.
    limits: dict[str | None, Mapping[str, Amount]] = {None: {}}
    for queue in program.queues:
        if queue.id in said:
            own, above = said[queue.id].limit, limits[queue.parent]
            limits[queue.id] = {r: smaller(own.get(r, UNLIMITED), above.get(r, UNLIMITED)) for r in resources}
    amounts: dict[str, QueueAmounts] = {}
    for queue in reversed(program.queues):
        if queue.id in said:
            below = [amounts[child] for child in queue.children if child in amounts]
            amounts[queue.id] = _amounts(said[queue.id], limits[queue.id], below)
    return amounts


def written_name(resource: str) -> str:
    """Return the name under which pods ask for a resource."""
    return GPU_RESOURCE if resource == GPU else resource


def written(amounts: Amounts) -> dict[str, str]:
    """Return the quantities of a Queue's field."""
    return {written_name(resource): _text(resource, amount) for resource, amount in amounts.items()}


def least(resource: str, amount: int) -> int:
    """Return a limit as it is written: of no cpu and of no memory, the least there is."""
    return max(amount, 1) if resource in (CPU, MEMORY) else amount


@dataclass(frozen=True, slots=True)
class _DeclaredAmounts:
    guaranteed: Mapping[str, Amount]
    limit: Mapping[str, Amount]
    lending: Mapping[str, Amount]


def _amounts(said: _DeclaredAmounts, limits: Mapping[str, Amount], below: list[QueueAmounts]) -> QueueAmounts:
    guarantee: dict[str, int] = {}
    deserved: dict[str, int] = {}
    capability: dict[str, int] = {}
    for resource, limit in limits.items():
        promised = said.guaranteed.get(resource, 0)
        deserved[resource] = max(_whole(resource, promised), sum(child.deserved.get(resource, 0) for child in below))
        kept = max(
            _kept_back(resource, promised, said.lending), sum(child.guarantee.get(resource, 0) for child in below)
        )
        if kept:
            guarantee[resource] = kept
        if not isinstance(said.limit.get(resource, UNLIMITED), Unlimited):
            # A promise above a limit is refused by a check; it comes this far only if that is turned off.
            capability[resource] = max(least(resource, _whole(resource, limit)), deserved[resource])
    return QueueAmounts(guarantee, deserved, capability)


def _kept_back(resource: str, promised: Amount, lending: Mapping[str, Amount]) -> int:
    """Return what of a promise is never lent."""
    lent = lending.get(resource, UNLIMITED)
    if isinstance(promised, Unlimited) or isinstance(lent, Unlimited) or not is_over(promised, lent):
        return 0
    return _whole(resource, promised) - _whole(resource, smaller(promised, lent))


def _resources(program: Program, partition: Partition, *, divided: bool) -> tuple[str, ...]:
    """Return the resources that objects of a part speak of: those that any queue of the policy speaks of."""
    if divided and partition.model is not None:
        return (GPU,)
    declared_resources = {r for queue in program.queues for r in (*queue.guaranteed, *queue.limit)}
    counted = {GPU if r.startswith(_MODEL_PREFIX) else r for r in declared_resources}
    ordered = [r for r in (CPU, MEMORY, GPU) if r in counted]
    return (*ordered, *sorted(counted - set(ordered)))


def _of_part(queue: Queue, partition: Partition, resources: Iterable[str], *, divided: bool) -> _DeclaredAmounts:
    """Return what the policy says of a queue in one part of the cluster, GPUs as one resource.

    Undivided, GPUs are one resource. Where models are told apart, the part without a model holds what the policy says
    of cpu, memory and other devices, and has no GPUs; a model's part counts its GPUs alone, because how much of a
    queue's cpu belongs beside which GPUs is nowhere said.
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
    """Return an amount that can be written: GPUs lose what is less than a whole one."""
    number = 0 if isinstance(amount, Unlimited) else amount
    return number // 1000 if resource == GPU else number


def _text(resource: str, amount: int) -> str:
    if resource == CPU:
        return cpu_text(amount)
    return memory_text(amount) if resource == MEMORY else str(amount)
