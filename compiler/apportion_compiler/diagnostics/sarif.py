"""Findings as SARIF 2.1.0, which code-scanning services read.

Waived findings stay visible as suppressed results. A fingerprint contains the rule, the object and the scope, but not
the line or amounts, so that it survives moved lines.

Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/sarif-v2.1.0-errata01-os-complete.html
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from apportion_compiler.diagnostics.diagnostic import Rule, Severity
from apportion_compiler.diagnostics.positions import Positions, Region, region
from apportion_compiler.diagnostics.report import Finding, Read, Report, ordinals
from apportion_compiler.diagnostics.site import published
from apportion_policy.source import SourceLocation

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "apportionFinding/v1"
_ROOT = "%SRCROOT%"

Page = Callable[[Rule], str | None]
"""Returns a rule's page as Markdown."""


def render_sarif(report: Report, read: Read, in_repository: Callable[[str], str], page: Page) -> str:
    """Return one run with a result for each finding.

    Args:
        report: The findings.
        read: Returns the text of a file.
        in_repository: Returns a path relative to the repository's root.
        page: Returns a rule's page.
    """
    writer = _Writer(Positions(read), in_repository)
    rules = {f.diagnostic.code: f.diagnostic.rule for f in report.findings}
    codes = sorted(rules)
    any_waived = any(finding.level == "waived" for finding in report.findings)
    results = [
        writer.result(finding, fingerprint, codes.index(finding.diagnostic.code), any_waived=any_waived)
        for finding, fingerprint in zip(report.findings, ordinals(report.findings), strict=True)
    ]
    driver = {
        "name": "apportion",
        "version": report.tool_version,
        "rules": [_rule(rules[code], page) for code in codes],
    }
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the repository."}}},
                "properties": {"entry": report.entry, "asOf": report.as_of.isoformat(), "reached": report.reached},
                "results": results,
            }
        ],
    }
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n"


def _rule(rule: Rule, page: Page) -> dict[str, Any]:
    text = page(rule)
    described: dict[str, Any] = {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "defaultConfiguration": {"level": _level(rule.severity)},
        "helpUri": published(rule.docs),
    }
    if text is not None:
        described["help"] = {"text": text, "markdown": text}
    return described


class _Writer:
    """Writes results with paths relative to a repository."""

    def __init__(self, positions: Positions, in_repository: Callable[[str], str]) -> None:
        self._positions = positions
        self._in_repository = in_repository

    def result(self, finding: Finding, fingerprint: str, rule_index: int, *, any_waived: bool) -> dict[str, Any]:
        d = finding.diagnostic
        result: dict[str, Any] = {
            "ruleId": d.code,
            "ruleIndex": rule_index,
            "level": _level(d.effective_severity),
            "message": {"text": d.message + (f"\nHint: {d.hint}" if d.hint is not None else "")},
            "locations": self._locations(finding),
            "partialFingerprints": {FINGERPRINT: fingerprint},
            "properties": {"scope": d.scope},
        }
        related = [r for r in d.related if _has_file(r.at)]
        if related:
            result["relatedLocations"] = [
                {"id": i, "message": {"text": r.message}, "physicalLocation": self._physical(r.at)}
                for i, r in enumerate(related, start=1)
            ]
        if any_waived:
            result["suppressions"] = self._suppressions(finding)
        if finding.edit is not None:
            result["fixes"] = [self._fix(finding)]
        return result

    def _locations(self, finding: Finding) -> list[dict[str, Any]]:
        d = finding.diagnostic
        location: dict[str, Any] = {"logicalLocations": [{"fullyQualifiedName": d.address}]}
        if _has_file(d.at):
            location["physicalLocation"] = self._physical(d.at)
        return [location]

    def _suppressions(self, finding: Finding) -> list[dict[str, Any]]:
        s = finding.diagnostic.suppression
        if s is None:
            return []
        suppression: dict[str, Any] = {
            "kind": "inSource",
            "status": "accepted",
            "justification": f"{s.reason} ({s.owner}, until {s.expires})",
        }
        if _has_file(s.at):
            suppression["location"] = {"physicalLocation": self._physical(s.at)}
        return [suppression]

    def _fix(self, finding: Finding) -> dict[str, Any]:
        edit, fix = finding.edit, finding.diagnostic.fix
        assert edit is not None
        assert fix is not None
        change = {
            "artifactLocation": self._artifact(edit.file),
            "replacements": [{"deletedRegion": _region(region(edit.span)), "insertedContent": {"text": edit.text}}],
        }
        description = finding.diagnostic.hint or finding.diagnostic.message
        return {
            "description": {"text": description},
            "artifactChanges": [change],
            "properties": {"applicability": fix.applicability.value},
        }

    def _physical(self, at: SourceLocation) -> dict[str, Any]:
        physical: dict[str, Any] = {"artifactLocation": self._artifact(at.file)}
        found = self._positions.region(at)
        if found is not None:
            physical["region"] = _region(found)
        return physical

    def _artifact(self, file: str) -> dict[str, str]:
        named = self._in_repository(file)
        if Path(named).is_absolute():
            return {"uri": Path(named).as_uri()}
        return {"uri": quote(named, errors="surrogateescape"), "uriBaseId": _ROOT}


def _has_file(at: SourceLocation) -> bool:
    return not at.file.startswith("<")


def _region(found: Region) -> dict[str, int]:
    return {
        "startLine": found.line,
        "startColumn": found.column,
        "endLine": found.end_line,
        "endColumn": found.end_column,
    }


def _level(severity: Severity) -> str:
    return severity.value
