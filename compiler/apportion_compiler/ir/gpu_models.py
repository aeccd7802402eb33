"""GPU models that a program's quotas distinguish, and guarantees without a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apportion_compiler.ir.once_per_program import once_per_program
from apportion_compiler.ir.program import Program, Queue
from apportion_policy.quantity import Amount, Unlimited
from apportion_policy.resources import GPU, gpu_resource

_PREFIX = f"{GPU}/"


@once_per_program
def counted_models(program: Program) -> tuple[str, ...]:
    """Return the GPU models that quotas must distinguish: those of the cluster's pools, if a queue counts by model.

    Empty if no queue counts by model, or if there is only one model. If the cluster's pools are not declared, the
    models are those that queues declare.
    """
    declared = {
        resource.removeprefix(_PREFIX)
        for queue in program.queues
        for resource in (*queue.guaranteed, *queue.limit)
        if resource.startswith(_PREFIX)
    }
    present = {pool.gpu_model for pool in program.pools if pool.gpu_model is not None}
    models = present if program.pools else declared
    return tuple(sorted(models)) if declared and len(models) > 1 else ()


def model_only_bounds(program: Program) -> Iterator[tuple[Queue, tuple[str, ...]]]:
    """Yield queues with limits on GPU models that a total of all GPUs cannot represent, and those resources.

    It can represent them if the sum of the queue's models is finite, which is a weaker limit.
    """
    if not counted_models(program):
        return
    for queue in program.queues:
        named = tuple(r for r, a in queue.limit.items() if r.startswith(_PREFIX) and not isinstance(a, Unlimited))
        if named and isinstance(queue.limit.get(GPU, Unlimited.UNLIMITED), Unlimited):
            yield queue, named


def promised_of_any_model(program: Program) -> Iterator[Queue]:
    """Yield the queues with a finite guarantee of GPUs without a model, if models must be distinguished.

    An inner queue is included only if its guarantee exceeds its children's.
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
