"""The difference between two policies as a versioned JSON document."""

from __future__ import annotations

import json
from typing import Any

from apportion_policy.quantity import Unlimited
from apportion_review.diff_report import DiffReport, Side
from apportion_review.differences import Change
from apportion_review.facts import Value
from apportion_review.object_changes import TargetChanges
from apportion_review.statements import Statement, locations

API_VERSION = "apportion.dev/v1"


def diff_json(report: DiffReport) -> str:
    """Return the report as JSON."""
    return json.dumps(diff_document(report), indent=2, ensure_ascii=False) + "\n"


def diff_document(report: DiffReport) -> dict[str, Any]:
    """Return the report as a document: statements, and every changed field with its exact values."""
    return {
        "apiVersion": API_VERSION,
        "kind": "PolicyDiff",
        "base": _side(report.base),
        "head": _side(report.head),
        "differs": report.differs,
        "renames": [{"kind": r.kind, "before": r.before, "after": r.after} for r in report.found.renames],
        "statements": [_statement(statement, report) for statement in report.statements],
        "unchanged": dict(report.unchanged),
        "objects": None if report.objects is None else [_target(target) for target in report.objects],
        "whyNoObjects": report.why_no_objects or None,
        "notes": list(report.notes),
    }


def _side(side: Side) -> dict[str, str]:
    return {"name": side.name, "asOf": side.as_of.isoformat()}


def _statement(statement: Statement, report: DiffReport) -> dict[str, Any]:
    base_at, head_at = locations(statement, report.found)
    return {
        "action": statement.action,
        "kind": statement.kind,
        "name": statement.name,
        "text": statement.text,
        "details": list(statement.details),
        "clusters": list(statement.clusters),
        "derived": statement.is_derived,
        "baseLocation": base_at,
        "headLocation": head_at,
        "changes": [_change(change) for change in statement.changes],
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "cluster": change.fact.scope or None,
        "field": list(change.fact.field),
        "before": _value(change.before),
        "after": _value(change.after),
    }


def _value(value: Value | None) -> object:
    if isinstance(value, tuple):
        return list(value)
    return value.value if isinstance(value, Unlimited) else value


def _target(target: TargetChanges) -> dict[str, Any]:
    retained = {change.identity for change in target.retained}
    actions = {"make": "create", "change": "change", "delete": "delete"}
    return {
        "cluster": target.cluster,
        "target": target.backend,
        "changes": [
            {
                "action": "leave" if change.identity in retained else actions[change.action],
                "group": change.identity.group,
                "kind": change.identity.kind,
                "namespace": change.identity.namespace or None,
                "name": change.identity.name,
                "fields": [{"path": f.path, "before": f.before, "after": f.after} for f in change.fields],
            }
            for change in target.changes
        ],
    }
