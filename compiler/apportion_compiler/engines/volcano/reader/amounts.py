"""Amounts of a Volcano Queue in the policy's units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apportion_api.fields import Written
from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_api.volcano.objects import Queue
from apportion_compiler.engines.volcano.emit.resource_lists import is_counted
from apportion_compiler.readers.record import Note
from apportion_policy.errors import QuantityError
from apportion_policy.quantity import Amount, kubernetes_units, kubernetes_value
from apportion_policy.resources import CPU, GPU, MEMORY

_SCALES = {CPU: 1000, GPU_RESOURCE: 1000}
_LEAST = 1
"""Substitutes for a limit of 0 for cpu and memory: Volcano treats 0 as unlimited."""


@dataclass(frozen=True, slots=True)
class DeclaredAmounts:
    """The amounts of an object, in the policy's terms."""

    guaranteed: Mapping[str, Amount]
    limit: Mapping[str, Amount]
    lending: Mapping[str, Amount]


def declared_amounts_of(queue: Queue, notes: list[Note]) -> DeclaredAmounts:
    """Return the amounts of an object; a reserved amount above `deserved` is imported as guaranteed.

    Raises:
        ValueError: If an amount is not a quantity, or negative.
    """
    deserved = _amounts(queue, notes, "deserved", queue.deserved)
    kept = _amounts(queue, notes, "guarantee.resource", queue.guarantee)
    guaranteed = {r: max(deserved.get(r, 0), kept.get(r, 0)) for r in {**deserved, **kept}}
    limit: dict[str, Amount] = {}
    for resource, amount in _amounts(queue, notes, "capability", queue.capability).items():
        if resource in (CPU, MEMORY) and amount == 0:
            notes.append(Note(str(queue), f"a capability of 0 {resource} is dropped: Volcano treats it as unlimited"))
            continue
        is_least = resource in (CPU, MEMORY) and amount == _LEAST
        limit[resource] = 0 if is_least else amount
    lending: dict[str, Amount] = {r: guaranteed[r] - amount for r, amount in kept.items() if amount > 0}
    return DeclaredAmounts(dict(guaranteed), limit, lending)


def _amounts(queue: Queue, notes: list[Note], field: str, written: Mapping[str, Written]) -> dict[str, int]:
    amounts: dict[str, int] = {}
    for name, value in written.items():
        at = f"spec.{field}[{name}]"
        if not is_counted(name):
            notes.append(Note(str(queue), f"{at} is dropped: Volcano does not count this resource"))
            continue
        scale = _SCALES.get(name, 1)
        try:
            exact = kubernetes_value(value)
        except QuantityError as refused:
            raise ValueError(f"{queue}: {at}: {refused}") from None
        if exact < 0:
            raise ValueError(f"{queue}: {at}: {value} is negative")
        amount = kubernetes_units(str(value), scale)
        if amount != exact * scale:
            notes.append(Note(str(queue), f"{at} is {value}: rounded up, as in Volcano"))
        amounts[GPU if name == GPU_RESOURCE else name] = amount
    return amounts
