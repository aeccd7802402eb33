"""Negative amounts and durations of queues, which the engine accepts: -1, an unlimited quota or limit, alone is valid.

Source: pkg/scheduler/plugins/proportion (proportion.go, resource_division/resource_division.go, capacity_policy),
plugins/minruntime, KAI at d5bc503a.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from apportion_api.fields import dotted
from apportion_runtime.core.resources import UNLIMITED
from apportion_runtime.snapshots.faults import IGNORED_VALUE, Fault, ObjectLocation, Path

_BOUNDS = ("quota", "limit")
_HINT = "use -1 for unlimited, or an amount of 0 or more"


def negative_amounts(
    queue: str, place: ObjectLocation | None, amounts: Iterable[tuple[Path, float]], clamped: Collection[str] = ()
) -> Iterator[Fault]:
    """Yield the faults of a queue's amounts.

    Args:
        queue: The name of the queue.
        place: Its location.
        amounts: The amounts as they are written, and the path to each: its last two steps are the resource, and
            `quota`, `limit` or the name of the weight.
        clamped: The resources whose negative quotas and limits the engine reads as -1.
    """
    for path, amount in amounts:
        resource, field = path[-2:]
        if amount >= 0 or (field in _BOUNDS and amount == UNLIMITED):
            continue
        hint = _HINT
        if field not in _BOUNDS:
            effect = "the engine divides the surplus incorrectly among the queue and its siblings"
            hint = "use a weight of 0 or more"
        elif resource in clamped:
            effect = "the engine treats it as -1, which means unlimited"
        elif field == "limit":
            effect = f"no job that requests {resource} can start in the queue"
        else:
            effect = "the engine lets other queues share that much more"
        yield _fault(queue, place, path, f"`{dotted(path)}: {amount:g}` is negative: {effect}", hint)


def negative_runtimes(
    queue: str, place: ObjectLocation | None, runtimes: Iterable[tuple[Path, object, float]]
) -> Iterator[Fault]:
    """Yield the faults of a queue's minimum runtimes: for each its path, its notation and its seconds."""
    for path, written, seconds in runtimes:
        if seconds < 0:
            message = f"`{dotted(path)}: {written}` is negative: no job is protected, as with 0"
            yield _fault(queue, place, path, message, "use 0s, or a positive duration such as 90s or 1h30m")


def _fault(queue: str, place: ObjectLocation | None, path: Path, message: str, hint: str) -> Fault:
    return Fault(IGNORED_VALUE, f"queue {queue}", message, hint, None if place is None else place.at(*path))
