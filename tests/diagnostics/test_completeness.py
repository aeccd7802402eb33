"""Completeness instead of automatic registration: every rule is in its table, and has a page and cases."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

from apportion_compiler import checks
from apportion_compiler.checks import CHECKS, FINDING_CHECKS, RULES, STRUCTURE_CHECKS
from apportion_compiler.diagnostics.diagnostic import Rule

HERE = Path(__file__).parent
REPOSITORY = HERE.parent.parent
HEADINGS = ("## What it finds", "## Why this is bad", "## Example", "## How to fix it", "## References")
FILES = {"bad.py", "bad_helper.py", "bad.yaml", "good.py", "good.yaml", "expected.txt"}
OF_FAMILY = {
    "AP0": set[str](),
    "AP7": {"bad.yaml", "good.yaml", "expected.txt"},
    "AP8": {"bad.yaml", "good.yaml", "expected.txt"},
}
"""Families whose cases are no policies: what could not be evaluated, raw manifests, and snapshots of clusters."""
OF_RULE = {
    "AP118": {"bad.py", "bad_helper.py", "good.py", "expected.txt"},
    "AP119": {"bad", "good", "expected.txt"},
}
"""A document holds all that it declares, and files are missed by folder: `test_file_not_read.py`."""
# Findings of these modules are made by the evaluation, the backends, the engines' rules and the runtime, not by a check.
TABLES = {f"apportion_compiler.checks.{name}" for name in ("evaluation_faults", "manifests", "refusals", "snapshots")}
MODULES = [importlib.import_module(f"{checks.__name__}.{m.name}") for m in pkgutil.iter_modules(checks.__path__)]


def _defined() -> dict[str, list[Rule]]:
    """Rules by the module that defines them: as a constant, or as the values of a table."""
    defined: dict[str, list[Rule]] = {}
    for module in MODULES:
        for value in vars(module).values():
            rules = value.values() if isinstance(value, dict) else (value,)
            defined.setdefault(module.__name__, []).extend(rule for rule in rules if isinstance(rule, Rule))
    return {name: rules for name, rules in defined.items() if rules}


def test_every_rule_is_in_the_table() -> None:
    defined = {rule.code for rules in _defined().values() for rule in rules}
    assert defined == set(RULES)


def test_codes_and_names_are_unique() -> None:
    rules = {id(rule): rule for rules in _defined().values() for rule in rules}.values()
    assert len({rule.code for rule in rules}) == len(rules)
    assert len({rule.name for rule in rules}) == len(rules)
    assert all(code == rule.code for code, rule in RULES.items())
    assert list(RULES) == sorted(RULES)


def test_every_check_module_is_registered() -> None:
    run = {check.__module__ for check in (*STRUCTURE_CHECKS, *CHECKS, *FINDING_CHECKS)} | TABLES
    assert set(_defined()) <= run


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.code)
def test_rule_has_a_page(rule: Rule) -> None:
    lines = (REPOSITORY / rule.docs).read_text(encoding="utf-8").splitlines()
    assert lines[0] == f"# {rule.code}: {rule.name}"
    assert tuple(line for line in lines if line.startswith("## ")) == HEADINGS


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.code)
def test_rule_has_cases(rule: Rule) -> None:
    case = HERE / f"{rule.code}-{rule.name}"
    present = {file.name for file in case.iterdir()}
    assert present >= OF_RULE.get(rule.code, OF_FAMILY.get(rule.code[:3], FILES))
    assert present


def test_codes_without_a_rule_are_listed() -> None:
    """CONTRIBUTING.md describes the families and lists their gaps; AP299 is the code of its example."""
    step = re.search(r"1\. \*\*Code\.\*\*.*?\n2\. ", (REPOSITORY / "CONTRIBUTING.md").read_text(), re.DOTALL)
    assert step is not None
    codes = set(RULES) - {"AP299"}
    families = {code[2] for code in codes}
    assert set(re.findall(r"`(\d)`", step[0])) == families
    listed = set(re.findall(r"AP\d{3}", step[0])) - {"AP299"}
    for family in sorted(families):
        numbers = {int(code[3:]) for code in codes | listed if code[2] == family}
        missing = next(number for number in range(1, max(numbers) + 2) if number not in numbers)
        assert missing > max(numbers), f"the next code of family {family} is AP{family}{missing:02}"
    assert not listed & codes


def test_pages_and_cases_have_rules() -> None:
    pages = {page.stem for page in (REPOSITORY / "docs/diagnostics").glob("AP*.md")}
    cases = {case.name for case in HERE.glob("AP*-*")}
    assert pages | cases <= {f"{rule.code}-{rule.name}" for rule in RULES.values()}
