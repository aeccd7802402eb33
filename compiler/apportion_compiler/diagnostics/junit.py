"""Findings as JUnit XML: one testcase for each rule and object, so that CI systems list them.

A rule without findings is one passing testcase. A waived finding is skipped with the waiver's reason; one below
`fail_on` passes, with the finding in its output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from xml.etree import ElementTree

from apportion_compiler.diagnostics.diagnostic import Rule
from apportion_compiler.diagnostics.report import Finding, Report
from apportion_policy.evaluation.sanitized_text import plain_text
from apportion_policy.source import SourceLocation

_FAILING = {"error": ("error",), "warning": ("error", "warning")}
_CLEAN = "every object"


def render_junit(report: Report, in_repository: Callable[[str], str], rules_run: Iterable[Rule], fail_on: str) -> str:
    """Return the report.

    Args:
        report: The findings.
        in_repository: Returns a path relative to the repository's root.
        rules_run: Rules that were evaluated.
        fail_on: Lowest severity that is a failure: `error`, `warning` or `never`.
    """
    cases = [_case(group, in_repository, _FAILING.get(fail_on, ())) for group in _grouped(report)]
    found = {finding.diagnostic.code for finding in report.findings}
    cases += [
        ElementTree.Element("testcase", classname=_class(rule), name=_CLEAN)
        for rule in rules_run
        if rule.code not in found
    ]
    counts = {
        "tests": str(len(cases)),
        "failures": str(sum(case.find("failure") is not None for case in cases)),
        "errors": "0",
        "skipped": str(sum(case.find("skipped") is not None for case in cases)),
    }
    root = ElementTree.Element("testsuites", {"name": "apportion validate", **counts})
    suite = ElementTree.SubElement(root, "testsuite", {"name": plain_text(report.entry), **counts})
    suite.extend(sorted(cases, key=lambda case: (case.get("classname", ""), case.get("name", ""))))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _grouped(report: Report) -> Iterable[list[Finding]]:
    groups: dict[tuple[str, str, str | None, str], list[Finding]] = {}
    for finding in report.findings:
        d = finding.diagnostic
        groups.setdefault((d.code, d.address, d.scope, finding.level), []).append(finding)
    return groups.values()


def _case(group: list[Finding], in_repository: Callable[[str], str], failing: tuple[str, ...]) -> ElementTree.Element:
    first = group[0].diagnostic
    name = plain_text(first.where)
    case = ElementTree.Element("testcase", classname=_class(first.rule), name=name)
    if not first.at.file.startswith("<"):
        case.set("file", plain_text(in_repository(first.at.file)))
    if first.at.line:
        case.set("line", str(first.at.line))
    text = "\n".join(_text(finding, in_repository) for finding in group)
    level = group[0].level
    if first.suppression is not None:
        s = first.suppression
        ElementTree.SubElement(
            case, "skipped", message=plain_text(f"waived until {s.expires} by {s.owner}: {s.reason}")
        ).text = text
    elif level in failing or group[0].is_required_error:
        ElementTree.SubElement(
            case, "failure", type=level, message="; ".join(plain_text(f.diagnostic.message) for f in group)
        ).text = text
    else:
        ElementTree.SubElement(case, "system-out").text = text
    return case


def _text(finding: Finding, in_repository: Callable[[str], str]) -> str:
    d = finding.diagnostic
    lines = [f"{_place(d.at, in_repository)}: {finding.level}[{d.code}] {plain_text(d.message)}"]
    lines += [f"  {_place(r.at, in_repository)}: {plain_text(r.message)}" for r in d.related]
    if d.hint is not None:
        lines.append(f"  hint: {plain_text(d.hint)}")
    return "\n".join((*lines, f"  docs: {d.rule.docs_command}"))


def _place(at: SourceLocation, in_repository: Callable[[str], str]) -> str:
    file = plain_text(in_repository(at.file))
    return f"{file}:{at.line}" if at.line else file


def _class(rule: Rule) -> str:
    return f"{rule.code} {rule.name}"
