"""Drift reports as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from apportion_cli.stack_report import identity_json, identity_text, value_text

if TYPE_CHECKING:
    from apportion_compiler.rollout.drift import DriftedObject

_SAID = {
    "missing": "is missing",
    "changed": "differs from what was applied",
    "left": "exists but is no longer in the policy",
    "unmanaged": "is not managed by the policy, but affects managed objects",
}


def drift_text(environment: str, found: Sequence[DriftedObject]) -> str:
    """Return a line for each drifted object, followed by one for each field."""
    if not found:
        return f"{environment}: no drift\n"
    lines: list[str] = []
    for one in found:
        lines.append(f"{environment}: {identity_text(one.identity)} {_SAID[one.state]}")
        lines += [f"  {path}: applied {value_text(was)}, found {value_text(now)}" for path, was, now in one.fields]
    return "\n".join(lines) + "\n"


def drift_json(environment: str, found: Sequence[DriftedObject]) -> str:
    """Return the drift as a versioned document."""
    document = {
        "apiVersion": "apportion.dev/v1",
        "kind": "Drift",
        "environment": environment,
        "objects": [
            {
                "state": one.state,
                **identity_json(one.identity),
                "fields": [{"path": path, "written": was, "there": now} for path, was, now in one.fields],
            }
            for one in found
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
