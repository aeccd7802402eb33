"""CONTRIBUTING.md's worked examples, executed in a copy of the packages."""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
import venv
from pathlib import Path
from textwrap import dedent

import pytest
import yaml

ROOT = Path(__file__).parents[2]
EXAMPLES = dict(
    section.split("\n", 1)
    for section in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## Worked example: ")[1:]
)
FENCE = re.compile(r"^ *```\w+\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"`([\w./-]+\.(?:py|md))`")
PACKAGES = ("api", "policy", "compiler", "cli")

pytestmark = pytest.mark.slow


def _blocks(example: str) -> dict[str, str]:
    """The blocks of an example, each by the file that is named last before it."""
    text, blocks, end = EXAMPLES[example], dict[str, str](), 0
    for fence in FENCE.finditer(text):
        blocks[FILE.findall(text[end : fence.start()])[-1]] = dedent(fence[1])
        end = fence.end()
    return blocks


def _insert(file: Path, before: str, text: str) -> None:
    """Insert a line before the only one that matches."""
    (line,) = re.findall(before, file.read_text(), re.MULTILINE)
    file.write_text(file.read_text().replace(line, f"{text}\n{line}", 1))


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A checkout with an environment of its own, because a policy is evaluated by a child of its interpreter."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    venv.create(tmp_path / ".venv", symlinks=True)
    (site_packages,) = (tmp_path / ".venv").glob("lib/python*/site-packages")
    found = (*(tmp_path / package for package in PACKAGES), sysconfig.get_path("purelib"))
    (site_packages / "checkout.pth").write_text("\n".join(map(str, found)), encoding="utf-8")
    return tmp_path


def _apportion(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [copy / ".venv/bin/python", "-m", "apportion_cli.main", *arguments],
        cwd=copy,
        capture_output=True,
        text=True,
        check=False,
    )


def _write(copy: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_text(text, encoding="utf-8")


def test_an_engine_is_a_folder_and_a_line(copy: Path) -> None:
    blocks = _blocks("add an engine")
    line = blocks.pop("policy/apportion_policy/engine.py")
    assert line.count("\n") == 1
    _insert(copy / "policy/apportion_policy/engine.py", r"^    NATIVE = .*$", f"    {line.strip()}")
    folder = "compiler/apportion_compiler/engines/plenum/"
    assert {name for name in blocks if not name.startswith(folder)} == {"example/policy.py"}
    _write(copy, blocks)
    validated = _apportion(copy, "validate", "example/policy.py")
    assert validated.returncode == 0, validated.stdout + validated.stderr
    compiled = _apportion(copy, "compile", "example/policy.py", "--out", "rendered")
    assert compiled.returncode == 0, compiled.stdout + compiled.stderr
    target = copy / "rendered/prod/main/plenum"
    objects = [one for file in sorted(target.rglob("*.yaml")) for one in yaml.safe_load_all(file.read_text())]
    kinds = {one["kind"] for one in objects if one["kind"] != "Kustomization"}
    assert kinds == {"PriorityClass", "Pool", "Grant"}
    (pool,) = (one for one in objects if one["kind"] == "Pool")
    assert pool["spec"] == {"guaranteed": {"cpu": "64", "memory": "256Gi", "gpu": "8"}, "limit": {}}
    native = copy / "rendered/prod/main/native"
    roles = [one for file in native.rglob("*.yaml") for one in yaml.safe_load_all(file.read_text())]
    read = {
        one["metadata"]["name"]: rule["resources"]
        for one in roles
        if one["kind"] == "ClusterRole"
        for rule in one["rules"]
        if rule["apiGroups"] == ["plenum.example.com"]
    }
    assert read == {"apportion-team": ["grants"], "apportion-reader": ["pools"]}
    assert "plenum" in _apportion(copy, "import", "--help").stdout


def test_a_check_is_a_file_and_its_registration(copy: Path) -> None:
    blocks = _blocks("add a check")
    checks = "compiler/apportion_compiler/checks/__init__.py"
    _insert(
        copy / checks,
        r"^from apportion_compiler\.checks\.lending_over_guarantee import .*$",
        blocks.pop(checks).strip(),
    )
    _insert(copy / checks, r"^    pools_disagree,$", "    long_title,")
    _insert(copy / checks, r"^    POOLS_DISAGREE,$", "    LONG_TITLE,")
    _write(copy, blocks)
    (case,) = (name for name in blocks if name.startswith("tests/diagnostics/"))
    expected = next(number for number, text in enumerate(blocks[case].splitlines(), 1) if "# AP299" in text)
    validated = _apportion(copy, "validate", case, "-o", "json")
    assert f'"line": {expected}' in validated.stdout
    assert "AP299" in validated.stdout
    assert "has 86 characters; lists show 80" in validated.stdout
    headings = re.findall(r"^## .*$", blocks["docs/diagnostics/AP299-long-title.md"], re.MULTILINE)
    neighbour = (ROOT / "docs/diagnostics/AP207-weight-without-surplus.md").read_text(encoding="utf-8")
    assert headings == re.findall(r"^## .*$", neighbour, re.MULTILINE)
