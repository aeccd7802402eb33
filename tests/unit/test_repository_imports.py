"""Imports of the packages: an allow list that import-linter does not support, and the effect of its contracts."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).parents[2]

# Package → the top-level modules beside the standard library that it may import.
ALLOWED = {
    "api/apportion_api": {"apportion_api"},
    "policy/apportion_policy": {
        "apportion_api",
        "apportion_policy",
        "annotated_types",
        "pydantic",
        "pydantic_core",
        "yaml",
    },
    "compiler/apportion_compiler": {
        "apportion_api",
        "apportion_compiler",
        "apportion_policy",
        "jinja2",
        "networkx",
        "yaml",
    },
}

# Folder → what it may import besides.
BESIDES = {"compiler/apportion_compiler/emit/pulumi": {"pulumi", "pulumi_kubernetes", "pulumi_policy"}}

_SOURCES = ("api", "policy", "compiler", "runtime", "review", "cli")

# Contract → a line that breaks it, and the module that must not hold the line.
BREACHES = {
    "packages": ("policy/apportion_policy/quantity.py", "import apportion_compiler"),
    "api-objects-need-no-library": ("api/apportion_api/fields.py", "import yaml"),
    "runtime-shares-no-types": ("runtime/apportion_runtime/core/queue_order.py", "import apportion_policy"),
    "core-is-pure": ("runtime/apportion_runtime/core/queue_order.py", "import os"),
    "admission-knows-the-core-alone": (
        "runtime/apportion_runtime/admission/objects.py",
        "import apportion_runtime.snapshots",
    ),
    "simulation-is-closed": ("runtime/apportion_runtime/engines/native/engine.py", "import time"),
    "queues-know-no-cluster": ("runtime/apportion_runtime/kube_queue/tree.py", "import apportion_runtime.kube"),
    "review-is-pure": ("review/apportion_review/facts.py", "import os"),
    "live-knows-no-simulation": ("runtime/apportion_runtime/kube/errors.py", "import apportion_runtime.engines.base"),
    "simulation-knows-no-live": ("runtime/apportion_runtime/engines/detection.py", "import apportion_runtime.kube"),
    "simulated-engines-know-no-other": (
        "runtime/apportion_runtime/engines/ack/victims.py",
        "import apportion_runtime.engines.kueue.records",
    ),
    "simulation-knows-engines-by-protocol": (
        "runtime/apportion_runtime/sim/api/clock.py",
        "import apportion_runtime.engines.base",
    ),
    "decisions-know-no-simulation": (
        "runtime/apportion_runtime/snapshots/source_lines.py",
        "import apportion_runtime.sim.api.clock",
    ),
    "policy": ("policy/apportion_policy/quantity.py", "import networkx"),
    "stages": ("compiler/apportion_compiler/graph/graph.py", "import apportion_compiler.checks"),
    "backends-see-the-ir": (
        "compiler/apportion_compiler/backends/metadata.py",
        "import apportion_compiler.graph.graph",
    ),
    "engines-know-no-other": (
        "compiler/apportion_compiler/engines/native/emit/__init__.py",
        "import apportion_compiler.engines.kai.emit",
    ),
    "engine-parts": (
        "compiler/apportion_compiler/engines/kai/traits.py",
        "import apportion_compiler.engines.kai.reader",
    ),
    "compiler-reaches-nothing": ("compiler/apportion_compiler/compile.py", "import kubernetes"),
    "pure-stages": ("compiler/apportion_compiler/ir/program.py", "import subprocess"),
    "pulumi": ("compiler/apportion_compiler/emit/tree.py", "import pulumi_kubernetes"),
    "kubernetes": ("runtime/apportion_runtime/sim/api/clock.py", "import kubernetes.client"),
    "pulumi-of-the-command-line": ("cli/apportion_cli/console.py", "import pulumi"),
}


def imported(path: Path) -> set[str]:
    """The top-level modules that one file imports anywhere, within functions and for type checking too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import():
                found |= {alias.name.partition(".")[0] for alias in node.names}
            case ast.ImportFrom(module=str(module), level=0):
                found.add(module.partition(".")[0])
    return found


def _folder(path: Path) -> str:
    return path.parent.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("package", ALLOWED)
def test_packages_import_only_allowed_packages(package: str) -> None:
    foreign = {
        path.relative_to(ROOT).as_posix(): outside
        for path in sorted((ROOT / package).rglob("*.py"))
        if (outside := imported(path) - ALLOWED[package] - BESIDES.get(_folder(path), set()) - sys.stdlib_module_names)
    }
    assert foreign == {}


@pytest.mark.parametrize("arguments", [["--help"], ["validate", "--help"], ["--version"]], ids=" ".join)
def test_help_imports_no_heavy_package(arguments: list[str]) -> None:
    program = (
        "import sys\n"
        "from apportion_cli.main import main\n"
        f"assert main({arguments!r}) == 0\n"
        "heavy = {'jinja2', 'kubernetes', 'networkx', 'numpy', 'pulumi', 'pydantic', 'rich', 'yaml'}\n"
        "print(sorted(heavy & sys.modules.keys()), file=sys.stderr)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "[]\n")
    assert "apportion" in ran.stdout


def test_every_contract_has_a_breach() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    assert {contract["id"] for contract in contracts} == BREACHES.keys()


@pytest.mark.slow
@pytest.mark.parametrize("contract", BREACHES)
def test_import_contract_detects_a_violation(contract: str, tmp_path: Path) -> None:
    """A contract with a module that no longer exists would always pass."""
    module, line = BREACHES[contract]
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for package in _SOURCES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    broken = tmp_path / module
    broken.write_text(f"{broken.read_text()}\n{line}\n")
    ran = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--contract", contract],
        cwd=tmp_path,
        env={"PYTHONPATH": ":".join(str(tmp_path / package) for package in _SOURCES)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "BROKEN" in ran.stdout


def _modules() -> dict[str, Path]:
    """Every module of the packages by its name."""
    found: dict[str, Path] = {}
    for source in _SOURCES:
        for path in (ROOT / source).rglob("*.py"):
            parts = path.relative_to(ROOT / source).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def _imports(modules: dict[str, Path]) -> nx.DiGraph[str]:
    """Which of the modules imports which, within functions and for type checking too."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    for name, path in modules.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            targets: list[str] = []
            if isinstance(node, ast.Import):
                targets = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
                below = [f"{node.module}.{alias.name}" for alias in node.names]
                targets = [each if each in modules else node.module for each in below]
            graph.add_edges_from((name, target) for target in targets if target in modules and target != name)
    return graph


def test_import_cycles_are_documented_in_architecture_md() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = text.split("\n## Import cycles\n")[1].split("\n## ")[0]
    justified = [frozenset(re.findall(r"`(apportion_[\w.]+)`", line.split(" | ")[0])) for line in section.splitlines()]
    justified = [modules for modules in justified if modules]
    cycles = [cycle for cycle in nx.strongly_connected_components(_imports(_modules())) if len(cycle) > 1]
    assert [sorted(cycle) for cycle in cycles if frozenset(cycle) not in justified] == []
    assert [sorted(modules) for modules in justified if modules not in cycles] == []
