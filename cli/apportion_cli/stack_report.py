"""The plan and the drift of a stack, as text, JSON and Markdown."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from apportion_api.counted_nouns import counted
from apportion_cli.stacks import Plan
from apportion_policy.evaluation.sanitized_text import fenced

if TYPE_CHECKING:
    from apportion_compiler.emit.pulumi.update_plan import TargetPlan
    from apportion_compiler.rollout.differences import ObjectChange
    from apportion_compiler.rollout.identity import Identity

_SIGNS = {"make": "+", "change": "~", "delete": "-"}
_MOST_FIELDS = 3
_LONGEST_VALUE = 40


def plan_text(plan: Plan) -> str:
    """Return the organisation's tree of each target with the changes below each queue, and the number of updates."""
    changed = [target for target in plan.targets if target.changes]
    if not changed:
        return f"{plan.environment}: nothing to do\n"
    lines = _deletions(plan)
    for target in changed:
        made, altered, deleted = _counts(target)
        lines.append(
            f"{plan.environment}/{target.name}  {made} to create, {altered} to change, {deleted} to delete",
        )
        lines += _tree(target).lines()
    if plan.n_updates > 1:
        lines += [
            "",
            f"{plan.n_updates} updates in sequence, each valid: the engine would reject them as a single update",
        ]
    if plan.warnings:
        lines += ["", *(f"warning: {warning}" for warning in plan.warnings)]
    return "\n".join(lines) + "\n"


def _deletions(plan: Plan) -> list[str]:
    """Return the names of objects deleted from each cluster, and of objects retained there."""
    lines: list[str] = []
    for title, is_retained in (("deletes", False), ("leaves in the cluster, with all their contents", True)):
        for target in plan.targets:
            gone = [
                identity_text(change.identity)
                for change in target.changes
                if change.action == "delete" and (change.identity.kind in plan.retains) is is_retained
            ]
            if gone:
                lines.append(f"{plan.environment}/{target.name} {title}: {', '.join(gone)}")
    return [*lines, ""] if lines else []


def plan_json(plan: Plan) -> str:
    """Return the plan as a versioned document."""
    return _text(_document(plan, "StackPlan"))


def up_json(plan: Plan, n_updates: int) -> str:
    """Return the result of `up` as a versioned document."""
    return _text({**_document(plan, "StackUpdate"), "updatesDone": n_updates})


def plan_markdown(plan: Plan) -> str:
    """Return the plan as a comment for a pull request."""
    changed = sum(bool(target.changes) for target in plan.targets)
    title = f"### `{plan.environment}`: " + (
        "nothing to do" if not changed else f"{counted(changed, 'target')} changed"
    )
    return title + "\n" + ("" if not changed else f"\n{fenced(plan_text(plan))}")


def _document(plan: Plan, kind: str) -> dict[str, Any]:
    return {
        "apiVersion": "apportion.dev/v1",
        "kind": kind,
        "environment": plan.environment,
        "updates": plan.n_updates,
        "warnings": list(plan.warnings),
        "retains": sorted(plan.retains),
        "targets": [_target(target) for target in plan.targets],
    }


def _target(target: TargetPlan) -> dict[str, Any]:
    made, altered, deleted = _counts(target)
    return {
        "target": target.name,
        "made": made,
        "changed": altered,
        "deleted": deleted,
        "changes": [
            {
                "action": change.action,
                **identity_json(change.identity),
                "queue": list(target.path_of(change)),
                "fields": [{"path": f.path, "before": f.before, "after": f.after} for f in change.fields],
            }
            for change in target.changes
        ],
    }


def identity_json(identity: Identity) -> dict[str, str]:
    """Return an object's identity with Kubernetes' names of its parts."""
    parts = zip(("group", "kind", "namespace", "name"), identity, strict=True)
    return {key: value for key, value in parts if value}


def identity_text(identity: Identity) -> str:
    """Return `Kind name` or `Kind namespace/name`."""
    name = f"{identity.namespace}/{identity.name}" if identity.namespace else identity.name
    return f"{identity.kind} {name}"


def value_text(value: object) -> str:
    """Return a field's value on one line, shortened; a dash if missing."""
    shown = "-" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    shown = " ".join(shown.split())
    return shown if len(shown) <= _LONGEST_VALUE else shown[: _LONGEST_VALUE - 1] + "…"


def _counts(target: TargetPlan) -> tuple[int, int, int]:
    counted = Counter(change.action for change in target.changes)
    return counted["make"], counted["change"], counted["delete"]


@dataclass(slots=True)
class _Branch:
    """A queue with the changes at it and below it."""

    changes: list[ObjectChange] = field(default_factory=list)
    below: dict[str, _Branch] = field(default_factory=dict)

    def lines(self, lead: str = "") -> Iterator[str]:
        rows: Sequence[tuple[str, _Branch | None]] = [
            *((_change_text(change), None) for change in self.changes),
            *((name, branch) for name, branch in sorted(self.below.items())),
        ]
        for number, (text, branch) in enumerate(rows):
            is_last = number == len(rows) - 1
            yield f"{lead}{'└─ ' if is_last else '├─ '}{text}"
            if branch is not None:
                yield from branch.lines(lead + ("   " if is_last else "│  "))


def _tree(target: TargetPlan) -> _Branch:
    top = _Branch()
    for change in target.changes:
        branch = top
        for queue in target.path_of(change):
            branch = branch.below.setdefault(queue, _Branch())
        branch.changes.append(change)
    return top


def _change_text(change: ObjectChange) -> str:
    fields = change.fields
    shown = [f"{f.path} {value_text(f.before)} → {value_text(f.after)}" for f in fields[:_MOST_FIELDS]]
    if len(fields) > _MOST_FIELDS:
        shown.append(f"{len(fields) - _MOST_FIELDS} more fields")
    return f"{_SIGNS[change.action]} {identity_text(change.identity)}" + (f": {', '.join(shown)}" if shown else "")


def _text(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
