"""Properties of every file of the repository."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAX_LINES = 400

# Copied from upstream byte for byte, or generated.
NOT_OURS = ("tests/crds/", "locks/", "LICENSE")

TELLTALES = {
    "an address of a package index": re.compile(
        r"(?:pypi|test\.pypi)\.org/simple|files\.pythonhosted\.org|registry\.npmjs\.org|proxy\.golang\.org"
        r"|index-url\s*=\s*https?:|(?:localhost|127\.0\.0\.1)(?::\d+)?/(?:simple|root/pypi|repository)"
    ),
    # `ray` is the user of Ray's own images.
    "a path of one machine": re.compile(r"(?<![\w.}])/(?:root|work|Users/\w+|home/(?!(?:user|ray)\b)\w+)/[\w.]"),
}


@cache
def repository_files() -> tuple[Path, ...]:
    """The tracked files; without git, as in an unpacked archive, every file outside dot-directories."""
    if shutil.which("git") and (ROOT / ".git").exists():
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
        found = [ROOT / name for name in listed.stdout.split("\0") if name]
    else:
        found = [
            path
            for path in ROOT.rglob("*")
            if not any(part.startswith(".") or part == "__pycache__" for part in path.relative_to(ROOT).parts[:-1])
        ]
    return tuple(sorted(path for path in found if path.is_file()))


def test_no_python_file_is_longer_than_400_lines() -> None:
    lengths = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8").count("\n")
        for path in repository_files()
        if path.suffix == ".py"
    }
    assert {name: n_lines for name, n_lines in lengths.items() if n_lines > MAX_LINES} == {}


def test_codespell_skips_build_output() -> None:
    built = re.findall(r"^/([\w-]+)/$", (ROOT / ".gitignore").read_text(), re.MULTILINE)
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["codespell"]
    assert "site" in built
    assert set(built) <= set(configuration["skip"].split(","))


def test_test_folders_are_not_packages() -> None:
    """An `__init__.py` under tests/ would give two files of one name the same module, and import the wrong one."""
    assert [
        path for path in repository_files() if path.name == "__init__.py" and (ROOT / "tests") in path.parents
    ] == []


@pytest.mark.parametrize("telltale", TELLTALES)
def test_no_file_contains_machine_paths(telltale: str) -> None:
    found: list[str] = []
    for path in repository_files():
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(NOT_OURS) or path == Path(__file__):
            continue
        text = path.read_bytes().decode("utf-8", errors="ignore")
        found += [
            f"{name}:{number}: {line.strip()[:120]}"
            for number, line in enumerate(text.splitlines(), start=1)
            if TELLTALES[telltale].search(line) or (len(ROOT.parts) > 2 and f"{ROOT}/" in line)
        ]
    assert found == []
