"""The gate on GitHub: the steps of the workflow from `init --ci github`, for a base and a head checkout."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

SECRET = "s3cr3t-c4n4ry"
_IDENTITY = ("-c", "user.name=author", "-c", "user.email=author@example.org", "-c", "commit.gpgsign=false")


@dataclass(frozen=True, slots=True)
class Step:
    """A completed step: its name in the workflow, its exit code and its output."""

    name: str
    code: int
    text: str


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder and return its output."""
    ended = subprocess.run(
        ["git", *_IDENTITY, *arguments], cwd=folder, check=True, capture_output=True, text=True, env=_outside(folder)
    )
    return ended.stdout


def base_repository(folder: Path) -> Path:
    """Create the base repository of pull requests: the output of `init`, compiled and committed."""
    apportion("init", str(folder), "--organisation", "acme", "--ci", "github", folder=folder.parent)
    apportion("compile", "policy.py", "--out", "rendered", folder=folder)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "Base")
    return folder


def propose(base: Path, case: Mapping[str, Any], folder: Path, outside: Path) -> Path:
    """Create a case's pull request as a branch of a clone; return the clone."""
    author = folder / "author"
    git(folder, "clone", "--quiet", "--shared", str(base), str(author))
    git(author, "switch", "--quiet", "--create", "head")
    _change(author, case, outside)
    if case.get("compiled"):
        apportion("compile", "policy.py", "--out", "rendered", folder=author)
    _change(author, case.get("then", {}), outside)
    git(author, "add", "--all", "--force")
    git(author, "commit", "--quiet", "--allow-empty", "--message", "Head")
    return author


def judge(
    workflow: Mapping[str, Any], base: Path, author: Path, folder: Path, command: Path, *, job: str = "validate"
) -> Sequence[Step]:
    """Check out base and head as the workflow does, and run the steps of a job; after a failure, only those with `if`.

    Args:
        workflow: The base branch's, as parsed YAML.
        base: The repository of the base branch.
        author: The clone whose branch `head` is the pull request.
        folder: Where the runner works.
        command: The folder with the installed `apportion`, which the step `Install` would make.
        job: The job of the workflow.
    """
    workspace, temporary = folder / "workspace", folder / "temp"
    temporary.mkdir(parents=True)
    workspace.mkdir()
    git(folder, "clone", "--quiet", "--shared", str(base), str(workspace / "base"))
    git(folder, "clone", "--quiet", "--shared", "--branch", "head", str(author), str(workspace / "head"))
    environment = {
        **_outside(folder),
        **workflow.get("env", {}),
        "PATH": f"{command}{os.pathsep}{os.environ['PATH']}",
        "CI": "true",
        "GITHUB_ACTIONS": "true",
        "GITHUB_BASE_REF": "main",
        "GITHUB_WORKSPACE": str(workspace),
        "GITHUB_STEP_SUMMARY": str(temporary / "summary.md"),
        "RUNNER_TEMP": str(temporary),
        "SECRET": SECRET,
    }
    ended: list[Step] = []
    for step in workflow["jobs"][job]["steps"]:
        has_failed = any(former.code for former in ended)
        if "run" not in step or step.get("name") == "Install" or (has_failed and "if" not in step):
            continue
        result = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=workspace / step.get("working-directory", "."),
            env={**environment, **step.get("env", {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=120,
            check=False,
        )
        ended.append(Step(step["name"], result.returncode, result.stdout.decode("utf-8", "surrogateescape")))
    return ended


def workflow_of(base: Path, name: str = "apportion") -> Mapping[str, Any]:
    """Return a workflow of the base branch."""
    path = base / f".github/workflows/{name}.yml"
    document: Mapping[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return document


def apportion(*arguments: str, folder: Path) -> None:
    """Run the command as an author would, ignoring its findings, which the gate reports."""
    subprocess.run(
        [sys.executable, "-P", "-m", "apportion_cli.main", *arguments],
        cwd=folder,
        capture_output=True,
        env=_outside(folder),
        check=False,
    )


def _outside(folder: Path) -> dict[str, str]:
    """Return the environment variables of a runner, without those of the user who runs the tests."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "TMPDIR") if name in os.environ}
    return {**kept, "HOME": str(folder), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


def _change(author: Path, change: Mapping[str, Any], outside: Path) -> None:
    for name in change.get("remove", ()):
        subprocess.run(["rm", "-rf", "--", str(author / name)], check=True)
    for name, text in change.get("files", {}).items():
        path = author / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("@OUTSIDE@", str(outside)), encoding="utf-8")
    for name, text in change.get("append", {}).items():
        path = author / name
        path.write_text(path.read_text(encoding="utf-8") + text.replace("@OUTSIDE@", str(outside)), encoding="utf-8")
    for name, pairs in change.get("replace", {}).items():
        path = author / name
        text = path.read_text(encoding="utf-8")
        for old, new in pairs.items():
            assert old in text, f"{name} has no {old!r}"
            text = text.replace(old, new.replace("@OUTSIDE@", str(outside)))
        path.write_text(text, encoding="utf-8")
    for name, (text, n_times) in change.get("repeated", {}).items():
        (author / name).write_text(text * n_times, encoding="utf-8")
    for name, target in change.get("links", {}).items():
        path = author / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(target.replace("@OUTSIDE@", str(outside)))
