"""A stack's plan for a person and for a program."""

from __future__ import annotations

import json
from typing import Any

from apportion_cli.stacks import Plan


def plan_text(plan: Plan) -> str:
    """Return a line for each target that changes, and how many updates there are."""
    changed = [change for change in plan.changes if not change.is_empty]
    if not changed:
        return f"{plan.environment}: nothing to do\n"
    width = max(len(change.target) for change in changed)
    lines = [
        f"{plan.environment}/{change.target:<{width}}  {change.made} to make, {change.changed} to change, "
        f"{change.deleted} to delete"
        for change in changed
    ]
    if plan.n_updates > 1:
        lines += [
            "",
            f"{plan.n_updates} updates one after another, each of them valid by itself: no engine takes all of it at once",
        ]
    return "\n".join(lines) + "\n"


def plan_json(plan: Plan) -> str:
    """Return the plan as a versioned document."""
    return _text(_document(plan, "StackPlan"))


def up_json(plan: Plan, n_updates: int) -> str:
    """Return what was done as a versioned document."""
    return _text({**_document(plan, "StackUpdate"), "updatesDone": n_updates})


def _document(plan: Plan, kind: str) -> dict[str, Any]:
    return {
        "apiVersion": "apportion.dev/v1",
        "kind": kind,
        "environment": plan.environment,
        "updates": plan.n_updates,
        "targets": [
            {"target": c.target, "made": c.made, "changed": c.changed, "deleted": c.deleted} for c in plan.changes
        ],
    }


def _text(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
