"""Waves of updates from one tree of queues to another, as few as possible.

A webhook evaluates one object at a time, against the current state of the cluster. A wave writes each queue at most
once, then deletes. First, all queues are written whose final state is accepted: parents grow before their children,
children shrink before their parents, queues move where there is room; then removed queues are deleted, children first.
This is usually enough. Otherwise, three steps free capacity without taking from a queue what it has both before and
after:

1. A moving queue is temporarily placed below the root, where amounts are not summed.

2. Removed queues are deleted, children first.

3. Every remaining queue gets, for each resource, the smaller of its current and final amount, children first.

Then all queues are written in their final state, parents first. If both trees are valid, so is every intermediate
state: amounts below the smaller of two sums add up to at most the smaller of the two limits.

Before queues are deleted, missing ones are created, without amounts and claims of other queues: after a rename, there is
always a queue to submit work to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from apportion_compiler.plain_objects import Manifest, name_of
from apportion_compiler.rollout.queue_state import Model, QueueEntry, State


@dataclass(frozen=True, slots=True)
class Wave:
    """Writes in order, each of another queue, then deletions in order."""

    applies: tuple[QueueEntry, ...]
    deletes: tuple[QueueEntry, ...]


def waves(former: Iterable[Manifest], wanted: Iterable[Manifest], model: Model) -> tuple[Wave, ...]:
    """Return the waves from a cluster's queues to the wanted ones; none if nothing changes.

    Args:
        former: Its queues, as emitted or as stored. Unmanaged queues must be excluded, or they are deleted; the
            engine's own never are.
        wanted: All wanted queues.
        model: The model of the engine.

    Both trees are assumed to be valid. A queue that does not change is in no wave.
    """
    state, goal = states(former, wanted, model)
    if not model.refuses:
        return tuple(_in_one_go(state, goal, model))
    return tuple(_waves(state, goal, model))


def states(former: Iterable[Manifest], wanted: Iterable[Manifest], model: Model) -> tuple[State, State]:
    """Return the current and the wanted state."""
    shall = [model.read(manifest) for manifest in wanted]
    names = {queue.name for queue in shall}
    has = [model.read(m) for m in former if name_of(m) in names or name_of(m) not in model.engines_own]
    ours = frozenset(names | {queue.name for queue in has})
    return State(has, model.root, ours), State(shall, model.root, ours)


def _waves(state: State, goal: State, model: Model) -> Iterator[Wave]:
    while wave := _nonempty(
        chain(_as_far_as_it_goes(state, goal, model), _begun(state, goal, model)), _deletions(state, goal)
    ):
        yield wave
    if wave := _nonempty(chain(_below_root(state, goal, model), _begun(state, goal, model)), _deletions(state, goal)):
        yield wave
    if wave := _nonempty(_lowered(state, goal, model)):
        yield wave
    if wave := _nonempty(_final(state, goal)):
        yield wave


def _in_one_go(state: State, goal: State, model: Model) -> Iterator[Wave]:
    applies = [*_as_far_as_it_goes(state, goal, model), *_final(state, goal)]
    if wave := _nonempty(applies, _deletions(state, goal)):
        yield wave


def _nonempty(applies: Iterable[QueueEntry], deletes: Iterable[QueueEntry] = ()) -> Wave | None:
    # Deletions are generated after the writes, and so see their results.
    wave = Wave(tuple(applies), tuple(deletes))
    return wave if wave.applies or wave.deletes else None


def _as_far_as_it_goes(state: State, goal: State, model: Model) -> Iterator[QueueEntry]:
    """Write final states as long as any is accepted."""
    moving = True
    while moving:
        moving = False
        for names in (list(reversed(state.parents_first())), goal.parents_first()):
            for name in names:
                if name in goal.queues and state.differs(name, goal) and model.takes(state, goal.queues[name]):
                    moving = True
                    yield _write(state, goal.queues[name])


def _final(state: State, goal: State) -> Iterator[QueueEntry]:
    for name in goal.parents_first():
        if state.differs(name, goal):
            yield _write(state, goal.queues[name])


def _begun(state: State, goal: State, model: Model) -> Iterator[QueueEntry]:
    """Create missing queues, without amounts and claims of others, if any queue is about to be deleted."""
    if not any(name not in goal.queues and not state.below(name) for name in state.queues):
        return
    for name in goal.parents_first():
        if name not in state.queues:
            queue = model.read(model.begun(goal.queues[name]))
            if model.takes(state, queue):
                yield _write(state, queue)


def _deletions(state: State, goal: State) -> Iterator[QueueEntry]:
    """Delete removed queues without children, children first."""
    for name in reversed(state.parents_first()):
        if name not in goal.queues and not state.below(name):
            yield state.delete(name)


def _below_root(state: State, goal: State, model: Model) -> Iterator[QueueEntry]:
    for name in state.parents_first():
        queue, shall = state.queues[name], goal.queues.get(name)
        if shall is not None and queue.parent != model.root and model.leaves(queue, shall):
            yield _write(state, model.read(model.at_root(queue, shall)))


def _lowered(state: State, goal: State, model: Model) -> Iterator[QueueEntry]:
    for name in reversed(state.parents_first()):
        if name in goal.queues and state.differs(name, goal):
            queue = state.queues[name]
            less = model.read(model.lowered(queue, goal.queues[name], goal))
            if not less.is_equivalent(queue):
                yield _write(state, less)


def _write(state: State, queue: QueueEntry) -> QueueEntry:
    state.apply(queue)
    return queue
