"""The steps that create a review, as run by each code host: workflow, action, pipeline and component."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from .github_gate import apportion, base_repository, git, propose, workflow_of

ROOT = Path(__file__).parents[2]
COMMAND = Path(sys.executable).parent
MARKER = "<!-- apportion:review -->"
SMALLER = {"replace": {"teams/vision.py": {"gpu=16": "gpu=12"}}}
BROKEN = {"append": {"policy.py": "\nraise ValueError('broken')\n"}}
# Exit code and text of the report.
Reviewed = tuple[int, str]
Review = Callable[[Path, Path, Path, Sequence[str]], Reviewed]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return base_repository(tmp_path_factory.mktemp("steps") / "base")


def _run(
    script: str, folder: Path, variables: Mapping[str, str], shell: Sequence[str]
) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": f"{COMMAND}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "LC_ALL": "C",
        **variables,
    }
    ended = subprocess.run(
        [*shell, script], cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert "Traceback" not in ended.stdout + ended.stderr
    return ended


def _checkouts(base: Path, author: Path, workspace: Path) -> None:
    workspace.mkdir()
    git(workspace, "clone", "--quiet", "--shared", str(base), "base")
    git(workspace, "clone", "--quiet", "--shared", "--branch", "head", str(author), "head")


def _on_github(steps: Sequence[Mapping[str, Any]], inputs: Mapping[str, str], workspace: Path) -> Reviewed:
    """Run the steps `Review` and `Summarize`; return the exit code of the first, and the summary."""
    temporary = workspace.parent / "temp"
    temporary.mkdir()
    known = {f"inputs.{name}": value for name, value in inputs.items()} | {"github.event.pull_request.number": "5"}
    runner = {
        "RUNNER_TEMP": str(temporary),
        "GITHUB_WORKSPACE": str(workspace),
        "GITHUB_STEP_SUMMARY": str(temporary / "summary.md"),
    }
    codes = []
    for step in (step for step in steps if step.get("name") in ("Review", "Summarize")):
        given = {name: _interpolated(value, known) for name, value in step.get("env", {}).items()}
        where = workspace / _interpolated(step.get("working-directory", "."), known)
        codes.append(
            _run(
                step["run"], where, runner | given, ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c")
            ).returncode
        )
    assert codes[1] == 0
    assert (temporary / "number").read_text() == "5\n"
    report = (temporary / "comment.md").read_text(encoding="utf-8")
    assert (temporary / "summary.md").read_text(encoding="utf-8") == report
    return codes[0], report


def _interpolated(text: str, known: Mapping[str, str]) -> str:
    return re.sub(r"\$\{\{ (.+?) \}\}", lambda found: known[found[1]], text)


def workflow(base: Path, author: Path, folder: Path, options: Sequence[str]) -> Reviewed:
    _checkouts(base, author, folder / "workspace")
    steps = workflow_of(base, "apportion-review")["jobs"]["review"]["steps"]
    for step in steps:
        # The place for options named by the comment in the workflow.
        step["run"] = step.get("run", "").replace("set --\n", f"set -- {' '.join(options)}\n", 1)
    return _on_github(steps, {}, folder / "workspace")


def action(base: Path, author: Path, folder: Path, options: Sequence[str]) -> Reviewed:
    _checkouts(base, author, folder / "workspace")
    document = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    inputs = {name: value["default"] for name, value in document["inputs"].items()}
    inputs["options"] = " ".join(options)
    return _on_github(document["runs"]["steps"], inputs, folder / "workspace")


def pipeline(base: Path, author: Path, folder: Path, options: Sequence[str]) -> Reviewed:
    apportion("init", str(folder / "gitlab"), "--organisation", "acme", "--ci", "gitlab", folder=folder)
    document = yaml.safe_load((folder / "gitlab/.gitlab-ci.yml").read_text(encoding="utf-8"))
    script = [f"set -- {' '.join(options)}" if line == "set --" else line for line in document["review"]["script"]]
    return _on_gitlab(document[".install"]["before_script"], script, {}, base, author, folder)


def component(base: Path, author: Path, folder: Path, options: Sequence[str]) -> Reviewed:
    specification, document = yaml.safe_load_all((ROOT / "templates/review/template.yml").read_text(encoding="utf-8"))
    inputs = {name: value["default"] for name, value in specification["spec"]["inputs"].items()}
    inputs["options"] = " ".join(options)
    variables = {
        name: re.sub(r"\$\[\[ inputs\.(\w+) \]\]", lambda found: inputs[found[1]], value)
        for name, value in document["review"]["variables"].items()
    }
    return _on_gitlab(
        document["review"]["before_script"], document["review"]["script"], variables, base, author, folder
    )


def _on_gitlab(
    before: Sequence[str], script: Sequence[str], variables: Mapping[str, str], base: Path, author: Path, folder: Path
) -> Reviewed:
    """Run a job in a checkout of the source branch, with folders of `/tmp` replaced by the test's."""
    git(folder, "clone", "--quiet", "--shared", "--branch", "head", str(author), "project")
    project, own = folder / "project", folder / "own"
    git(project, "remote", "set-url", "origin", str(base))
    (own / "apportion").mkdir(parents=True)
    (own / "apportion/bin").symlink_to(COMMAND)
    # A branch may contain a symbolic link with the report's name.
    (project / "apportion-review.md").symlink_to(folder / "elsewhere")
    fetch = [line for line in before if line.startswith(("base=", "git fetch"))]
    assert len(fetch) == 2
    lines = "\n".join([*fetch, *script]).replace("/tmp/", f"{own}/")
    given = {"CI_PROJECT_DIR": str(project), "CI_DEFAULT_BRANCH": "main", **variables}
    ended = _run(lines, project, given, ("bash", "-eo", "pipefail", "-c"))
    assert not (folder / "elsewhere").exists()
    return ended.returncode, (project / "apportion-review.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "review", [workflow, *(pytest.param(each, marks=pytest.mark.slow) for each in (action, pipeline, component))]
)
@pytest.mark.parametrize(
    ("change", "options", "code", "verdict"),
    [
        ({}, (), 0, "### 🟢"),
        (SMALLER, (), 0, "### "),
        (SMALLER, ("--fail-on", "unknown"), 11, "### 🔴"),
        (BROKEN, (), 1, "### 🔴 This change could not be reviewed"),
        (SMALLER, ("--max-evictions", "many"), 2, "### 🔴 This change could not be reviewed"),
    ],
    ids=["no-difference", "difference", "gate", "error", "usage"],
)
def test_exit_code_and_comment_of_a_review(
    review: Review,
    change: Mapping[str, Any],
    options: Sequence[str],
    code: int,
    verdict: str,
    base: Path,
    tmp_path: Path,
) -> None:
    author = propose(base, change, tmp_path, tmp_path)
    ended, report = review(base, author, tmp_path, options)
    assert ended == code, report
    lines = report.splitlines()
    assert lines[0] == MARKER
    assert lines[1].startswith(verdict)
    if "could not be reviewed" in verdict:
        assert f"`apportion review` exited with code {code}; see the log of its job." in lines


@pytest.mark.parametrize("review", [workflow, pytest.param(pipeline, marks=pytest.mark.slow)])
def test_snapshots_are_read_from_the_base_branch(review: Review, base: Path, tmp_path: Path) -> None:
    own = tmp_path / "own-base"
    git(tmp_path, "clone", "--quiet", str(base), str(own))
    snapshot = own / "ci/snapshots/prod/main.json"
    snapshot.parent.mkdir(parents=True)
    snapshot.write_text('{"items": []}\n')
    git(own, "add", "--all")
    git(own, "commit", "--quiet", "--message", "Add a snapshot")
    # A snapshot in the change itself is ignored: the change could misrepresent its own effect.
    author = propose(own, SMALLER | {"files": {"ci/snapshots/dev/main.json": "broken"}}, tmp_path, tmp_path)
    ended, report = review(own, author, tmp_path, ())
    assert ended == 0
    assert "ci/snapshots/prod/main.json" in report
    assert "ci/snapshots/dev" not in report
