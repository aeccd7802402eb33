"""Queues in tree order, as listed in every output format of a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apportion_runtime.sim.report.summary import QueueSummary


def in_tree(queues: Sequence[QueueSummary]) -> Iterator[tuple[QueueSummary, int]]:
    """Yield queues with their depth: each below its parent, siblings by name."""
    below: dict[str | None, list[QueueSummary]] = {}
    names = {queue.name for queue in queues}
    for queue in queues:
        below.setdefault(queue.parent if queue.parent in names else None, []).append(queue)

    def walk(parent: str | None, depth: int) -> Iterator[tuple[QueueSummary, int]]:
        for queue in sorted(below.get(parent, ()), key=lambda found: found.name):
            yield queue, depth
            yield from walk(queue.name, depth + 1)

    yield from walk(None, 0)
