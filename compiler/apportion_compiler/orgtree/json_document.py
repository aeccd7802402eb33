"""The tree as a versioned JSON document: amounts as quantity text, `null` for unlimited."""

from __future__ import annotations

import json

from apportion_compiler.orgtree.report import TreeReport
from apportion_policy.quantity import Unlimited


def json_tree(report: TreeReport) -> str:
    """Return the report as JSON, rows in tree order."""
    document = {
        "apiVersion": "apportion.dev/v1",
        "kind": "TreeReport",
        "scope": report.scope,
        "resource": report.resource,
        "unit": report.unit,
        "capacity": None if report.capacity is None else report.text(report.capacity),
        "queues": [
            {
                "id": row.id,
                "title": row.title,
                "parent": row.parent,
                "owner": row.owner,
                "namespaces": row.namespaces,
                "guaranteed": report.text(row.guaranteed),
                "limit": None if isinstance(row.limit, Unlimited) else report.text(row.limit),
            }
            for row in report.rows
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
