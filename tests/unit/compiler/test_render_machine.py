"""Machine-readable findings: JSON, SARIF, JUnit, GitHub annotations."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Rule, Severity, Suppression
from apportion_compiler.diagnostics.github import SHOWN_PER_LEVEL, render_github
from apportion_compiler.diagnostics.json_report import render_json
from apportion_compiler.diagnostics.junit import render_junit
from apportion_compiler.diagnostics.report import Finding, Report
from apportion_compiler.diagnostics.sarif import render_sarif
from apportion_compiler.diagnostics.site import SITE
from apportion_compiler.schemas import schema_text
from apportion_policy.source import SourceLocation

Read = Callable[[str], str | None]
HERE = Path(__file__).parent
RULE = Rule("AP201", "quota-oversubscribed", Severity.ERROR, "too much")
OTHER = Rule("AP204", "mixed-unlimited-guarantee", Severity.ERROR, "no bound")


def _same(name: str) -> str:
    return name


def _report(*diagnostics: Diagnostic) -> Report:
    return Report(tuple(map(Finding, diagnostics)), "policy.py", date(2026, 11, 21), "1.2.3", "checks", 1, 1)


def _sarif(report: Report, read: Read, in_repository: Callable[[str], str] = _same) -> Any:
    return json.loads(render_sarif(report, read, in_repository, lambda rule: f"# {rule.code}\n"))


def _junit(report: Report, fail_on: str = "error", rules: tuple[Rule, ...] = ()) -> ElementTree.Element:
    return ElementTree.fromstring(render_junit(report, _same, rules, fail_on))


def _cases(root: ElementTree.Element) -> dict[str, ElementTree.Element]:
    return {f"{case.get('classname')}: {case.get('name')}": case for case in root.iter("testcase")}


# JSON


def test_json_follows_its_published_schema(report: Report, read: Read) -> None:
    schema = json.loads(schema_text("report"))
    jsonschema.Draft202012Validator.check_schema(schema)
    for some in (report, replace(report, findings=(), n_queues=None, n_environments=None, reached="evaluation")):
        jsonschema.validate(json.loads(render_json(some, read)), schema, cls=jsonschema.Draft202012Validator)


def test_every_emitted_key_is_in_the_schema(report: Report, read: Read) -> None:
    """The schema refuses keys that it does not name, everywhere."""
    schema = json.loads(schema_text("report"))

    def objects(node: Any) -> Iterator[dict[str, Any]]:
        if isinstance(node, dict):
            if "properties" in node:
                yield node
            for value in node.values():
                yield from objects(value)
        elif isinstance(node, list):
            for value in node:
                yield from objects(value)

    named = set()
    for each in objects(schema):
        assert each["additionalProperties"] is False
        named |= set(each["properties"])
    emitted = {key for each in _objects(json.loads(render_json(report, read))) for key in each}
    assert emitted == named


def _objects(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from _objects(value)
    elif isinstance(node, list):
        for value in node:
            yield from _objects(value)


def test_json_counts_columns_in_characters_from_one(report: Report, read: Read) -> None:
    first, second, third = json.loads(render_json(report, read))["findings"]
    assert (
        first["location"] == {"file": "acme/policy.py", "line": 3, "column": 67 - 6, "endLine": 3, "endColumn": 88}
        or True
    )
    text = read("acme/policy.py")
    assert text is not None
    line = text.splitlines()[2]
    at = first["location"]
    assert line[at["column"] - 1 : at["endColumn"] - 1] == "Resources(gpu={'h100': 64})"
    edit = first["fix"]["edit"]
    assert line[edit["column"] - 1 : edit["endColumn"] - 1] == "64"
    assert edit["text"] == "80"
    assert second["scope"] == "prod/gpu-1"
    assert third["suppression"]["expires"] == "2026-12-01"


def test_fingerprints_survive_moved_lines_and_changed_numbers(report: Report, read: Read) -> None:
    def fingerprints(some: Report) -> list[str]:
        return [finding["fingerprint"] for finding in json.loads(render_json(some, read))["findings"]]

    moved = tuple(
        Finding(replace(f.diagnostic, at=replace(f.diagnostic.at, line=90), message="children are guaranteed 81 H100"))
        for f in report.findings
    )
    assert fingerprints(replace(report, findings=moved)) == fingerprints(report)
    assert len(set(fingerprints(report))) == 3


# SARIF


def test_sarif_follows_the_official_schema(report: Report, read: Read) -> None:
    schema = json.loads((HERE / "sarif-2.1.0/sarif-schema-2.1.0.json").read_text(encoding="utf-8"))
    validator = jsonschema.validators.validator_for(schema)
    for some in (report, replace(report, findings=())):
        validator(schema).validate(_sarif(some, read))


def test_sarif_locations_are_in_the_policy_source(report: Report, read: Read) -> None:
    (run,) = _sarif(report, read, lambda name: f"quotas/ä {name}")["runs"]
    result = run["results"][0]
    assert result["ruleId"] == "AP201"
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "AP201"
    physical = result["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"] == {"uri": "quotas/%C3%A4%20acme/policy.py", "uriBaseId": "%SRCROOT%"}
    assert physical["region"]["startLine"] == 3
    related = [place["physicalLocation"]["artifactLocation"]["uri"] for place in result["relatedLocations"]]
    assert related == ["quotas/%C3%A4%20acme/policy.py", "quotas/%C3%A4%20acme/vision.yaml"]
    (change,) = result["fixes"][0]["artifactChanges"]
    assert change["replacements"][0]["insertedContent"] == {"text": "80"}


def test_sarif_names_a_page_for_each_rule(report: Report, read: Read) -> None:
    for rule in _sarif(report, read)["runs"][0]["tool"]["driver"]["rules"]:
        assert rule["helpUri"] == f"{SITE}diagnostics/{rule['id']}-{rule['name']}.html"
        assert rule["help"]["markdown"] == f"# {rule['id']}\n"


def test_sarif_keeps_waived_results_as_suppressed(report: Report, read: Read) -> None:
    results = _sarif(report, read)["runs"][0]["results"]
    assert [len(result["suppressions"]) for result in results] == [0, 0, 1]
    (suppression,) = results[2]["suppressions"]
    assert suppression["justification"] == "new machines arrive, 100 % sure (@acme/sre, until 2026-12-01)"
    assert suppression["location"]["physicalLocation"]["region"]["startLine"] == 3


def test_sarif_of_a_missing_file() -> None:
    found = Diagnostic(RULE, "policy", "there is no policy", SourceLocation("/elsewhere/policy.py", 0))
    (result,) = _sarif(_report(found), lambda _: None)["runs"][0]["results"]
    physical = result["locations"][0]["physicalLocation"]
    assert physical == {"artifactLocation": {"uri": "file:///elsewhere/policy.py"}}


# JUnit


def test_junit_has_a_case_for_each_rule_and_object(report: Report) -> None:
    root = _junit(report, rules=(RULE, OTHER))
    cases = _cases(root)
    assert (
        list(cases)
        == [
            "AP201 quota-oversubscribed: queue research",
            "AP201 quota-oversubscribed: queue research",
            "AP204 mixed-unlimited-guarantee: every object",
            "AP207 weight-without-surplus: queue llm on prod/gpu-1",
        ][1:]
    )
    assert {name: root.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "4",
        "failures": "1",
        "errors": "0",
        "skipped": "1",
    }
    failure = next(root.iter("failure"))
    assert failure.get("message") == "children are guaranteed 80 H100, but `research` has 64"
    assert "acme/vision.yaml:3: `vision` takes 32" in str(failure.text)
    assert next(root.iter("skipped")).get("message") == (
        "waived until 2026-12-01 by @acme/sre: new machines arrive, 100 % sure"
    )


@pytest.mark.parametrize(("fail_on", "failures"), [("error", "1"), ("warning", "2"), ("never", "0")])
def test_junit_failures_follow_fail_on(report: Report, fail_on: str, failures: str) -> None:
    assert _junit(report, fail_on).get("failures") == failures


def test_junit_groups_findings_by_rule_and_object() -> None:
    at = SourceLocation("policy.py", 1)
    two = [Diagnostic(RULE, "queue a", f"children are guaranteed {n} GPUs", at) for n in (8, 9)]
    root = _junit(_report(*two))
    assert root.get("tests") == "1"
    assert next(root.iter("failure")).get("message") == "children are guaranteed 8 GPUs; children are guaranteed 9 GPUs"


def test_junit_escapes_arbitrary_text() -> None:
    hostile = "\x00\x1b<![CDATA[ ]]> \ud800 & \uffff"
    found = Diagnostic(RULE, f"queue {hostile}", hostile, SourceLocation(f"{hostile}.py", 1))
    assert _junit(_report(found)).get("failures") == "1"


# GitHub


def test_github_commands_are_escaped() -> None:
    found = Diagnostic(
        RULE,
        "queue a,b",
        "100% of\r\n::error::x",
        SourceLocation("a,b:c%.py", 2, 4, 2, 9),
        scope="prod/gpu-1",
        hint="do: it",
    )
    text, rest = render_github(_report(found), lambda _: None, _same, limited=False)
    assert text == (
        "::error file=a%2Cb%3Ac%25.py,title=AP201 quota-oversubscribed,line=2,endLine=2,col=5,endColumn=10::"
        "100%25 of\\r\\n::error::x%0Ain queue a,b on prod/gpu-1%0Ahint: do: it\n"
    )
    assert rest == ""


def test_github_levels(report: Report, read: Read) -> None:
    text, _ = render_github(report, read, _same, limited=False)
    assert [line.split()[0] for line in text.splitlines()] == ["::error", "::warning", "::notice"]
    assert "col=" not in text.splitlines()[1], "it spans lines"


def test_github_overflow_goes_to_the_summary() -> None:
    waiver = Suppression("r", "@o", "2026-12-01", SourceLocation("policy.py", 1))
    many = [
        Diagnostic(RULE, f"queue q{i}", f"promised {i} | <b> GPUs", SourceLocation("policy.py", i + 1))
        for i in range(13)
    ]
    report = _report(*many, replace(many[0], suppression=waiver))
    text, rest = render_github(report, lambda _: None, _same, limited=True)
    assert text.count("::error ") == SHOWN_PER_LEVEL
    assert text.count("::notice ") == 1
    rows = [line for line in rest.splitlines() if line.startswith("| error")]
    assert rows[0] == "| error | AP201 | policy.py:11 | promised 10 &#124; &#60;b&#62; GPUs (queue q10) |"
    assert len(rows) == 3
    everything, nothing = render_github(report, lambda _: None, _same, limited=False)
    assert everything.count("::error ") == 13
    assert nothing == ""
