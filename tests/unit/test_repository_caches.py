"""The cache tables in docs/scheduler.md list exactly the existing caches."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUNTIME = ROOT / "runtime" / "apportion_runtime"
SWITCHED_OFF = ROOT / "tests" / "property" / "test_core_caches.py"
_DECORATORS = {"cache", "lru_cache", "cached_property"}
_KEPT_SESSION = "kept session"


def _rows() -> list[list[str]]:
    """The cells of every row of the section's tables, without the head."""
    text = (ROOT / "docs" / "scheduler.md").read_text(encoding="utf-8")
    section = text.split("\n## Caches\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ") and not line.startswith("| cached value |")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def _named(cell: str) -> Iterator[tuple[str, str]]:
    """Yield each file with each name that follows it."""
    file = ""
    for word in re.findall(r"`([^`]+)`", cell):
        if word.endswith(".py"):
            file = word
        else:
            yield file, word


def _path(file: str) -> Path:
    return RUNTIME / "core" / file if (RUNTIME / "core" / file).exists() else RUNTIME / file


def _defined(path: Path) -> set[str]:
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {node.name for node in nodes if isinstance(node, (ast.ClassDef, ast.FunctionDef))}


def _decorated(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            calls = [made.func if isinstance(made, ast.Call) else made for made in node.decorator_list]
            if any(isinstance(name, ast.Name) and name.id in _DECORATORS for name in calls):
                yield node.name


@pytest.mark.parametrize("row", _rows(), ids=lambda row: row[0])
def test_listed_caches_exist(row: list[str]) -> None:
    names = list(_named(row[1]))
    assert names
    for file, name in names:
        assert name in _defined(_path(file)), f"{file} has no {name}"


def test_every_cache_is_documented() -> None:
    listed = {(_path(file), name) for row in _rows() for file, name in _named(row[1])}
    found = {(path, name) for path in RUNTIME.rglob("*.py") for name in _decorated(path)}
    assert found - listed == set()


def test_every_documented_cache_is_tested() -> None:
    tree = ast.parse(SWITCHED_OFF.read_text(encoding="utf-8"))
    (table,) = (
        node.value for node in tree.body if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "OFF"
    )
    assert isinstance(table, ast.Dict)
    cases = {key.value for key in table.keys if isinstance(key, ast.Constant)}
    named: set[str] = set()
    for row in _rows():
        if len(row) < 5:
            continue
        held_by = [each.strip() for each in row[4].partition(". ")[0].split(",")]
        paths = [each.strip("`") for each in held_by if each.startswith("`")]
        assert [path for path in paths if not (ROOT / path).exists()] == []
        named |= {each for each in held_by if not each.startswith("`")}
        assert held_by != [""]
    assert named - {_KEPT_SESSION} == cases
