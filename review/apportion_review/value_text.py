"""Values and changes as text: `+16 H100 (48 → 64)`, `15m`, `@acme/vision-leads`."""

from __future__ import annotations

from collections.abc import Sequence

from apportion_policy.duration import duration_text
from apportion_policy.quantity import weight_text
from apportion_policy.resources import GPU, amount_text
from apportion_review.differences import Change
from apportion_review.facts import AMOUNTS, Value

LABELS = {
    "guaranteed": "guaranteed",
    "limit": "limit",
    "in_force": "in effect",
    "effective_limit": "effective limit",
    "lending_limit": "lending limit",
    "over_quota_weight": "over-quota weight",
    "preempt_min_runtime": "minimum runtime before preemption",
    "reclaim_min_runtime": "minimum runtime before reclaim",
}
_SECONDS = frozenset(("preempt_min_runtime", "reclaim_min_runtime"))


def label(field: Sequence[str]) -> str:
    """Return the name of a field in a sentence: the words of its path."""
    return " ".join(LABELS.get(part, part.replace("_", " ")) for part in field)


def signed(resource: str, before: Value, after: Value) -> str:
    """Return a change of an amount with its sign, unit and both ends."""
    if not isinstance(before, int) or not isinstance(after, int):
        return f"{amount(resource, before)} → {amount(resource, after)}"
    difference = after - before
    sign = "+" if difference > 0 else "−"
    return f"{sign}{amount(resource, abs(difference))} ({bare(resource, before)} → {bare(resource, after)})"


def amount(resource: str, value: Value) -> str:
    """Return an amount with its unit."""
    if not isinstance(value, int):
        return f"unlimited {amount_text(resource, 0).partition(' ')[2]}"
    return amount_text(resource, value)


def bare(resource: str, value: Value) -> str:
    """Return an amount without the name of its resource."""
    return amount(resource, value).partition(" ")[0]


def value_text(field: Sequence[str], value: Value | None) -> str:
    """Return a value as an author would write it."""
    if value is None:
        return "unset"
    head = field[0] if field else ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(value) or "none"
    if isinstance(value, int):
        if head in _SECONDS:
            return duration_text(value)
        if head == "over_quota_weight":
            return weight_text(value)
        if len(field) > 1 and (head in AMOUNTS or field[-2] in AMOUNTS):
            return amount(field[-1], value)
    return str(value)


def without_repeated_total(changes: Sequence[Change]) -> list[Change]:
    """Return changes of amounts without that of all GPUs, if it is the sum of the models' changes."""
    models = [c for c in changes if c.fact.field[-1].startswith(f"{GPU}/")]
    total = next((c for c in changes if c.fact.field[-1] == GPU), None)
    repeats = total is not None and models and _difference(models) == _difference([total])
    return [c for c in changes if c is not total] if repeats else list(changes)


def _difference(changes: Sequence[Change]) -> int | None:
    """Return the sum of the differences; None if one of the amounts is unlimited."""
    total = 0
    for change in changes:
        before, after = change.before or 0, change.after or 0
        if not isinstance(before, int) or not isinstance(after, int):
            return None
        total += after - before
    return total
