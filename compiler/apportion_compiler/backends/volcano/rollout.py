"""In which order to change a tree of queues so that Volcano's webhook takes each step.

The webhook judges one object at a time, against what the cluster has at that moment. First everything is written as it
shall be that the webhook takes as it stands: parents grow before their children, children shrink before their parents,
queues move where there is room. Where that comes to an end, three things make room, and none takes from a queue what it
has before and after:

1. A queue that moves hangs below root for a moment, where nobody sums up.
2. What goes is deleted, children first.
3. Every queue that is left gets, of each resource, the smaller of what it has and what it shall have, children first.

Then everything is written as it shall be, parents first. Of trees that are valid before and after, every state on the
way is valid: amounts below the smaller of two sums add up to no more than the smaller of the two bounds.

Source: pkg/webhooks/admission/queues/validate/validate_queue.go at ed72c7c81.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from apportion_compiler.backends.capability import Manifest
from apportion_compiler.backends.volcano.bounds import MAX_DEPTH
from apportion_compiler.backends.volcano.names import ROOT_QUEUE, SHARED_QUEUE
from apportion_compiler.backends.volcano.resource_lists import Counts, counts, short_of, total
from apportion_compiler.plain_objects import mapping, name_of, text

_VOLCANOS_OWN = frozenset({ROOT_QUEUE, SHARED_QUEUE})


@dataclass(frozen=True, slots=True)
class Step:
    """One write: an object to apply, or to delete."""

    action: Literal["apply", "delete"]
    manifest: Manifest


def rollout(former: Iterable[Manifest], wanted: Iterable[Manifest]) -> tuple[Step, ...]:
    """Return the steps from the Queues that a cluster has to those that it shall have.

    Args:
        former: Its Queue objects, as emitted or as the cluster holds them. Those that nobody manages here are to be left
            out, or they are deleted; Volcano's own two never are.
        wanted: The Queue objects that shall be there, all of them.

    Both trees are taken to be valid. A queue that does not change has no step; one that has two steps is applied with
    an intermediate value first.
    """
    goal = _State(map(_read, wanted))
    state = _State(_read(m) for m in former if name_of(m) in goal.queues or name_of(m) not in _VOLCANOS_OWN)
    steps = list(_as_far_as_it_goes(state, goal))
    steps += _below_root(state, goal)
    steps += _deletions(state, goal)
    steps += _smaller(state, goal)
    steps += (state.apply(goal.queues[name]) for name in goal.parents_first() if state.differs(name, goal))
    return tuple(steps)


@dataclass(frozen=True, slots=True)
class _Queue:
    """A Queue object, and what the webhook reads of it."""

    manifest: Manifest
    name: str
    parent: str
    kept: Counts
    promised: Counts
    limits: Counts

    def says_the_same(self, other: _Queue) -> bool:
        """Tell whether the webhook would find nothing to judge anew."""
        return (self.parent, self.kept, self.promised, self.limits) == (
            other.parent,
            other.kept,
            other.promised,
            other.limits,
        )


def _read(manifest: Manifest) -> _Queue:
    return _Queue(
        manifest,
        name_of(manifest),
        text(manifest, "spec", "parent") or ROOT_QUEUE,
        *(counts(_listed(manifest, field)) for field in ("guarantee", "deserved", "capability")),
    )


def _listed(manifest: Manifest, field: str) -> Mapping[str, object]:
    return mapping(manifest, "spec", *(("guarantee", "resource") if field == "guarantee" else (field,)))


class _State:
    """The queues at one moment, with each queue's children."""

    def __init__(self, queues: Iterable[_Queue]) -> None:
        self.queues = {queue.name: queue for queue in queues}
        self.children: dict[str, dict[str, None]] = {}
        for queue in self.queues.values():
            self.children.setdefault(queue.parent, {})[queue.name] = None

    def apply(self, queue: _Queue) -> Step:
        if queue.name in self.queues:
            del self.children[self.queues[queue.name].parent][queue.name]
        self.queues[queue.name] = queue
        self.children.setdefault(queue.parent, {})[queue.name] = None
        return Step("apply", queue.manifest)

    def delete(self, name: str) -> Step:
        queue = self.queues.pop(name)
        del self.children[queue.parent][name]
        return Step("delete", queue.manifest)

    def below(self, name: str) -> list[_Queue]:
        return [self.queues[child] for child in self.children.get(name, ())]

    def differs(self, name: str, goal: _State) -> bool:
        return name not in self.queues or self.queues[name].manifest != goal.queues[name].manifest

    def parents_first(self) -> list[str]:
        """Return all names, parents first; a queue whose parent is not here counts as a top-level one."""
        tops = [queue.name for queue in self.queues.values() if queue.parent not in self.queues]
        ordered: list[str] = []
        while tops:
            ordered += tops
            tops = [child for name in tops for child in self.children.get(name, ())]
        return ordered

    def above(self, queue: _Queue) -> Iterator[_Queue]:
        """Yield the queues above one that is here or shall be, the nearest first."""
        parent = queue.parent
        while parent in self.queues:
            yield self.queues[parent]
            parent = self.queues[parent].parent


