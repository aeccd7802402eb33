"""Project settings: the file in effect, its precedence, and restrictions for pull requests."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from apportion_cli.settings import read_settings, settings_in_force

from .conftest import Run

BAD = """\
from apportion_policy import Cluster, Environment, Organisation, Policy, Queue, Resources
policy = Policy(organisation=Organisation(name='acme', owner='@a/b'), queues=(Queue(id='a', guaranteed=Resources(gpu=2), limit=Resources(gpu=1)),), environments=(Environment(name='prod', clusters=(Cluster(name='c', engine='kai', engine_version='0.17.0'),)),))
"""


def _write(file: str, text: str) -> None:
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    Path(file).write_text(text, encoding="utf-8")


@pytest.fixture
def repository() -> None:
    Path(".git").mkdir()
    _write("quotas/policy.py", BAD)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, None),
        ({"apportion.toml": "fail-on = 'never'"}, "apportion.toml"),
        ({"pyproject.toml": "[tool.apportion]\nfail-on = 'never'"}, "pyproject.toml"),
        ({"pyproject.toml": "[tool.ruff]\n"}, None),
        ({"pyproject.toml": "[tool.other]\nx = 'apportion'\n", "../apportion.toml": ""}, "../apportion.toml"),
        ({"apportion.toml": "", "pyproject.toml": "[tool.apportion]\n"}, "apportion.toml"),
        ({"apportion.toml": "", "../apportion.toml": "x = 1"}, "apportion.toml"),
    ],
)
def test_nearest_settings_file_is_used(
    files: dict[str, str], expected: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    for file, text in files.items():
        _write(file, text)
    found = read_settings().file
    assert found == (None if expected is None else (tmp_path / "project" / expected).resolve())


def test_settings_search_stops_at_the_repository_root(tmp_path: Path) -> None:
    _write("apportion.toml", "fail-on = 'never'")
    (tmp_path / "repository/.git").mkdir(parents=True)
    assert read_settings(tmp_path / "repository").file is None


@pytest.mark.parametrize("file", ["apportion.toml", "pyproject.toml"])
@pytest.mark.parametrize(
    "line", ["fail-on = 'never'", "env = ['dev']", "policy = 'decoy'", "memory-limit = '64Gi'", "time-limit = 80000"]
)
@pytest.mark.parametrize("verb", [("validate", "quotas"), ("compile", "quotas", "--check")])
def test_settings_of_the_work_tree_are_not_applied(
    repository: None, file: str, line: str, verb: tuple[str, ...], run: Run
) -> None:
    """A pull request holds the file: what it says of the judgement is reported and not applied."""
    table = "[tool.apportion]\n" if file == "pyproject.toml" else ""
    _write(file, f"{table}{line}\n")
    _write("decoy/policy.py", "from apportion_policy import *\npolicy = Policy(organisation=Organisation(name='a'))\n")
    result = run(*verb)
    assert result.code == 1
    key = line.split(" ", maxsplit=1)[0]
    assert f"warning: {Path(file).resolve()}: `{key}` is not applied" in result.err


def test_variables_and_flags_are_applied(repository: None, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("validate", "quotas").code == 1
    monkeypatch.setenv("APPORTION_FAIL_ON", "never")
    assert run("validate", "quotas").code == 0
    assert run("validate", "quotas", "--fail-on", "error").code == 1
    assert [(s.key, s.source) for s in settings_in_force(read_settings(), os.environ)] == [
        ("fail-on", "$APPORTION_FAIL_ON"),
    ]


def _git(*arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def base_branch() -> None:
    """A base branch whose settings name the policy and the environment that counts; the working tree says otherwise."""
    _git("init")
    _write("quotas/policy.py", BAD)
    _write("apportion.toml", "policy = 'quotas'\nfail-on = 'error'\n")
    _git("add", ".")
    _git("commit", "-m", "base")
    _write("apportion.toml", "policy = 'decoy'\nfail-on = 'error'\nenv = ['dev']\n")


@pytest.mark.parametrize(
    "arguments", [("validate", "--settings-from", "main"), ("--settings-from", "main", "validate")]
)
def test_settings_come_from_a_base_revision(base_branch: None, arguments: tuple[str, ...], run: Run) -> None:
    result = run(*arguments)
    assert result.code == 1
    assert "quotas/policy.py:2: error[AP202]" in result.out
    assert "`policy` differs from the value in main, which takes precedence" in result.err
    assert "`env` is not applied" in result.err
    assert "fail-on" not in result.err


@pytest.mark.parametrize(
    ("ref", "message"),
    [
        ("no-such", "the repository has no revision `no-such`"),
        ("--output=/tmp/x", "`--output=/tmp/x` is not a revision: it begins with a dash"),
    ],
)
def test_unknown_revision_is_one_sentence(base_branch: None, ref: str, message: str, run: Run) -> None:
    result = run("validate", f"--settings-from={ref}")
    assert result.code == 3
    assert message in result.err


def test_revision_outside_a_repository_is_one_sentence(run: Run) -> None:
    result = run("validate", "--settings-from", "main")
    assert result.code == 3
    assert "is not in a git repository" in result.err


def test_missing_git_is_one_sentence(base_branch: None, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    result = run("validate", "--settings-from", "main")
    assert (result.code, "git is not on PATH" in result.err) == (3, True)


def test_policy_of_a_revision_is_found_from_a_subfolder(
    base_branch: None, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("quotas")
    result = run("validate", "--settings-from", "HEAD")
    assert result.code == 1
    assert result.out.startswith("policy.py:2: error[AP202]") or "quotas/policy.py:2: error[AP202]" in result.out


def test_links_out_of_the_repository_are_not_followed(
    repository: None, run: Run, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("gh")
    (outside / "hosts.yml").write_text("github.com:\n  oauth_token: gho_secret\n")
    Path("gh").symlink_to(outside)
    result = run("validate", "gh/hosts.yml")
    assert result.code == 3
    assert "`gh` is a symbolic link that points outside the repository" in result.err
    assert "gho_secret" not in result.text


def test_doctor_lists_settings_that_are_not_applied(repository: None, run: Run) -> None:
    _write("apportion.toml", "fail-on = 'never'\noutput = ['json']\n")
    shown = run("doctor").out
    assert "fail-on" in shown
    assert "not applied, because it affects the verdict" in shown


def test_output_setting_is_applied(repository: None, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    _write("apportion.toml", "output = ['json']\n")
    assert run("validate", "quotas").out.startswith("{")
    monkeypatch.setenv("APPORTION_OUTPUT", "github junit=out.xml")
    assert run("validate", "quotas").out.startswith("::error")
    assert Path("out.xml").is_file()


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("fail_on = 'never'", 2, "unknown setting `fail_on`; choose one of policy, env"),
        ("fail-on = true", 2, "`fail-on` (lowest severity that causes exit code 1) must be a string or a number"),
        ("output = 'json=/tmp/report'", 2, "`output` must be a format; set the output file on the command line"),
        ("policy = '../elsewhere'", 2, "`policy` points outside this file's directory"),
        ("policy = '/etc'", 2, "`policy` points outside this file's directory"),
        ("fail-on = ", 3, "is not valid TOML"),
        ("color = 'red'", 2, "`color` must be true or false"),
    ],
)
def test_invalid_settings_are_refused(repository: None, text: str, code: int, message: str, run: Run) -> None:
    _write("apportion.toml", text)
    result = run("validate", "quotas")
    assert result.code == code
    assert message in result.err
    assert "Traceback" not in result.text
