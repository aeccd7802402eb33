"""Findings as JSON: a versioned envelope whose schema is `schemas/validation-report.v1.json`."""

from __future__ import annotations

import json
from typing import Any

from apportion_compiler.diagnostics.diagnostic import Diagnostic
from apportion_compiler.diagnostics.positions import Positions, Region, region
from apportion_compiler.diagnostics.report import Finding, Read, Report, ordinals
from apportion_policy.source import SourceLocation

API_VERSION = "apportion.dev/v1"
KIND = "ValidationReport"


def render_json(report: Report, read: Read) -> str:
    """Return the report; unknown values are null, never absent."""
    positions = Positions(read)
    unique = ordinals(report.findings)
    envelope = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "tool": {"name": "apportion", "version": report.tool_version},
        "entry": report.entry,
        "asOf": report.as_of.isoformat(),
        "reached": report.reached,
        "summary": {
            "errors": report.count("error"),
            "warnings": report.count("warning"),
            "waived": report.count("waived"),
            "queues": report.n_queues,
            "environments": report.n_environments,
        },
        "findings": [
            _finding(finding, fingerprint, positions)
            for finding, fingerprint in zip(report.findings, unique, strict=True)
        ],
    }
    return json.dumps(envelope, indent=2, ensure_ascii=False) + "\n"


def _finding(finding: Finding, fingerprint: str, positions: Positions) -> dict[str, Any]:
    d = finding.diagnostic
    return {
        "code": d.code,
        "name": d.rule.name,
        "severity": d.effective_severity.value,
        "address": d.address,
        "scope": d.scope,
        "message": d.message,
        "location": _location(d.at, positions),
        "related": [{"message": r.message, "location": _location(r.at, positions)} for r in d.related],
        "hint": d.hint,
        "fix": _fix(finding),
        "suppression": _suppression(d, positions),
        "fingerprint": fingerprint,
        "docs": d.rule.docs,
    }


def _location(at: SourceLocation, positions: Positions) -> dict[str, Any]:
    found = positions.region(at)
    return {"file": at.file, **(_region(found) if found is not None else dict.fromkeys(_REGION))}


def _fix(finding: Finding) -> dict[str, Any] | None:
    fix, edit = finding.diagnostic.fix, finding.edit
    if fix is None:
        return None
    return {
        "path": list(fix.path),
        "value": fix.value,
        "applicability": fix.applicability.value,
        "edit": None if edit is None else {"file": edit.file, **_region(region(edit.span)), "text": edit.text},
    }


def _suppression(d: Diagnostic, positions: Positions) -> dict[str, Any] | None:
    s = d.suppression
    if s is None:
        return None
    return {"reason": s.reason, "owner": s.owner, "expires": s.expires, "location": _location(s.at, positions)}


_REGION = ("line", "column", "endLine", "endColumn")


def _region(found: Region) -> dict[str, int]:
    return dict(zip(_REGION, (found.line, found.column, found.end_line, found.end_column), strict=True))
