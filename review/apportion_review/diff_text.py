"""The difference between two policies for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from apportion_api.counted_nouns import counted
from apportion_compiler.rollout.differences import ObjectChange
from apportion_review.diff_report import DiffReport, Side
from apportion_review.facts import QUEUE
from apportion_review.object_changes import TargetChanges
from apportion_review.statements import ADDED, REMOVED, Statement, locations

_SIGNS = {ADDED: "+", REMOVED: "-"}
_ROLES = {ADDED: "added", REMOVED: "removed"}

Style = Callable[[str, str], str]


def diff_text(report: DiffReport, style: Style, width: int) -> str:
    """Return the report as text.

    Args:
        report: The comparison.
        style: Returns a text styled for a role.
        width: Width in columns.
    """
    if not report.differs and not report.notes:
        return f"{report.base.name} and {report.head.name}: no difference\n"
    blocks = ["\n".join(lines) for lines in _blocks(report, style, width)]
    heading = f"{_side(report.base)} → {_side(report.head)}"
    return "\n\n".join((style("heading", heading), *blocks)) + "\n"


def _side(side: Side) -> str:
    return f"{side.name} (as of {side.as_of})"


def _blocks(report: DiffReport, style: Style, width: int) -> Iterator[list[str]]:
    gone = list(_deletions(report.objects or (), width))
    if gone:
        yield gone
    direct = [s for s in report.statements if not s.is_derived]
    alike: dict[tuple[object, ...], list[list[Statement]]] = {}
    for _, group in groupby(direct, key=lambda s: (s.kind, s.name)):
        held = list(group)
        # Objects of one kind with the same changes, such as the clusters of an environment, are merged.
        own = () if held[0].kind == QUEUE else tuple((s.action, s.text, s.details) for s in held)
        alike.setdefault((held[0].kind, own or held[0].name), []).append(held)
    for same in alike.values():
        yield _object(same, report, style, width)
    derived = [s for s in report.statements if s.is_derived]
    if derived:
        yield [style("heading", "Effects on other queues"), *_derived(derived, width)]
    if report.notes:
        notes = (line for note in report.notes for line in _wrapped(note, "  ", width))
        yield [style("heading", "Not compared, because a policy cannot express these fields"), *notes]
    yield _wrapped(_summary(report), "", width)


def _deletions(objects: Sequence[TargetChanges], width: int) -> Iterator[str]:
    for title, retained in (("Deletes", False), ("Left on the cluster, no longer managed", True)):
        for target in objects:
            gone = [f"{c.identity.kind} {_name(c)}" for c in (target.retained if retained else target.deleted)]
            if gone:
                listed = ", ".join(gone)
                yield from _wrapped(f"{title} ({target.cluster} {target.backend}): {listed}", "", width)


def _name(change: ObjectChange) -> str:
    identity = change.identity
    return f"{identity.namespace}/{identity.name}" if identity.namespace else identity.name


def _object(same: Sequence[Sequence[Statement]], report: DiffReport, style: Style, width: int) -> list[str]:
    held, first = same[0], same[0][0]
    names = ", ".join(statements[0].name for statements in same)
    title = f"{first.kind if len(same) == 1 else _plural(first.kind)} {names}".rstrip()
    base_at, head_at = locations(first, report.found)
    places = [head_at, f"{report.base.name}: {base_at}" if base_at is not None and base_at != head_at else None]
    at = ", ".join(place for place in places if place)
    if at and len(title) + len(at) + 2 <= width:
        lines = [f"{style('heading', title)}  {style('docs', at)}"]
    else:
        lines = [style("heading", line) for line in _wrapped(title, "", width)]
        lines += [style("docs", line) for line in _wrapped(at, "    ", width)]
    for statement in held:
        sign = _SIGNS.get(statement.action, "~")
        wrapped = _wrapped(statement.text, f"  {sign} ", width)
        lines += [style(_ROLES[statement.action], line) if statement.action in _ROLES else line for line in wrapped]
        for detail in statement.details:
            lines += _wrapped(detail, "      ", width)
    return lines


def _plural(kind: str) -> str:
    return f"{kind[:-2]}ies" if kind.endswith("cy") else f"{kind}es" if kind.endswith("s") else f"{kind}s"


def _derived(held: Sequence[Statement], width: int) -> Iterator[str]:
    for (kind, name), group in groupby(held, key=lambda s: (s.kind, s.name)):
        subject = name if kind == QUEUE else f"{kind} {name}"
        yield from _wrapped(f"{subject}: {'; '.join(s.text for s in group)}", "  ", width)


def _wrapped(text: str, indent: str, width: int) -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=" " * max(len(indent), 4), break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def _summary(report: DiffReport) -> str:
    changed = len({(s.kind, s.name) for s in report.statements if not s.is_derived})
    unchanged = report.unchanged.get(QUEUE, 0)
    parts = [f"{counted(changed, 'object')} changed in the policy, {counted(unchanged, 'queue')} unchanged."]
    if report.objects is None:
        parts.append(f"Kubernetes objects are not compared: {report.why_no_objects}.")
    else:
        counts = report.object_counts
        named = (("created", "created"), ("changed", "changed"), ("deleted", "deleted"), ("retained", "left in place"))
        parts.append("Kubernetes objects: " + ", ".join(f"{counts[key]} {word}" for key, word in named) + ".")
    return " ".join(parts)