def _as_far_as_it_goes(state: _State, goal: _State) -> Iterator[Step]:
    """Write final values, and delete, as long as the webhook takes anything."""
    moving = True
    while moving:
        moving = False
        for name in reversed(state.parents_first()):
            if name not in goal.queues:
                if not state.below(name):
                    moving = True
                    yield state.delete(name)
            elif state.differs(name, goal) and _takes(state, goal.queues[name]):
                moving = True
                yield state.apply(goal.queues[name])
        for name in goal.parents_first():
            if state.differs(name, goal) and _takes(state, goal.queues[name]):
                moving = True
                yield state.apply(goal.queues[name])


def _below_root(state: _State, goal: _State) -> Iterator[Step]:
    for name in state.parents_first():
        queue, wanted = state.queues[name], goal.queues.get(name)
        if wanted is not None and wanted.parent != queue.parent != ROOT_QUEUE:
            yield state.apply(_with_spec(wanted, {**mapping(queue.manifest, "spec"), "parent": ROOT_QUEUE}))


def _deletions(state: _State, goal: _State) -> Iterator[Step]:
    for name in reversed(state.parents_first()):
        if name not in goal.queues:
            yield state.delete(name)


def _smaller(state: _State, goal: _State) -> Iterator[Step]:
    for name in reversed(state.parents_first()):
        if not state.differs(name, goal):
            continue
        queue, wanted = state.queues[name], goal.queues[name]
        changed = {
            "deserved": _least(queue, wanted, "deserved"),
            "guarantee": {"resource": _least(queue, wanted, "guarantee")},
            "capability": _bounded(queue, wanted, goal),
        }
        spec = {key: value for key, value in mapping(queue.manifest, "spec").items() if key not in changed}
        spec.update((key, value) for key, value in changed.items() if value not in ({}, {"resource": {}}))
        lowered = _with_spec(wanted, spec)
        if not lowered.says_the_same(queue):
            yield state.apply(lowered)


def _least(queue: _Queue, wanted: _Queue, field: str) -> dict[str, object]:
    """Return the smaller amount of each resource that both name; a name that one lacks is none of it."""
    has, shall = _listed(queue.manifest, field), _listed(wanted.manifest, field)
    left, right = counts(has), counts(shall)
    return {
        name: value if left.get(name, 0) <= right.get(name, 0) else shall[name]
        for name, value in has.items()
        if name in shall
    }


def _bounded(queue: _Queue, wanted: _Queue, goal: _State) -> dict[str, object]:
    """Return the queue's limits, none above what it or a queue above it shall have."""
    lowered: dict[str, object] = {}
    for name, value in _listed(queue.manifest, "capability").items():
        least, written = queue.limits.get(name, 0), value
        for bound in (wanted, *goal.above(wanted)):
            # The webhook takes a limit of 0 of an ancestor for none.
            if name in bound.limits and bound.limits[name] < least and (bound is wanted or bound.limits[name] > 0):
                least, written = bound.limits[name], _listed(bound.manifest, "capability")[name]
        lowered[name] = written
    return lowered


def _takes(state: _State, queue: _Queue) -> bool:
    """Tell whether the webhook would take a queue into a cluster as it is now."""
    before = state.queues.get(queue.name)
    if before is not None and before.says_the_same(queue):
        return True
    below = state.below(queue.name)
    if not _holds(queue, below) or not _bounds_descendants(state, queue):
        return False
    if queue.parent == ROOT_QUEUE:
        return True
    if not _has_place(state, queue) or not _bound_by_ancestors(state, queue):
        return False
    siblings = [other for other in state.below(queue.parent) if other.name != queue.name]
    return _holds(state.queues[queue.parent], [*siblings, queue])


def _has_place(state: _State, queue: _Queue) -> bool:
    """Tell whether a queue's parent is there, not below the queue itself, and not too deep."""
    if queue.parent not in state.queues:
        return False
    seen = {queue.name}
    for above in state.above(queue):
        if above.name in seen or len(seen) >= MAX_DEPTH:
            return False
        seen.add(above.name)
    return True


def _holds(parent: _Queue, children: Sequence[_Queue]) -> bool:
    """Tell whether a queue has what its children have together."""
    return (
        short_of(parent.kept, total(child.kept for child in children)) is None
        and short_of(parent.promised, total(child.promised for child in children)) is None
    )


def _bound_by_ancestors(state: _State, queue: _Queue) -> bool:
    return not any(
        amount > above.limits[name]
        for above in state.above(queue)
        for name, amount in queue.limits.items()
        if above.limits.get(name, 0) > 0
    )


def _bounds_descendants(state: _State, queue: _Queue) -> bool:
    own = {name: amount for name, amount in queue.limits.items() if amount > 0}
    below = state.below(queue.name)
    while below and own:
        child = below.pop()
        if any(amount > own[name] for name, amount in child.limits.items() if name in own):
            return False
        below += state.below(child.name)
    return True


def _with_spec(queue: _Queue, spec: Mapping[str, object]) -> _Queue:
    return _read({**queue.manifest, "spec": dict(spec)})
