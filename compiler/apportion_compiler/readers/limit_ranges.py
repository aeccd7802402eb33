"""LimitRange: limits and defaults for containers of a queue's namespaces, as far as a policy supports them.

Apportion's own LimitRanges are imported for every engine, others only with the plain objects. The default one that
accompanies a quota is omitted. Items for pods and claims are not imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_compiler.backends.limit_ranges import DEFAULT_REQUESTS, LIMIT_RANGE, LIMIT_RANGE_FIELDS
from apportion_compiler.kubernetes_names import object_name
from apportion_compiler.plain_objects import described, items, mapping, name_of, of_kind, text
from apportion_compiler.readers.objects import is_ours
from apportion_compiler.readers.record import ImportRecord, Manifest, QueueRecord
from apportion_policy.errors import QuantityError
from apportion_policy.limit_range import LimitRange
from apportion_policy.quantity import (
    Amount,
    Unlimited,
    count_text,
    cpu_text,
    gpu_text,
    memory_text,
    parse_count,
    parse_cpu,
    parse_gpu,
    parse_memory,
)
from apportion_policy.resources import CPU, MEMORY, Resources

_CONTAINER = "Container"
_QUANTITIES: Mapping[str, tuple[Callable[[str], Amount], Callable[[Amount], str]]] = {
    CPU: (parse_cpu, cpu_text),
    MEMORY: (parse_memory, memory_text),
    GPU_RESOURCE: (parse_gpu, gpu_text),
}


def with_limit_ranges(record: ImportRecord, manifests: Sequence[Manifest], *, foreign: bool) -> ImportRecord:
    """Return the record with the limit ranges of the first namespace of each queue that has any.

    Args:
        record: The queues.
        manifests: All objects.
        foreign: Whether to import limit ranges that Apportion did not emit.

    Raises:
        ValueError: If an amount is not a quantity.
    """
    found: dict[str, list[Manifest]] = {}
    for manifest in of_kind(manifests, "", "LimitRange"):
        if foreign or is_ours(manifest):
            found.setdefault(text(manifest, "metadata", "namespace") or "default", []).append(manifest)
    if not found:
        return record
    return replace(record, queues=tuple(_with_its_own(queue, found) for queue in record.queues))


def _with_its_own(queue: QueueRecord, found: Mapping[str, Sequence[Manifest]]) -> QueueRecord:
    there = next((found[namespace] for namespace in queue.namespaces if namespace in found), ())
    ranges = [each for manifest in there if (each := _limit_range(manifest)) is not None]
    if ranges == [_written_anyway(queue)]:
        return queue
    return replace(queue, limit_ranges=tuple(sorted(ranges, key=lambda each: each.name)))


def _written_anyway(queue: QueueRecord) -> LimitRange | None:
    """Return the LimitRange that the target `native` emits for a queue that declares none."""
    bounded = {r for r, amount in queue.limit.items() if not isinstance(amount, Unlimited)}
    defaults: dict[str, Any] = {resource: value for resource, value in DEFAULT_REQUESTS.values() if resource in bounded}
    return LimitRange(name=LIMIT_RANGE, default_request=Resources(**defaults)) if defaults else None


def _limit_range(manifest: Manifest) -> LimitRange | None:
    """Return a limit range as declared in a policy, None if it has no settings for containers."""
    of_containers = [each for each in items(manifest, "spec", "limits") if text(each, "type") == _CONTAINER]
    if len(of_containers) != 1 or object_name(name_of(manifest)) != name_of(manifest):
        return None
    fields = {
        field: resources
        for written, field in LIMIT_RANGE_FIELDS.items()
        if (resources := _resources(manifest, mapping(of_containers[0], written))) is not None
    }
    try:
        return LimitRange(name=name_of(manifest), **fields) if fields else None
    except ValueError:
        # Contradictory bounds, which the API server rejects.
        return None


def _resources(manifest: Manifest, amounts: Mapping[str, object]) -> Resources | None:
    """Return amounts as declared resources; unsupported ones are omitted."""
    kept: dict[str, Any] = {}
    extended: dict[str, str] = {}
    for resource, value in amounts.items():
        if "/" not in resource and resource not in _QUANTITIES:
            continue
        parse, write = _QUANTITIES.get(resource, (parse_count, count_text))
        try:
            amount = write(parse(str(value)))
        except QuantityError as refused:
            raise ValueError(f"{described(manifest)}: {resource}: {refused}") from None
        if resource in _QUANTITIES:
            kept["gpu" if resource == GPU_RESOURCE else resource] = amount
        else:
            extended[resource] = amount
    if not kept and not extended:
        return None
    return Resources(**kept, extended=extended or None)
