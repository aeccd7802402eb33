"""Changes as statements in the author's terms: the change of one object, and the affected clusters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from apportion_policy.source import SourceLocation
from apportion_review.change_origins import Origins
from apportion_review.cluster_names import place_text
from apportion_review.differences import Change, Differences
from apportion_review.facts import KINDS, QUEUE
from apportion_review.field_statements import field_statements
from apportion_review.transfers import transfers
from apportion_review.value_text import amount, label, value_text, without_repeated_total

ADDED, REMOVED, CHANGED, RENAMED, MOVED = "added", "removed", "changed", "renamed", "moved"
_IDENTIFYING = ("parent", "owner", "reason", "expires", "value", "preemptible", "max_nodes", "engine")


@dataclass(frozen=True, slots=True)
class Statement:
    """The change of one object.

    Attributes:
        action: `added`, `removed`, `changed`, `renamed` or `moved`.
        kind: The object's kind, one of `facts.KINDS`.
        name: Its name in the head, or in the base if it is removed.
        text: A phrase without the object's name.
        details: The change on clusters where it differs from the declared one.
        clusters: The affected clusters; empty for all of them.
        is_derived: Whether the object itself is unchanged, and another change causes this one.
        changes: The included changes. Each change of a comparison is in exactly one statement.
    """

    action: str
    kind: str
    name: str
    text: str
    details: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    is_derived: bool = False
    changes: tuple[Change, ...] = ()


def statements(found: Differences) -> tuple[Statement, ...]:
    """Return the differences as statements: direct ones first, then by kind, removals first, in tree order."""
    made = [Statement(RENAMED, r.kind, r.after, f"renamed from `{r.before}`") for r in found.renames]
    by_object: dict[tuple[str, str], list[Change]] = defaultdict(list)
    for change in found.changes:
        by_object[change.fact.kind, change.fact.name].append(change)
    origins, moved = Origins(found, by_object), transfers(found)
    for (kind, name), changes in by_object.items():
        whole = next((change for change in changes if not change.fact.field), None)
        if whole is not None:
            made.append(_whole(whole, changes, found))
            continue
        for field in field_statements(changes, found, origins, moved):
            is_move = kind == QUEUE and field.changes[0].fact.field == ("parent",)
            made.append(
                Statement(
                    MOVED if is_move else CHANGED,
                    kind,
                    name,
                    field.text,
                    field.details,
                    field.clusters,
                    field.is_derived,
                    field.changes,
                )
            )
    places = _places(found)
    return tuple(
        sorted(
            made,
            key=lambda s: (s.is_derived, KINDS.index(s.kind), s.action != REMOVED, places.get((s.kind, s.name), 0)),
        )
    )


def _places(found: Differences) -> Mapping[tuple[str, str], int]:
    names = [(QUEUE, id_) for id_ in (*found.head.parents, *found.base.parents)]
    names += [(f.kind, f.name) for facts in (found.base, found.head) for f in facts.values if not f.field]
    return {key: place for place, key in enumerate(dict.fromkeys(names))}


def _whole(existence: Change, changes: Sequence[Change], found: Differences) -> Statement:
    is_added = existence.after is not None
    facts = found.head if is_added else found.base
    parts = [
        f"{text} guaranteed{place}" if field == "guaranteed" else f"{label((field,))} {text}{place}"
        for field in ("guaranteed", "limit", "lending_limit")
        for text, place in _held(field, changes, facts.clusters)
    ]
    for change in changes:
        if change.fact.field in [(name,) for name in _IDENTIFYING]:
            value = change.after if is_added else change.before
            parts.append(f"{label(change.fact.field)} {value_text(change.fact.field, value)}")
        elif change.fact.field == ("in_force",):
            parts.append("in effect" if (change.after or change.before) else "not in effect")
    action = ADDED if is_added else REMOVED
    text = ": ".join(part for part in (action, ", ".join(parts)) if part)
    return Statement(action, existence.fact.kind, existence.fact.name, text, changes=tuple(changes))


def locations(statement: Statement, found: Differences) -> tuple[str | None, str | None]:
    """Return the locations of the object in the base and in the head, as `file:line`; None if absent."""
    key = (statement.kind, statement.name)
    base, head = found.base.locations.get(key), found.head.locations.get(key)
    return _location_text(base), _location_text(head)


def _location_text(at: SourceLocation | None) -> str | None:
    return None if at is None or not at.line else f"{at.file}:{at.line}"


def _held(field: str, changes: Sequence[Change], every: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield the amounts of an added or removed object, with their clusters."""
    by_cluster: dict[str, list[Change]] = defaultdict(list)
    for change in changes:
        if change.fact.field[:1] == (field,) and "machines" not in change.fact.field:
            by_cluster[change.fact.scope].append(change)
    clusters_of: dict[str, list[str]] = defaultdict(list)
    for cluster, amounts in by_cluster.items():
        ends = [(c.fact.field[-1], c.after if c.before is None else c.before) for c in without_repeated_total(amounts)]
        # A queue without a guarantee has zero; an override to zero removes one.
        shows_zero = field != "guaranteed" or amounts[0].fact.kind != QUEUE
        text = ", ".join(amount(resource, end) for resource, end in ends if end or (end is not None and shows_zero))
        if text:
            clusters_of[text].append(cluster)
    for text, clusters in clusters_of.items():
        yield text, place_text(clusters, every)
