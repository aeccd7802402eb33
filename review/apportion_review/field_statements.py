"""The changed fields of an object as phrases: amounts of a field combined, equal changes of clusters merged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from apportion_compiler.graph.values import WEIGHTED
from apportion_review.change_origins import Origins
from apportion_review.cluster_names import place_text
from apportion_review.differences import Change, Differences
from apportion_review.facts import AMOUNTS, DECLARED, EFFECTIVE_LIMIT
from apportion_review.transfers import Transfers
from apportion_review.value_text import amount, label, signed, value_text, without_repeated_total

_PER_RESOURCE = (*AMOUNTS, "over_quota_weight")


@dataclass(frozen=True, slots=True)
class FieldStatement:
    """A change of one field of an object; the attributes are those of `Statement`."""

    text: str
    details: tuple[str, ...]
    clusters: tuple[str, ...]
    is_derived: bool
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class _Group:
    """Changes of one field, for one or more resources, that are equal on these clusters."""

    changes: tuple[Change, ...]
    clusters: tuple[str, ...]
    is_derived: bool


def field_statements(
    changes: Sequence[Change], found: Differences, origins: Origins, moved: Transfers
) -> Iterator[FieldStatement]:
    """Yield the statements for an object that exists in both policies."""
    families: dict[tuple[str, ...], list[Change]] = defaultdict(list)
    for change in changes:
        families[_family(change.fact.field)].append(change)
    # An effective limit that follows from the queue's own limit belongs to the statement about the latter.
    if ("limit",) in families:
        families["limit",] += families.pop((EFFECTIVE_LIMIT,), [])
    for family, held in families.items():
        yield from _family_statements(family, held, found, origins, moved)


def _family(field: tuple[str, ...]) -> tuple[str, ...]:
    """Return the field without DECLARED and without the resource."""
    own = field[1:] if field[0] == DECLARED else field
    return own[:1] if own[0] in _PER_RESOURCE else own


def _family_statements(
    family: tuple[str, ...], changes: Sequence[Change], found: Differences, origins: Origins, moved: Transfers
) -> Iterator[FieldStatement]:
    declared = [c for c in changes if c.fact.field[0] == DECLARED]
    in_force = [c for c in changes if c.fact.field[0] == family[0]]
    groups = _groups(in_force, origins)
    every = found.head.clusters
    if not declared:
        follows = [c for c in changes if c not in in_force]
        for number, group in enumerate(groups):
            text = _phrase(family, group.changes, moved, place_text(group.clusters, every), group.clusters)
            covered = [c for c in in_force if _in_group(c, group)] + (follows if number == 0 else [])
            yield FieldStatement(text, (), _partial(group.clusters, every), group.is_derived, tuple(covered))
        if not groups:
            yield FieldStatement(_phrase(family, follows, moved), (), (), is_derived=True, changes=tuple(follows))
        return
    yield FieldStatement(*_direct(family, declared, groups, every, moved), is_derived=False, changes=tuple(changes))


def _direct(
    family: tuple[str, ...],
    declared: Sequence[Change],
    groups: Sequence[_Group],
    every: tuple[str, ...],
    moved: Transfers,
) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return text, details and clusters of a field that the author changed."""
    if len(groups) == 1 and set(groups[0].clusters) >= set(every):
        return _phrase(family, groups[0].changes, moved, "", groups[0].clusters), (), ()
    ends = _ends(declared)
    if groups and all(_ends(group.changes) == ends for group in groups):
        clusters = tuple(cluster for group in groups for cluster in group.clusters)
        return _phrase(family, declared, moved, place_text(clusters, every)), (), _partial(clusters, every)
    details = tuple(_phrase(family, g.changes, moved, place_text(g.clusters, every), g.clusters) for g in groups)
    note = "" if details else "; no effective value changes"
    return _phrase(family, declared, moved, " as written") + note, details, ()


def _ends(changes: Sequence[Change]) -> set[tuple[object, ...]]:
    return {
        (c.fact.field[1:] if c.fact.field[0] == DECLARED else c.fact.field, c.before, c.after)
        for c in without_repeated_total(changes)
    }


def _partial(clusters: tuple[str, ...], every: tuple[str, ...]) -> tuple[str, ...]:
    return () if set(clusters) >= set(every) else tuple(c for c in clusters if c)


def _in_group(change: Change, group: _Group) -> bool:
    return change.fact.scope in group.clusters and any(change.fact.field == one.fact.field for one in group.changes)


def _groups(changes: Sequence[Change], origins: Origins) -> list[_Group]:
    """Group the changes of each cluster, then the clusters with equal changes."""
    by_cluster: dict[tuple[str, bool], list[Change]] = defaultdict(list)
    for change in changes:
        by_cluster[change.fact.scope, origins.is_derived(change)].append(change)
    alike: dict[tuple[object, ...], list[tuple[str, Sequence[Change]]]] = defaultdict(list)
    for (cluster, is_derived), held in by_cluster.items():
        alike[is_derived, *((c.fact.field, c.before, c.after) for c in held)].append((cluster, held))
    return [
        _Group(tuple(held[0][1]), tuple(cluster for cluster, _ in held), bool(key[0])) for key, held in alike.items()
    ]


def _phrase(
    family: tuple[str, ...],
    changes: Sequence[Change],
    moved: Transfers,
    place: str = "",
    clusters: tuple[str, ...] = (),
) -> str:
    if family[0] in AMOUNTS:
        return _amounts(family, changes, moved, place, clusters)
    before, after = changes[0].before, changes[0].after
    if family == ("parent",):
        return f"moved from {_place(before)} to {_place(after)}"
    if isinstance(before, tuple) and isinstance(after, tuple) and set(before) != set(after):
        added = [f"+{one}" for one in after if one not in before]
        removed = [f"−{one}" for one in before if one not in after]
        return f"{label(family)} {', '.join([*added, *removed])}{place}"
    ends = [(value_text(family, c.before), value_text(family, c.after)) for c in changes]
    if len(set(ends)) == 1 and len(ends) in (1, len(WEIGHTED)):
        return f"{label(family)} {ends[0][0]} → {ends[0][1]}{place}"
    each = zip((c.fact.field[-1] for c in changes), ends, strict=True)
    return f"{label(family)} {', '.join(f'{resource} {old} → {new}' for resource, (old, new) in each)}{place}"


def _place(parent: object) -> str:
    return "the top level" if parent is None else f"`{parent}`"


def _amounts(
    family: tuple[str, ...], changes: Sequence[Change], moved: Transfers, place: str, clusters: tuple[str, ...]
) -> str:
    kept = without_repeated_total(changes)
    parts: list[str] = []
    ends = [(c.fact.field[-1], c.before, c.after) for c in kept]
    both = ", ".join(signed(r, before, after) for r, before, after in ends if before is not None and after is not None)
    if both:
        parts.append(f"{both} guaranteed" if family == ("guaranteed",) else f"{label(family)} {both}")
    added = ", ".join(amount(r, after) for r, before, after in ends if before is None and after is not None)
    removed = ", ".join(amount(r, before) for r, before, after in ends if after is None and before is not None)
    if family == ("guaranteed",):
        parts += [f"{added} guaranteed, previously unmanaged"] if added else []
        parts += [f"{removed} guaranteed, no longer managed"] if removed else []
    else:
        parts += [f"{label(family)} of {added} added"] if added else []
        parts += [f"{label(family)} of {removed} removed"] if removed else []
    return ", ".join(("; ".join(parts) + place, *(note for c in kept for note in moved.notes(c.fact, clusters))))
