"""Which GPU models a program's amounts tell apart, and guarantees without saying of which model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apportion_compiler.ir.program import Program, Queue
from apportion_policy.quantity import Amount, Unlimited
from apportion_policy.resources import GPU, gpu_resource

_PREFIX = f"{GPU}/"


def counted_models(program: Program) -> tuple[str, ...]:
    """Return the GPU models that quotas must tell apart: those of the cluster's pools, if a queue counts by model.

    Empty where no queue counts by model, or where there is one model only, so that GPUs are all alike. Of a cluster
    whose pools are not declared, the models are those that queues speak of.
    """
    spoken = {
        resource.removeprefix(_PREFIX)
        for queue in program.queues
        for resource in (*queue.guaranteed, *queue.limit)
        if resource.startswith(_PREFIX)
    }
    present = {pool.gpu_model for pool in program.pools if pool.gpu_model is not None}
    models = present if program.pools else spoken
    return tuple(sorted(models)) if spoken and len(models) > 1 else ()


def model_only_bounds(program: Program) -> Iterator[tuple[Queue, tuple[str, ...]]]:
    """Yield queues with bounds on GPU models that a count of all GPUs together cannot hold, and those resources.

    It can hold them where the queue's models have a finite sum: that is a bound, if a weaker one.
    """
    if not counted_models(program):
        return
    for queue in program.queues:
        named = tuple(r for r, a in queue.limit.items() if r.startswith(_PREFIX) and not isinstance(a, Unlimited))
        if named and isinstance(queue.limit.get(GPU, Unlimited.UNLIMITED), Unlimited):
            yield queue, named


def promised_of_any_model(program: Program) -> Iterator[Queue]:
    """Yield the queues with a bounded promise of GPUs that names no model, where models must be told apart.

    An inner queue is named only for what it adds to its children's.
    """
    models = counted_models(program)
    if not models:
        return
    rest = {queue.id: _without_model(queue.guaranteed, models) for queue in program.queues}
    for queue in program.queues:
        if rest[queue.id] > sum(rest[child] for child in queue.children):
            yield queue


def _without_model(guaranteed: Mapping[str, Amount], models: tuple[str, ...]) -> int:
    total = guaranteed.get(GPU, 0)
    if isinstance(total, Unlimited):
        return 0
    named = 0
    for model in models:
        amount = guaranteed.get(gpu_resource(model), 0)
        if isinstance(amount, Unlimited):
            return 0
        named += amount
    return max(total - named, 0)
