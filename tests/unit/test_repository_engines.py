"""An engine's package defines its behaviour: no stage of the compiler depends on an engine's name."""

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
