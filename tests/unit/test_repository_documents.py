"""Configuration files that no other test reads: they are valid, and reference existing names."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from apportion_cli.verbs import VERBS

ROOT = Path(__file__).parents[2]
CONFIGURATION = sorted(
    path
    for pattern in ("*.toml", "*.yaml", ".*.yaml", ".github/**/*.yml", "locks/*.toml")
    for path in ROOT.glob(pattern)
    if path.is_file()
)


@pytest.mark.parametrize("path", CONFIGURATION, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_configuration_files_parse(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    parsed = tomllib.loads(text) if path.suffix == ".toml" else yaml.safe_load(text)
    assert parsed


def test_pre_commit_hooks_run_existing_commands() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert {hook["id"]: hook["entry"].split()[:2] for hook in hooks} == {
        "apportion-validate": ["apportion", "validate"],
        "apportion-compile-check": ["apportion", "compile"],
    }
    assert {hook["entry"].split()[1] for hook in hooks} <= VERBS.keys()
    assert {(hook["language"], hook["pass_filenames"]) for hook in hooks} == {("python", False)}


@pytest.mark.parametrize("document", [".ci/run", "README.md", "CONTRIBUTING.md", ".github/workflows/ci.yml"])
def test_mentioned_make_targets_exist(document: str) -> None:
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    targets |= {"install-base", "install-test", "install-dev"}
    text = (ROOT / document).read_text(encoding="utf-8")
    spoken_of = set(re.findall(r"(?:`|^ {4}|run: |^)make ([a-z][a-z0-9-]*)|^tier ([a-z0-9-]+)", text, re.MULTILINE))
    named = {target for pair in spoken_of for target in pair if target}
    assert named - targets == set()
    assert named, f"{document} names no target"


def test_workflow_actions_are_pinned_by_commit() -> None:
    used = [
        line.strip() for path in (ROOT / ".github/workflows").glob("*.yml") for line in path.read_text().splitlines()
    ]
    actions = [line.removeprefix("- ") for line in used if line.removeprefix("- ").startswith("uses:")]
    assert [line for line in actions if not re.fullmatch(r"uses: [\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)] == []
    assert actions


def test_only_the_publish_job_gets_an_id_token() -> None:
    release = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())
    assert release["permissions"] == {"contents": "read"}
    assert {name: job.get("permissions", {}) for name, job in release["jobs"].items()} == {
        "build": {},
        "publish": {"id-token": "write"},
    }
    assert all("run" not in step for step in release["jobs"]["publish"]["steps"])
