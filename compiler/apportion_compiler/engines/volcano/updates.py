"""Updates that satisfy Volcano's webhook on queues: sums of amounts, limits within ancestors', five levels.

Source: pkg/webhooks/admission/queues/validate/validate_queue.go at ed72c7c81.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from apportion_api.fields import Written
from apportion_api.objects import is_a, read
from apportion_api.volcano.names import ROOT_QUEUE, SHARED_QUEUE
from apportion_api.volcano.objects import Queue
from apportion_compiler.engines.volcano.emit.bounds import MAX_DEPTH
from apportion_compiler.engines.volcano.emit.resource_lists import counts, short_of, total
from apportion_compiler.plain_objects import Manifest, mapping
from apportion_compiler.rollout.queue_state import Model, QueueEntry, State


def _is_queue(manifest: Manifest) -> bool:
    return is_a(Queue, manifest)


def _read(manifest: Manifest) -> QueueEntry:
    queue = read(Queue, manifest)
    amounts = counts(queue.guarantee), counts(queue.deserved)
    return QueueEntry(manifest, queue.name, queue.parent or ROOT_QUEUE, amounts, counts(queue.capability))


def _listed(manifest: Manifest, field: str) -> Mapping[str, Written]:
    queue = read(Queue, manifest)
    return {"guarantee": queue.guarantee, "deserved": queue.deserved, "capability": queue.capability}[field]


def _at_root(has: QueueEntry, shall: QueueEntry) -> Manifest:
    return {**shall.manifest, "spec": {**mapping(has.manifest, "spec"), "parent": ROOT_QUEUE}}


def _lowered(has: QueueEntry, shall: QueueEntry, goal: State) -> Manifest:
    changed = {
        "deserved": _least(has, shall, "deserved"),
        "guarantee": {"resource": _least(has, shall, "guarantee")},
        "capability": _bounded(has, shall, goal),
    }
    spec = {key: value for key, value in mapping(has.manifest, "spec").items() if key not in changed}
    spec.update((key, value) for key, value in changed.items() if value not in ({}, {"resource": {}}))
    return {**shall.manifest, "spec": spec}


def _begun(shall: QueueEntry) -> Manifest:
    spec = {
        key: value for key, value in mapping(shall.manifest, "spec").items() if key not in ("deserved", "guarantee")
    }
    return {**shall.manifest, "spec": spec}


def _least(has: QueueEntry, shall: QueueEntry, field: str) -> dict[str, object]:
    """Return the smaller amount of each resource; a name that is missing from one list is 0."""
    left, right = _listed(has.manifest, field), _listed(shall.manifest, field)
    mine, theirs = counts(left), counts(right)
    return {
        name: value if mine.get(name, 0) <= theirs.get(name, 0) else right[name]
        for name, value in left.items()
        if name in right
    }


def _bounded(has: QueueEntry, shall: QueueEntry, goal: State) -> dict[str, object]:
    """Return the queue's limits, capped at its own final limit and those of its ancestors."""
    lowered: dict[str, object] = {}
    for name, value in _listed(has.manifest, "capability").items():
        least, written = has.limits.get(name, 0), value
        for bound in (shall, *goal.above(shall)):
            # The webhook treats a limit of 0 on an ancestor as unset.
            if name in bound.limits and bound.limits[name] < least and (bound is shall or bound.limits[name] > 0):
                least, written = bound.limits[name], _listed(bound.manifest, "capability")[name]
        lowered[name] = written
    return lowered


def _takes(state: State, queue: QueueEntry) -> bool:
    before = state.queues.get(queue.name)
    if before is not None and before.is_equivalent(queue):
        return True
    if not _holds(queue, state.below(queue.name)) or not _bounds_descendants(state, queue):
        return False
    if queue.parent == ROOT_QUEUE:
        return True
    if not _has_place(state, queue) or not _bound_by_ancestors(state, queue):
        return False
    siblings = [other for other in state.below(queue.parent) if other.name != queue.name]
    return _holds(state.queues[queue.parent], [*siblings, queue])


def _has_place(state: State, queue: QueueEntry) -> bool:
    """Return whether a queue's parent exists, is not one of its descendants, and is not too deep."""
    if queue.parent not in state.queues or state.is_below_itself(queue):
        return False
    return sum(1 for _ in state.above(queue)) < MAX_DEPTH


def _holds(parent: QueueEntry, children: Sequence[QueueEntry]) -> bool:
    """Return whether a queue covers the sum of its children."""
    return all(
        short_of(bound, total(child.amounts[number] for child in children)) is None
        for number, bound in enumerate(parent.amounts)
    )


def _bound_by_ancestors(state: State, queue: QueueEntry) -> bool:
    return not any(
        amount > above.limits[name]
        for above in state.above(queue)
        for name, amount in queue.limits.items()
        if above.limits.get(name, 0) > 0
    )


def _bounds_descendants(state: State, queue: QueueEntry) -> bool:
    own = {name: amount for name, amount in queue.limits.items() if amount > 0}
    below = state.below(queue.name)
    while below and own:
        child = below.pop()
        if any(amount > own[name] for name, amount in child.limits.items() if name in own):
            return False
        below += state.below(child.name)
    return True


MODEL = Model(ROOT_QUEUE, frozenset({ROOT_QUEUE, SHARED_QUEUE}), _is_queue, _read, _takes, _at_root, _lowered, _begun)
