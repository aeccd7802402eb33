"""Amounts above 2^63-1 base units, which exceed the range of a Kubernetes quantity.

No declared quantity is that large, but sums over children, machines or GPU models can be. The API server would store
2^63-1 instead, without an error.

Source: k8s.io/apimachinery pkg/api/resource/quantity.go (ParseQuantity caps at maxAllowed).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apportion_compiler.backends.capability import Refusal
from apportion_compiler.ir.program import Program, Queue
from apportion_policy.quantity import MAX_AMOUNT, Amount, Unlimited
from apportion_policy.resources import CPU, GPU, MEMORY, amount_text

_HINT = "lower the amounts to the cluster's capacity"


def declared_beyond_largest(program: Program) -> Iterator[Refusal]:
    """Yield a refusal of each guarantee, limit and lending limit that exceeds the largest quantity."""
    for queue in program.queues:
        yield from beyond_largest(queue, "a guarantee", queue.guaranteed)
        yield from beyond_largest(queue, "a limit", queue.limit)
        yield from beyond_largest(queue, "a lending limit", queue.lending_limit)


def beyond_largest(queue: Queue, field: str, amounts: Mapping[str, Amount]) -> Iterator[Refusal]:
    """Yield a refusal of each amount of a field that exceeds the largest quantity.

    Args:
        queue: The queue whose object has the field.
        field: The field's name in the policy or in the engine's object.
        amounts: Amounts by the IR's resource name, in the IR's units.
    """
    for resource, amount in amounts.items():
        if not isinstance(amount, Unlimited) and amount > MAX_AMOUNT:
            yield Refusal(
                "AP519",
                f"queue {queue.id}",
                queue.source,
                f"{field} of {amount_text(resource, amount)}: the largest quantity is 2^63-1 {_unit(resource)}",
                _HINT,
            )


def overflowing_total(program: Program, resource: str, amount: int) -> Refusal:
    """Return the refusal of a cluster's amounts whose sum the engine cannot represent."""
    return Refusal(
        "AP519",
        f"cluster {program.environment}/{program.cluster}",
        program.source,
        f"{amount_text(resource, amount)} in total: the sum overflows a 64-bit integer",
        _HINT,
    )


def _unit(resource: str) -> str:
    if resource == GPU or resource.startswith(f"{GPU}/"):
        return "thousandths of a GPU"
    return {CPU: "millicores", MEMORY: "bytes"}.get(resource, "devices")
