"""A policy with a different amount of one queue: the edit that an author would make, at the author's line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apportion_policy.policy import Policy
from apportion_policy.quantity import cpu_text, gpu_text, memory_text
from apportion_policy.queue import Queue
from apportion_policy.resources import CPU, GPU, MEMORY, Resources

_MODEL = f"{GPU}/"


@dataclass(frozen=True, slots=True)
class QuotaEdit:
    """A new amount.

    Attributes:
        queue: Id of the queue.
        field: `guaranteed` or `limit`.
        resource: `cpu`, `memory`, `gpu` or `gpu/<model>`.
        amount: The amount in base units.
    """

    queue: str
    field: str
    resource: str
    amount: int


def edited(policy: Policy, edits: Sequence[QuotaEdit]) -> Policy:
    """Return a policy with different amounts. Raises `ValueError` if an amount is a number of machines."""
    queues = policy.queues
    for edit in edits:
        queues = tuple(_edited(queue, edit) for queue in queues)
    return policy.model_copy(update={"queues": queues})


def _edited(queue: Queue, edit: QuotaEdit) -> Queue:
    if queue.id == edit.queue:
        return queue.model_copy(update={edit.field: _with_amount(getattr(queue, edit.field), edit)})
    if not queue.children:
        return queue
    children = tuple(_edited(child, edit) for child in queue.children)
    return queue if children == queue.children else queue.model_copy(update={"children": children})


def _with_amount(held: Resources | None, edit: QuotaEdit) -> Resources:
    if held is not None and held.machines is not None:
        raise ValueError(f"{edit.field} of {edit.queue} is declared as a number of machines")
    values: dict[str, Any] = {} if held is None else {name: getattr(held, name) for name in held.model_fields_set}
    if edit.resource.startswith(_MODEL):
        models = values.get("gpu")
        kept = dict(models) if isinstance(models, Mapping) else {}
        values["gpu"] = {**kept, edit.resource.removeprefix(_MODEL): gpu_text(edit.amount)}
    elif edit.resource == GPU:
        values["gpu"] = gpu_text(edit.amount)
    else:
        values[edit.resource] = {CPU: cpu_text, MEMORY: memory_text}[edit.resource](edit.amount)
    return Resources(**values)
