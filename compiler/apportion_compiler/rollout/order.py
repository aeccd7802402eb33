"""Dependencies between the writes of a wave: the fewest with which every remaining order is valid.

A wave is in an order that the engine accepts. Most of its writes are independent, and can be applied concurrently. A
write waits for an earlier one if one of the two queues is an ancestor of the other before, during or after the wave; if
the earlier one frees an amount among siblings that the later one needs; or if it claims what the earlier one had.
"""

from __future__ import annotations

from collections.abc import Iterable

from apportion_compiler.rollout.queue_state import QueueEntry, State
from apportion_compiler.rollout.waves import Wave


def waits_of(before: State, wave: Wave) -> tuple[frozenset[str], ...]:
    """Return, for each write of a wave, the names of the queues whose writes it waits for.

    Args:
        before: The queues before the wave, which is not modified.
        wave: The wave.
    """
    after = before.copy()
    for queue in wave.applies:
        after.apply(queue)
    state = before.copy()
    done: list[_OrderedWrite] = []
    waits: list[frozenset[str]] = []
    for queue in wave.applies:
        was = state.queues.get(queue.name)
        relatives = _above(was, (before, state, after)) | _above(queue, (before, state, after))
        state.apply(queue)
        relatives |= _above(queue, (state,))
        write = _OrderedWrite(was, queue, relatives)
        waits.append(frozenset(earlier.name for earlier in done if write.waits_for(earlier)))
        done.append(write)
    return tuple(waits)


def _above(queue: QueueEntry | None, states: Iterable[State]) -> set[str]:
    if queue is None:
        return set()
    found: set[str] = set()
    for state in states:
        held = state.queues.get(queue.name, queue)
        for start in (held, queue):
            found.add(start.parent)
            found.update(above.name for above in state.above(start))
    return found


class _OrderedWrite:
    """A write with its changes."""

    __slots__ = ("_above", "_freed", "_from", "_needed", "_to", "name")

    def __init__(self, was: QueueEntry | None, queue: QueueEntry, above: set[str]) -> None:
        self.name = queue.name
        self._above = above
        self._from = was.parent if was is not None and was.gives(queue) else None
        self._to = queue.parent if was is None or queue.gives(was) else None
        self._freed = was.claims - queue.claims if was is not None else frozenset[str]()
        self._needed = queue.claims - was.claims if was is not None else queue.claims

    def waits_for(self, earlier: _OrderedWrite) -> bool:
        """Return whether an earlier write of the wave must precede this one."""
        if earlier.name in self._above or self.name in earlier._above:
            return True
        if earlier._from is not None and earlier._from == self._to:
            return True
        return bool(earlier._freed & self._needed)
