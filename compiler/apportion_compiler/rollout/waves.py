"""From one tree of queues to another in as few waves as it takes.

A webhook evaluates one object at a time, against what the cluster has at that moment. A wave writes each queue at most
once, then deletes. First everything is written as it shall be that is taken as it stands: parents grow before their
children, children shrink before their parents, queues move where there is room; then what goes is deleted, children
first. Mostly that is all. Where it comes to an end, three things make room, and none takes from a queue what it has
before and after:

1. A queue that moves hangs below the root for a moment, where nobody sums up.
2. What goes is deleted, children first.
3. Every queue that is left gets, of each resource, the smaller of what it has and what it shall have, children first.

Then everything is written as it shall be, parents first. Of trees that are valid before and after, every state on the
way is valid: amounts below the smaller of two sums add up to no more than the smaller of the two bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from apportion_compiler.plain_objects import Manifest, name_of
from apportion_compiler.rollout.queue_state import Model, QueueEntry, State


@dataclass(frozen=True, slots=True)
class Wave:
    """Writes in order, each of another queue, then deletions in order."""

    applies: tuple[QueueEntry, ...]
    deletes: tuple[QueueEntry, ...]


def waves(former: Iterable[Manifest], wanted: Iterable[Manifest], model: Model) -> tuple[Wave, ...]:
    """Return the waves from the queues that a cluster has to those that it shall have; none where nothing changes.

    Args:
        former: Its queues, as emitted or as the cluster holds them. Those that nobody manages here are to be left out,
            or they are deleted; the engine's own never are.
        wanted: The queues that shall be there, all of them.
        model: The engine's.

    Both trees are taken to be valid. A queue that does not change is in no wave.
    """
    state, goal = states(former, wanted, model)
    if not model.refuses:
        return tuple(_in_one_go(state, goal, model))
    return tuple(_waves(state, goal, model))


def states(former: Iterable[Manifest], wanted: Iterable[Manifest], model: Model) -> tuple[State, State]:
    """Return the state that is and the one that shall be."""
    shall = [model.read(manifest) for manifest in wanted]
    names = {queue.name for queue in shall}
    has = [model.read(m) for m in former if name_of(m) in names or name_of(m) not in model.engines_own]
    ours = frozenset(names | {queue.name for queue in has})
    return State(has, model.root, ours), State(shall, model.root, ours)


def _waves(state: State, goal: State, model: Model) -> Iterator[Wave]:
    while wave := _nonempty(_as_far_as_it_goes(state, goal, model), _deletions(state, goal)):
        yield wave
    if wave := _nonempty(_below_root(state, goal, model), _deletions(state, goal)):
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
    # The deletions are drawn after the writes, and so see what these leave.
    wave = Wave(tuple(applies), tuple(deletes))
    return wave if wave.applies or wave.deletes else None


def _as_far_as_it_goes(state: State, goal: State, model: Model) -> Iterator[QueueEntry]:
    """Write final values as long as any is taken."""
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


def _deletions(state: State, goal: State) -> Iterator[QueueEntry]:
    """Delete what goes and has nothing below it, children first."""
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
