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

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    goal = _State({name_of(m): m for m in wanted})
    state = _State({name_of(m): m for m in former if name_of(m) in goal.queues or name_of(m) not in _VOLCANOS_OWN})
    steps = list(_as_far_as_it_goes(state, goal))
    steps += _below_root(state, goal)
    steps += _deletions(state, goal)
    steps += _smaller(state, goal)
    steps += (state.apply(goal.queues[name]) for name in goal.parents_first() if state.differs(name, goal))
    return tuple(steps)


class _State:
    """The queues at one moment, with each queue's children."""

    def __init__(self, queues: Mapping[str, Manifest]) -> None:
        self.queues = dict(queues)
        self.children: dict[str, dict[str, None]] = {}
        for name, queue in self.queues.items():
            self.children.setdefault(_parent(queue), {})[name] = None

    def apply(self, queue: Manifest) -> Step:
        name = name_of(queue)
        if name in self.queues:
            del self.children[_parent(self.queues[name])][name]
        self.queues[name] = queue
        self.children.setdefault(_parent(queue), {})[name] = None
        return Step("apply", queue)

    def delete(self, name: str) -> Step:
        queue = self.queues.pop(name)
        del self.children[_parent(queue)][name]
        return Step("delete", queue)

    def below(self, name: str) -> Iterable[str]:
        return self.children.get(name, ())

    def differs(self, name: str, goal: _State) -> bool:
        return self.queues.get(name) != goal.queues[name]

    def parents_first(self) -> list[str]:
        """Return all names, parents first; whoever's parent is not here counts as a top-level queue."""
        tops = [name for name, queue in self.queues.items() if _parent(queue) not in self.queues]
        ordered: list[str] = []
        while tops:
            ordered += tops
            tops = [child for name in tops for child in self.below(name)]
        return ordered

    def above(self, queue: Manifest) -> Iterator[Manifest]:
        """Yield the queues above one that is here or shall be, the nearest first."""
        parent = _parent(queue)
        while parent in self.queues:
            yield self.queues[parent]
            parent = _parent(self.queues[parent])


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
        queue = state.queues[name]
        wanted = goal.queues.get(name)
        if wanted is not None and _parent(wanted) != _parent(queue) != ROOT_QUEUE:
            yield state.apply(_with_spec(wanted, {**mapping(queue, "spec"), "parent": ROOT_QUEUE}))


def _deletions(state: _State, goal: _State) -> Iterator[Step]:
    for name in reversed(state.parents_first()):
        if name not in goal.queues:
            yield state.delete(name)


def _smaller(state: _State, goal: _State) -> Iterator[Step]:
    for name in reversed(state.parents_first()):
        queue, wanted = state.queues[name], goal.queues[name]
        if not state.differs(name, goal):
            continue
        spec = dict(mapping(queue, "spec"))
        spec["deserved"] = _least(_listed(queue, "deserved"), _listed(wanted, "deserved"))
        spec["guarantee"] = {"resource": _least(_listed(queue, "guarantee"), _listed(wanted, "guarantee"))}
        spec["capability"] = _bounded(queue, wanted, goal)
        lowered = _with_spec(wanted, {key: value for key, value in spec.items() if value not in ({}, {"resource": {}})})
        if _amounts(lowered) != _amounts(queue):
            yield state.apply(lowered)


def _least(first: Mapping[str, object], second: Mapping[str, object]) -> dict[str, object]:
    """Return the smaller amount of each resource that both name; a name that one lacks is none of it."""
    left, right = counts(first), counts(second)
    return {
        name: value if left.get(name, 0) <= right.get(name, 0) else second[name]
        for name, value in first.items()
        if name in second
    }


def _bounded(queue: Manifest, wanted: Manifest, goal: _State) -> dict[str, object]:
    """Return the queue's limits, none above what it or a queue above it shall have."""
    bounds = [_listed(each, "capability") for each in (wanted, *goal.above(wanted))]
    lowered: dict[str, object] = {}
    for name, value in _listed(queue, "capability").items():
        written = {name: value}
        for number, bound in enumerate(bounds):
            # The webhook takes a limit of 0 of an ancestor for none.
            is_bound = name in bound and (number == 0 or counts(bound).get(name, 0) > 0)
            if is_bound and counts(bound).get(name, 0) < counts(written).get(name, 0):
                written = {name: bound[name]}
        lowered.update(written)
    return lowered


def _takes(state: _State, queue: Manifest) -> bool:
    """Tell whether the webhook would take a queue into a cluster as it is now."""
    name, parent = name_of(queue), _parent(queue)
    before = state.queues.get(name)
    if before is not None and parent == _parent(before) and _amounts(before) == _amounts(queue):
        return True
    if parent != ROOT_QUEUE and not _has_place(state, queue):
        return False
    return (
        (parent == ROOT_QUEUE or _fits(state, state.queues[parent], queue, name))
        and _bound_by_ancestors(state, queue)
        and _bounds_descendants(state, queue)
        and all(
            short_of(amounts(queue), total(amounts(state.queues[child]) for child in state.below(name))) is None
            for amounts in _SUMMED
        )
    )


def _has_place(state: _State, queue: Manifest) -> bool:
    """Tell whether a queue's parent is there, not below the queue itself, and not too deep."""
    if _parent(queue) not in state.queues:
        return False
    seen = {name_of(queue)}
    for above in state.above(queue):
        if name_of(above) in seen or len(seen) >= MAX_DEPTH:
            return False
        seen.add(name_of(above))
    return True


def _fits(state: _State, parent: Manifest, queue: Manifest, name: str) -> bool:
    siblings = [state.queues[other] for other in state.below(name_of(parent)) if other != name]
    return all(short_of(amounts(parent), total(map(amounts, (*siblings, queue)))) is None for amounts in _SUMMED)


def _bound_by_ancestors(state: _State, queue: Manifest) -> bool:
    own = _limits(queue)
    for above in state.above(queue):
        bound = _limits(above)
        if any(amount > bound[name] for name, amount in own.items() if bound.get(name, 0) > 0):
            return False
    return True


def _bounds_descendants(state: _State, queue: Manifest) -> bool:
    own = {name: amount for name, amount in _limits(queue).items() if amount > 0}
    below = list(state.below(name_of(queue)))
    while below and own:
        name = below.pop()
        if any(amount > own[r] for r, amount in _limits(state.queues[name]).items() if r in own):
            return False
        below += state.below(name)
    return True


def _parent(queue: Manifest) -> str:
    return text(queue, "spec", "parent") or ROOT_QUEUE


def _listed(queue: Manifest, field: str) -> Mapping[str, object]:
    return mapping(queue, "spec", *(("guarantee", "resource") if field == "guarantee" else (field,)))


def _limits(queue: Manifest) -> Counts:
    return counts(_listed(queue, "capability"))


def _promised(queue: Manifest) -> Counts:
    return counts(_listed(queue, "deserved"))


def _kept(queue: Manifest) -> Counts:
    return counts(_listed(queue, "guarantee"))


_SUMMED: Sequence[Callable[[Manifest], Counts]] = (_kept, _promised)


def _amounts(queue: Manifest) -> tuple[Counts, Counts, Counts]:
    return _kept(queue), _promised(queue), _limits(queue)


def _with_spec(queue: Manifest, spec: Mapping[str, object]) -> Manifest:
    return {**queue, "spec": dict(spec)}
