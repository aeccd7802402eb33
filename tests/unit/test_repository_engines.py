"""Engines are listed only in the registry: no stage of the compiler depends on an engine's name, and tests cover new ones."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from apportion_compiler.engines.registry import ENGINES

ROOT = Path(__file__).parents[2]
PACKAGES = ("policy", "compiler", "cli")

# Checks of the settings that only KAI has (`Cluster.kai`).
OF_ONE_ENGINE = {
    "compiler/apportion_compiler/checks/gpu_sharing_without_reservation.py",
    "compiler/apportion_compiler/checks/gpus_shared_twice.py",
    "compiler/apportion_compiler/checks/minimum_runtime_ineffective.py",
}

_POLICIES = ("diagnostics", "golden")
"""Folders of `tests` with policies as authors write them, some of them not valid Python."""
_MOST_LISTED = 4
"""A test with a longer list of engines is about all of them but some."""


def _names_an_engine(node: ast.expr) -> bool:
    if isinstance(node, ast.Tuple | ast.Set | ast.List):
        return any(map(_names_an_engine, node.elts))
    if isinstance(node, ast.Constant):
        return node.value in ENGINES
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Engine"


def _decisions() -> Iterator[str]:
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            name = file.relative_to(ROOT).as_posix()
            if "/engines/" in name or name in OF_ONE_ENGINE:
                continue
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Compare) and any(map(_names_an_engine, (node.left, *node.comparators))):
                    yield f"{name}:{node.lineno}"


def test_no_stage_compares_engine_names() -> None:
    assert list(_decisions()) == []


def _lists_of_tests() -> Iterator[str]:
    for file in sorted((ROOT / "tests").rglob("*.py")):
        if file.relative_to(ROOT).parts[1] in _POLICIES:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Tuple | ast.Set | ast.List):
                continue
            listed = {each.value for each in node.elts if isinstance(each, ast.Constant)}
            if len(listed & set(ENGINES)) > _MOST_LISTED:
                yield f"{file.relative_to(ROOT).as_posix()}:{node.lineno}"


def test_no_test_lists_all_engines_by_hand() -> None:
    """A list that omits some states the reasons: `tests.engine_lists.engines_except`."""
    assert list(_lists_of_tests()) == []
