"""Detection of renamed objects: pairs of a removed and an added object that are the same.

A leaf queue is matched by its namespaces, an inner queue by its children, any other object by equality of all fields.
Ambiguous matches remain a removal and an addition.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby

from apportion_review.facts import (
    CLASS,
    CLUSTER,
    DECLARED,
    ENVIRONMENT,
    ENVIRONMENT_OVERRIDE,
    OVERRIDE,
    PLAN,
    POOL,
    QUEUE,
    WAIVER,
    Fact,
    Facts,
    Value,
)

_REFERENCES: Mapping[str, str] = {
    "parent": QUEUE,
    "queues": QUEUE,
    "pools": POOL,
    "priority_classes": CLASS,
    "environments": ENVIRONMENT,
    "provisioning": PLAN,
}
"""Fields that reference other objects, by the first part of the field."""
_RENAMED = (PLAN, CLASS, POOL, ENVIRONMENT, CLUSTER)
# A display name usually changes with a rename, and inherited fields do not identify a queue.
_INCIDENTAL = frozenset(("title", "description"))


@dataclass(frozen=True, slots=True)
class Rename:
    """An object that has a different name in the head than in the base."""

    kind: str
    before: str
    after: str


def find_renames(base: Facts, head: Facts) -> tuple[Rename, ...]:
    """Return the renamed objects, in the order in which `renamed` applies them."""
    found: list[Rename] = []
    for kind in _RENAMED:
        made = _equal_in_all(kind, base, head)
        found += made
        base = renamed(base, made)
    found += _queues(base, head)
    return tuple(found)


def _objects(facts: Facts, kind: str) -> list[str]:
    return [fact.name for fact in facts.values if fact.kind == kind and not fact.field]


def _only_in(facts: Facts, other: Facts, kind: str) -> list[str]:
    there = set(_objects(other, kind))
    return [name for name in _objects(facts, kind) if name not in there]


def _equal_in_all(kind: str, base: Facts, head: Facts) -> list[Rename]:
    removed, added = _only_in(base, head, kind), _only_in(head, base, kind)
    if not removed or not added:
        return []
    before, after = _fields_of(kind, removed, base), _fields_of(kind, added, head)
    return _pairs(kind, removed, added, (_as_marks(before), _as_marks(after)))


def _as_marks(fields: Mapping[str, dict[tuple[str, ...], Value]]) -> dict[str, list[Hashable]]:
    """Return all fields of each object as a single mark."""
    return {name: [frozenset(held.items())] for name, held in fields.items()}


def _fields_of(kind: str, names: Iterable[str], facts: Facts) -> Mapping[str, dict[tuple[str, ...], Value]]:
    held: dict[str, dict[tuple[str, ...], Value]] = {name: {} for name in names}
    for fact, value in facts.values.items():
        if (
            fact.kind == kind
            and fact.name in held
            and not fact.scope
            and fact.field[:1] not in [(f,) for f in _INCIDENTAL]
        ):
            held[fact.name][fact.field] = value
    return held


def _queues(base: Facts, head: Facts) -> list[Rename]:
    """Match leaves by namespaces, then inner queues by their children, then leaves without namespaces by their fields."""
    removed, added = _only_in(base, head, QUEUE), _only_in(head, base, QUEUE)
    if not removed or not added:
        return []
    spaces, spaces_head = _namespaces(base), _namespaces(head)
    found = _pairs(QUEUE, removed, added, (spaces, spaces_head))
    while True:
        now = renamed(base, found)
        removed, added = _only_in(now, head, QUEUE), _only_in(head, now, QUEUE)
        below, below_head = _children(now), _children(head)
        more = _pairs(
            QUEUE,
            removed,
            added,
            (below, below_head),
            partial(_have_most_in_common, below, below_head),
        )
        if not more:
            break
        found += more
    now = renamed(base, found)
    removed, added = _only_in(now, head, QUEUE), _only_in(head, now, QUEUE)
    before, after = _fields_of(QUEUE, removed, now), _fields_of(QUEUE, added, head)
    declaring = [name for name in removed if any(field[0] == DECLARED for field in before[name] if field)]
    return found + _pairs(QUEUE, declaring, added, (_as_marks(before), _as_marks(after)))


def _have_most_in_common(
    below: Mapping[str, frozenset[str]], below_head: Mapping[str, frozenset[str]], old: str, new: str
) -> bool:
    return 2 * len(below[old] & below_head[new]) > len(below[old] | below_head[new])


def _pairs(
    kind: str,
    removed: Iterable[str],
    added: Iterable[str],
    marks: tuple[Mapping[str, Collection[Hashable]], Mapping[str, Collection[Hashable]]],
    is_same: Callable[[str, str], bool] = lambda old, new: True,
) -> list[Rename]:
    """Return the unambiguous pairs, in which each side matches only the other.

    Args:
        kind: Of the objects.
        removed: Names of the base.
        added: Names of the head.
        marks: What identifies an object of the base, and of the head. Only objects with a common mark match.
        is_same: Whether two objects with a common mark match.
    """
    before, after = marks
    marked: dict[Hashable, list[str]] = defaultdict(list)
    for new in added:
        for mark in after[new]:
            marked[mark].append(new)
    matches = {
        old: [
            new for new in dict.fromkeys(n for mark in before[old] for n in marked.get(mark, ())) if is_same(old, new)
        ]
        for old in removed
    }
    claims: dict[str, int] = defaultdict(int)
    for found in matches.values():
        for new in found:
            claims[new] += 1
    return [Rename(kind, old, found[0]) for old, found in matches.items() if len(found) == 1 and claims[found[0]] == 1]


def _namespaces(facts: Facts) -> Mapping[str, frozenset[str]]:
    held: dict[str, frozenset[str]] = defaultdict(frozenset)
    for fact, value in facts.values.items():
        if fact.kind == QUEUE and fact.field == ("namespaces",) and isinstance(value, tuple):
            held[fact.name] = frozenset(value)
    return held


def _children(facts: Facts) -> Mapping[str, frozenset[str]]:
    held: dict[str, set[str]] = defaultdict(set)
    for id_, parent in facts.parents.items():
        if parent is not None:
            held[parent].add(id_)
    return defaultdict(frozenset, {name: frozenset(children) for name, children in held.items()})


def renamed(facts: Facts, renames: Iterable[Rename]) -> Facts:
    """Return the facts with new names, in all references to renamed objects."""
    for kind, of_kind in groupby(renames, key=lambda rename: rename.kind):
        facts = _renamed(facts, kind, {rename.before: rename.after for rename in of_kind})
    return facts


def _renamed(facts: Facts, kind: str, names: Mapping[str, str]) -> Facts:
    """Return the facts with the objects of one kind renamed."""

    def name(of_kind: str, held: str) -> str:
        if of_kind == kind:
            return names.get(held, held)
        if kind == QUEUE and of_kind in (OVERRIDE, ENVIRONMENT_OVERRIDE):
            queue, space, rest = held.partition(" ")
            return f"{names.get(queue, queue)}{space}{rest}"
        if of_kind == WAIVER:
            code, of, address = held.partition(" of ")
            word, space, named = address.partition(" ")
            return f"{code}{of}{word}{space}{names.get(named, named)}" if word == kind else held
        if kind == ENVIRONMENT and of_kind == CLUSTER:
            return _below(held, names)
        if kind == ENVIRONMENT and of_kind == ENVIRONMENT_OVERRIDE:
            queue, within, where = held.partition(" in ")
            return f"{queue}{within}{_below(where, names)}"
        return held

    def scope(held: str) -> str:
        if kind == ENVIRONMENT:
            return _below(held, names)
        return names.get(held, held) if kind == CLUSTER else held

    def value(field: tuple[str, ...], held: Value) -> Value:
        if not field or _REFERENCES.get(field[0]) != kind or len(field) > 1:
            return held
        if isinstance(held, tuple):
            there = [names.get(one, one) for one in held]
            return tuple(sorted(there) if list(held) == sorted(held) else there)
        return names.get(held, held) if isinstance(held, str) else held

    def fact(held: Fact) -> Fact:
        return Fact(held.kind, name(held.kind, held.name), scope(held.scope), held.field)

    return replace(
        facts,
        values={fact(f): value(f.field, v) for f, v in facts.values.items()},
        locations={(k, name(k, n)): at for (k, n), at in facts.locations.items()},
        clusters=tuple(map(scope, facts.clusters)),
        filled=frozenset(map(fact, facts.filled)),
        parents={
            name(QUEUE, id_): None if parent is None else name(QUEUE, parent) for id_, parent in facts.parents.items()
        },
    )


def _below(path: str, names: Mapping[str, str]) -> str:
    first, slash, rest = path.partition("/")
    return f"{names.get(first, first)}{slash}{rest}"
