"""Statements about each kind of edit of a policy."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from apportion_compiler.compile import check_policy
from apportion_policy.documents import load_document
from apportion_review.differences import Differences, differences
from apportion_review.facts import Facts
from apportion_review.policy_facts import facts_of
from apportion_review.statements import ADDED, MOVED, REMOVED, RENAMED, statements

HERE = Path(__file__).parent
POLICY = (HERE / "policy.yaml").read_text()
TABLE = HERE / "differences.yaml"
CASES: list[dict[str, Any]] = yaml.safe_load(TABLE.read_text())
SIGNS = {ADDED: "+", REMOVED: "-", RENAMED: "=", MOVED: ">"}


def facts(folder: Path, text: str) -> Facts:
    """The facts of a document."""
    file = folder / "policy.yaml"
    file.write_text(text)
    graph = check_policy(load_document(file), date(2026, 11, 21)).graph
    assert graph is not None
    return facts_of(graph)


def stated(found: Differences) -> str:
    """The statements as lines."""
    lines: list[str] = []
    for statement in statements(found):
        mark = "> " if statement.is_derived else ""
        subject = f"{statement.kind} {statement.name}".rstrip()
        lines.append(f"{mark}{SIGNS.get(statement.action, '~')} {subject}: {statement.text}")
        lines += [f"    {detail}" for detail in statement.details]
    return "\n".join(lines)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_edit_is_stated(case: dict[str, Any], tmp_path: Path, update_golden: bool) -> None:
    text = POLICY
    for before, after in case["edits"].items():
        assert before in text
        text = text.replace(before, after)
    found = stated(differences(facts(tmp_path, POLICY), facts(tmp_path, text)))
    expected = HERE / "expected" / f"{case['name'].replace(' ', '-').replace(',', '')}.txt"
    if update_golden:
        expected.parent.mkdir(exist_ok=True)
        expected.write_text(found + "\n")
    assert f"{found}\n" == expected.read_text()


def test_every_case_has_an_expected_text() -> None:
    names = {f"{case['name'].replace(' ', '-').replace(',', '')}.txt" for case in CASES}
    assert {file.name for file in (HERE / "expected").iterdir()} == names
