"""From what was applied to what shall be: successive updates, each of them valid whatever is done at once in it.

An update is what one run of a tool with a dependency graph does: everything that it holds is written, each object
once, a write after those that it waits for; then what it holds no longer is deleted, what waits first. Where a wave
of the engine's queues is not enough, there are several updates, and all else goes with them: what backends write
before the queues with the first, the rest and every other deletion with the last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import networkx as nx

from apportion_compiler.plain_objects import Manifest
from apportion_compiler.rollout.identity import Identity, identity_of
from apportion_compiler.rollout.models import MODELS
from apportion_compiler.rollout.order import waits_of
from apportion_compiler.rollout.queue_state import Model
from apportion_compiler.rollout.references import references
from apportion_compiler.rollout.waves import Wave, states, waves


@dataclass(frozen=True, slots=True)
class Update:
    """What a target holds after one update.

    Attributes:
        objects: All its objects, in apply order.
        waits: For an object, those that must be written before it.
        is_settled: Whether every object waits for what it names, so that a later deletion goes the right way round. It
            is not where a queue had to wait for one below it.
    """

    objects: tuple[Manifest, ...]
    waits: Mapping[Identity, frozenset[Identity]] = field(default_factory=dict)
    is_settled: bool = True


def plan_target(
    backend: str, former: Sequence[Manifest], wanted: Sequence[Manifest], *, was_settled: bool = True
) -> tuple[Update, ...]:
    """Return the updates that bring one target from its former objects to the wanted ones, at least one.

    Args:
        backend: Which one wrote the objects.
        former: What was applied, in apply order; empty where nothing was.
        wanted: What shall be there, in apply order.
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
        # What was applied still says that a parent waits for its child, and would be deleted before it.
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
        # The last update holds what is wanted as the backend wrote it, and so the same when it is planned again.
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
    """Return an update in which the writes of a wave wait for each other, and all else for what it names."""
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
    # Among queues of the wave its own order holds; one that stays as it is is there, and nobody needs to wait for it.
    places = {by_name[queue.name]: place for place, queue in enumerate(wave.applies)}
    loose = {
        key: frozenset(other for other in found if other in places and places[other] < places[key])
        if key in places
        else frozenset(other for other in found if other not in places)
        for key, found in named.items()
    }
    # What is no queue at all is never waited for by one in a circle.
    queues = {identity_of(m) for m in objects if identity_of(m).kind == wave.applies[0].manifest.get("kind")}
    for key, found in named.items():
        others = found - queues if key in queues else found
        loose[key] |= others
    both = {key: loose.get(key, frozenset()) | among.get(key, frozenset()) for key in {**loose, **among}}
    return Update(tuple(objects), both, is_settled=False)


def _is_acyclic(waits: Mapping[Identity, frozenset[Identity]]) -> bool:
    graph: nx.DiGraph[Identity] = nx.DiGraph()
    graph.add_edges_from((key, other) for key, found in waits.items() for other in found)
    return bool(nx.is_directed_acyclic_graph(graph))


def _deletes_related(wave: Wave) -> bool:
    gone = {queue.name for queue in wave.deletes}
    return any(queue.parent in gone for queue in wave.deletes)


def changes(former: Sequence[Manifest], wanted: Sequence[Manifest]) -> tuple[int, int, int]:
    """Return how many objects are made, changed and deleted."""
    before = {identity_of(m): m for m in former}
    after = {identity_of(m): m for m in wanted}
    changed = sum(1 for key, m in after.items() if key in before and before[key] != m)
    return len(after.keys() - before.keys()), changed, len(before.keys() - after.keys())
