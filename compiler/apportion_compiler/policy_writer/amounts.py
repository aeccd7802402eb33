"""Guarantees and limits of a queue as an author would write them, without default values.

A guarantee of 0 is omitted if 0 is the default. A resource that no queue would then declare is declared once at the
top, because undeclared resources are unmanaged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apportion_compiler.readers.record import Note, QueueRecord
from apportion_policy.quantity import UNLIMITED, Amount, add, count_text, cpu_text, gpu_text, memory_text
from apportion_policy.resources import CPU, GPU, MEMORY, Resources, gpu_resource

_MODEL = f"{GPU}/"


def guaranteed_amounts(queues: Sequence[QueueRecord]) -> Mapping[str, Resources | None]:
    """Return the `guaranteed` to write for each queue, by id; parents precede their children."""
    children: dict[str, list[str]] = {}
    for queue in queues:
        if queue.parent is not None:
            children.setdefault(queue.parent, []).append(queue.id)
    kept = {queue.id: _counted(queue.guaranteed) for queue in queues}
    written: dict[str, dict[str, Amount]] = {}
    for queue in reversed(queues):
        below = [kept[child] for child in children.get(queue.id, ())]
        filled = _filled(kept[queue.id], below)
        written[queue.id] = _said(kept[queue.id], filled)
        kept[queue.id] = {**filled, **kept[queue.id]}
    _say_once(queues, written)
    return {id_: resources_of(amounts) for id_, amounts in written.items()}


def bounds(amounts: Mapping[str, Amount], models: Sequence[str] = ()) -> Resources | None:
    """Return the limit or lending limit to write; unlimited amounts are omitted.

    `models` are those of a cluster without declared pools, on which a limit by model also limits the total of GPUs,
    unless the omitted models are explicitly UNLIMITED.
    """
    kept: dict[str, Amount] = {r: amount for r, amount in _counted(amounts).items() if amount is not UNLIMITED}
    if any(resource.startswith(_MODEL) for resource in kept):
        for model in models:
            kept.setdefault(gpu_resource(model), UNLIMITED)
    return resources_of(kept)


def amount_notes(queue: QueueRecord) -> Iterator[Note]:
    """Yield a note if GPUs are counted both by model and in total, and the two disagree: a policy counts in one way."""
    for field, amounts in (("guaranteed", queue.guaranteed), ("limit", queue.limit)):
        models = [amount for resource, amount in amounts.items() if resource.startswith(_MODEL)]
        total: Amount = 0
        for amount in models:
            total = add(total, amount)
        if models and amounts.get(GPU, total) != total:
            yield Note(
                queue.object,
                f"the total in `{field}` (gpu: {gpu_text(amounts[GPU])}) is dropped, because the amounts per model are kept",
            )


def resources_of(amounts: Mapping[str, Amount]) -> Resources | None:
    """Return amounts in base units as declared resources; None if there are none."""
    fields: dict[str, Any] = {}
    models: dict[str, str] = {}
    extended: dict[str, str] = {}
    for resource, amount in amounts.items():
        if resource == CPU:
            fields[CPU] = cpu_text(amount)
        elif resource == MEMORY:
            fields[MEMORY] = memory_text(amount)
        elif resource == GPU:
            fields[GPU] = gpu_text(amount)
        elif resource.startswith(_MODEL):
            models[resource.removeprefix(_MODEL)] = gpu_text(amount)
        else:
            extended[resource] = count_text(amount)
    if models:
        fields[GPU] = dict(sorted(models.items()))
    if extended:
        fields["extended"] = dict(sorted(extended.items()))
    return Resources(**fields) if fields else None


def _counted(amounts: Mapping[str, Amount]) -> dict[str, Amount]:
    """Return amounts without the total of GPUs if they are counted by model."""
    by_model = any(resource.startswith(_MODEL) for resource in amounts)
    return {resource: amount for resource, amount in amounts.items() if not (by_model and resource == GPU)}


def _filled(own: Mapping[str, Amount], below: Sequence[Mapping[str, Amount]]) -> dict[str, Amount]:
    """Return the default guarantee."""
    filled: dict[str, Amount] = dict.fromkeys(own, 0)
    for amounts in below:
        for resource, amount in amounts.items():
            filled[resource] = add(filled.get(resource, 0), amount)
    return filled


def _said(own: Mapping[str, Amount], filled: Mapping[str, Amount]) -> dict[str, Amount]:
    declared = {r: a for r, a in own.items() if not r.startswith(_MODEL) and (a != 0 or filled.get(r, 0) != a)}
    models = {r: own.get(r, 0) for r in (*own, *filled) if r.startswith(_MODEL)}
    if any(r.startswith(_MODEL) for r in own) and any(a != 0 or filled.get(r, 0) != a for r, a in models.items()):
        # A queue that counts by model guarantees nothing of the models that it omits.
        some = {r: a for r, a in models.items() if a != 0}
        declared.update(some or models)
    return declared


def _say_once(queues: Sequence[QueueRecord], written: Mapping[str, dict[str, Amount]]) -> None:
    """Add a guarantee of 0 to the top-level queues for every resource without another amount."""
    mentioned = {r for amounts in written.values() for r in amounts}
    mentioned |= {r for queue in queues for r, amount in _counted(queue.limit).items() if amount is not UNLIMITED}
    managed = {r for queue in queues for r in _counted(queue.guaranteed)}
    gpus = {r for r in managed if r == GPU or r.startswith(_MODEL)}
    silent = sorted(managed - mentioned)
    if any(r == GPU or r.startswith(_MODEL) for r in mentioned):
        silent = [r for r in silent if r not in gpus or r.startswith(_MODEL)]
    for queue in queues:
        if queue.parent is None:
            own = written[queue.id]
            # GPUs are counted in one way: by model, or in total.
            altogether = GPU in own
            own.update((r, 0) for r in silent if r not in own and not (altogether and r in gpus))
