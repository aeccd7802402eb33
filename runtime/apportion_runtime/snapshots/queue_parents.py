"""The parents of queues: which queues descend from a top-level queue, and the faults of the others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from apportion_runtime.core.queue_parents import broken_path, cycle_cure, cycle_text
from apportion_runtime.core.snapshot import Queue
from apportion_runtime.snapshots.faults import CYCLE, UNKNOWN_QUEUE, UNREADABLE, Fault, instead
from apportion_runtime.snapshots.record_locations import RecordLocations


def rooted(queues: Sequence[Queue]) -> frozenset[str]:
    """Return the queues that descend from a root; the engine ignores all others."""
    parents = {queue.name: queue.parent for queue in queues}
    below: set[str] = set()
    for name in parents:
        path: list[str] = []
        at: str | None = name
        while at and at in parents and at not in below and at not in path:
            path.append(at)
            at = parents[at]
        if not at or at in below:
            below.update(path)
    return frozenset(below)


def unreadable_queues(faults: Iterable[Fault]) -> frozenset[str]:
    """Return the queues that exist, but cannot be read."""
    return frozenset(
        fault.address.removeprefix("queue ")
        for fault in faults
        if fault.kind == UNREADABLE and fault.address.startswith("queue ")
    )


def parent_faults(
    queues: Sequence[Queue], places: RecordLocations, unreadable: Collection[str] = ()
) -> Iterator[Fault]:
    """Yield the faults of queues whose parent does not exist, and one for each cycle of parents.

    Args:
        queues: The queues.
        places: Their locations.
        unreadable: Queues that exist, but cannot be read.
    """
    parents = {queue.name: queue.parent for queue in queues}
    usable = rooted(queues)
    in_cycles: set[str] = set()
    for name in parents:
        broken = None if name in usable else broken_path(name, parents)
        if broken is None or name in in_cycles:
            continue
        place = places.at("Queue", name, "parent")
        if name in broken.cycle:
            in_cycles.update(broken.cycle)
            message = (
                f"queue `{name}` is its own parent"
                if len(broken.cycle) == 1
                else f"the parents of queue `{name}` form a cycle: {cycle_text(broken.cycle)}"
            )
            yield Fault(CYCLE, f"queue {name}", message, cycle_cure(broken.cycle), place)
        elif broken.missing is not None and broken.queue == name:
            missing = broken.missing
            problem = "cannot be read" if missing in unreadable else "does not exist"
            message = f"parent queue `{missing}` {problem}; the engine ignores the queue and its descendants"
            hint = f"correct queue `{missing}`" if missing in unreadable else instead(missing, usable)
            yield Fault(UNKNOWN_QUEUE, f"queue {name}", message, hint, place)
