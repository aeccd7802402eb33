"""A plan from the applied to the wanted objects: successive updates, each valid with concurrent writes.

An update is one run of a tool with a dependency graph: all of its objects are written, each once and after its
dependencies; then objects that are no longer part of it are deleted, dependents first. If one wave of the engine's
queues is not enough, there are several updates: objects that backends write before the queues are part of the first,
all others and every other deletion of the last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

from apportion_compiler.plain_objects import Manifest
from apportion_compiler.rollout.identity import Identity, identity_of
from apportion_compiler.rollout.models import MODELS
from apportion_compiler.rollout.order import waits_of
from apportion_compiler.rollout.queue_state import Model
from apportion_compiler.rollout.references import references
from apportion_compiler.rollout.waves import Wave, states, waves


@dataclass(frozen=True, slots=True)
class Update:
    """The objects of a target after one update.

    Attributes:
        objects: All its objects, in apply order.
        waits: For each object, its dependencies.
        is_settled: Whether every object depends on the objects that it references, so that a later deletion has the
            right order. False if a queue had to wait for a descendant.
    """

    objects: tuple[Manifest, ...]
    waits: Mapping[Identity, frozenset[Identity]] = field(default_factory=dict)
    is_settled: bool = True


def plan_target(
    backend: str, former: Sequence[Manifest], wanted: Sequence[Manifest], *, was_settled: bool = True
) -> tuple[Update, ...]:
    """Return the updates of one target from its former objects to the wanted ones, at least one.

    Args:
        backend: The backend of the objects.
        former: The applied objects in apply order; empty at first.
        wanted: The wanted objects in apply order.
        was_settled: Whether the update that applied `former` was settled.
    """
    model = MODELS.get(backend)
    if model is None or not any(model.is_ordered(m) for m in (*former, *wanted)):
        return (_settled(wanted),)
    has = [m for m in former if model.is_ordered(m)]
    shall = [m for m in wanted if model.is_ordered(m)]
    made = waves(has, shall, model)
    updates = _updates(former, wanted, made, model)
    if not was_settled and made and _deletes_related(made[0]):
        # The applied state still has a parent that depends on its child, and so would be deleted first.
        updates = (_settled(former), *updates)
    return updates


def _updates(
    former: Sequence[Manifest], wanted: Sequence[Manifest], made: Sequence[Wave], model: Model
) -> tuple[Update, ...]:
    if not made:
        return (_settled(wanted),)
    first = next((i for i, m in enumerate(wanted) if model.is_ordered(m)), len(wanted))
    early = list(wanted[:first])
    kept = {identity_of(m) for m in early}
    late_before = [m for m in former if not model.is_ordered(m) and identity_of(m) not in kept]
    state, _ = states([m for m in former if model.is_ordered(m)], [m for m in wanted if model.is_ordered(m)], model)
    updates: list[Update] = []
    for wave in made:
        waits = waits_of(state, wave)
        for queue in wave.applies:
            state.apply(queue)
        for queue in wave.deletes:
            state.delete(queue.name)
        # The last update has the wanted objects as the backend emits them, so that planning again gives the same
        # result.
        held = [state.queues[name].manifest for name in state.parents_first()]
        objects = wanted if wave is made[-1] else [*early, *held, *late_before]
        updates.append(_ordered(objects, wave, waits))
    return tuple(updates)


def _settled(objects: Sequence[Manifest]) -> Update:
    return Update(tuple(objects), _named(objects))


def _named(objects: Sequence[Manifest]) -> dict[Identity, frozenset[Identity]]:
    keys = [identity_of(m) for m in objects]
    return {
        key: frozenset(keys[i] for i in waits) for key, waits in zip(keys, references(objects), strict=True) if waits
    }


def _ordered(objects: Sequence[Manifest], wave: Wave, waits: Sequence[frozenset[str]]) -> Update:
    """Return an update in which writes of a wave have its dependencies, and other writes those of their references."""
    named = _named(objects)
    by_name = {queue.name: identity_of(queue.manifest) for queue in wave.applies}
    among: dict[Identity, frozenset[Identity]] = {
        by_name[queue.name]: frozenset(by_name[name] for name in names)
        for queue, names in zip(wave.applies, waits, strict=True)
        if names
    }
    both = {key: named.get(key, frozenset()) | among.get(key, frozenset()) for key in {**named, **among}}
    if _is_acyclic(both):
        return Update(tuple(objects), both)
    # Among queues of the wave, its own order applies; an unchanged queue already exists, and needs no dependency.
    places = {by_name[queue.name]: place for place, queue in enumerate(wave.applies)}
    independent = {
        key: frozenset(other for other in found if other in places and places[other] < places[key])
        if key in places
        else frozenset(other for other in found if other not in places)
        for key, found in named.items()
    }
    # Dependencies on objects that are not queues never form a cycle.
    queues = {identity_of(m) for m in objects if identity_of(m).kind == wave.applies[0].manifest.get("kind")}
    for key, found in named.items():
        others = found - queues if key in queues else found
        independent[key] |= others
    both = {key: independent.get(key, frozenset()) | among.get(key, frozenset()) for key in {**independent, **among}}
    return Update(tuple(objects), both, is_settled=False)


def _is_acyclic(waits: Mapping[Identity, frozenset[Identity]]) -> bool:
    try:
        TopologicalSorter(waits).prepare()
    except CycleError:
        return False
    return True


def _deletes_related(wave: Wave) -> bool:
    gone = {queue.name for queue in wave.deletes}
    return any(queue.parent in gone for queue in wave.deletes)


def changes(former: Sequence[Manifest], wanted: Sequence[Manifest]) -> tuple[int, int, int]:
    """Return the number of objects that are created, changed and deleted."""
    before = {identity_of(m): m for m in former}
    after = {identity_of(m): m for m in wanted}
    changed = sum(1 for key, m in after.items() if key in before and before[key] != m)
    return len(after.keys() - before.keys()), changed, len(before.keys() - after.keys())
