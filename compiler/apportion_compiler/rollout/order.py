"""What in a wave must wait for what: as little as keeps every order that is left a valid one.

A wave is in an order that the engine takes. Most of its writes know nothing of each other, and whoever applies them
may do so at once. A write waits for an earlier one where one of the two queues is above the other, before, then or
after; where the earlier makes room among siblings and the later needs some; or where it takes what the earlier had.
"""

from __future__ import annotations

from collections.abc import Iterable

from apportion_compiler.rollout.queue_state import QueueEntry, State
from apportion_compiler.rollout.waves import Wave


def waits_of(before: State, wave: Wave) -> tuple[frozenset[str], ...]:
    """Return for each write of a wave the names of the queues whose writes it waits for.

    Args:
        before: The queues before the wave; it is left as it is.
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
    """A write with what it changes."""

    __slots__ = ("_above", "_freed", "_from", "_needed", "_to", "name")

    def __init__(self, was: QueueEntry | None, queue: QueueEntry, above: set[str]) -> None:
        self.name = queue.name
        self._above = above
        self._from = was.parent if was is not None and was.gives(queue) else None
        self._to = queue.parent if was is None or queue.gives(was) else None
        self._freed = was.claims - queue.claims if was is not None else frozenset[str]()
        self._needed = queue.claims - was.claims if was is not None else queue.claims

    def waits_for(self, earlier: _OrderedWrite) -> bool:
        """Tell whether an earlier write of the wave must be done before this one."""
        if earlier.name in self._above or self.name in earlier._above:
            return True
        if earlier._from is not None and earlier._from == self._to:
            return True
        return bool(earlier._freed & self._needed)
