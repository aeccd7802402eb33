"""A project's settings: which file counts, what comes before it, and what a pull request cannot do with it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from apportion_cli.settings import Setting, read_settings, settings_in_force

from .conftest import Run

BAD = """\
from apportion_policy import Organisation, Policy, Queue, Resources
policy = Policy(organisation=Organisation(name='acme', owner='@a/b'), queues=(Queue(id='a', guaranteed=Resources(gpu=2), limit=Resources(gpu=1)),))
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
def test_the_nearest_file_counts(
    files: dict[str, str], expected: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    for file, text in files.items():
        _write(file, text)
    found = read_settings().file
    assert found == (None if expected is None else (tmp_path / "project" / expected).resolve())


def test_the_search_ends_at_the_root_of_the_repository(tmp_path: Path) -> None:
    _write("apportion.toml", "fail-on = 'never'")
    (tmp_path / "repository/.git").mkdir(parents=True)
    assert read_settings(tmp_path / "repository").file is None


def test_variables_come_before_the_file_and_flags_before_both(
    repository: None, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("validate", "quotas").code == 1
    _write("apportion.toml", "policy = 'quotas'\nfail-on = 'never'\n")
    assert run("validate").code == 0
    monkeypatch.setenv("APPORTION_FAIL_ON", "error")
    assert run("validate").code == 1
    assert run("validate", "--fail-on", "never").code == 0
    assert [(s.key, s.source) for s in settings_in_force(read_settings(), os.environ)] == [
        ("policy", str(Path("apportion.toml").resolve())),
        ("fail-on", "$APPORTION_FAIL_ON"),
    ]


def test_the_policy_is_found_from_a_folder_below(repository: None, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    _write("apportion.toml", "policy = 'quotas'\n")
    monkeypatch.chdir("quotas")
    result = run("validate")
    assert result.code == 1
    assert result.out.startswith("policy.py:2: error[AP202]")


def test_outputs_and_environments_are_lists(repository: None) -> None:
    _write("apportion.toml", "output = ['json']\nenv = 'prod'\ntime-limit = 5\n")
    file = str(Path("apportion.toml").resolve())
    assert read_settings().settings == (
        Setting("output", ("json",), file),
        Setting("env", ("prod",), file),
        Setting("time-limit", 5, file),
    )
    assert read_settings().default_map("validate") == {
        "validate": {"outputs": ("json",), "env": ("prod",), "time_limit": 5}
    }
    assert read_settings().default_map("graph") == {"graph": {"time_limit": 5}}


def test_an_output_that_is_set_is_written(repository: None, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    _write("apportion.toml", "output = ['json']\n")
    assert run("validate", "quotas").out.startswith("{")
    monkeypatch.setenv("APPORTION_OUTPUT", "github junit=out.xml")
    assert run("validate", "quotas").out.startswith("::error")
    assert Path("out.xml").is_file()


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("fail_on = 'never'", 2, "`fail_on` is no setting; there are policy, env"),
        ("fail-on = true", 2, "`fail-on` holds least severity"),
        ("output = 'json=/tmp/report'", 2, "`output` is a format; say on the command line which file to write"),
        ("policy = '../elsewhere'", 2, "`policy` leads out of the folder of this file"),
        ("policy = '/etc'", 2, "`policy` leads out of the folder of this file"),
        ("fail-on = ", 3, "is not TOML"),
        ("fail-on = 'info'", 2, "'info' is not one of"),
    ],
)
def test_what_a_settings_file_cannot_say(repository: None, text: str, code: int, message: str, run: Run) -> None:
    _write("apportion.toml", text)
    result = run("validate", "quotas")
    assert result.code == code
    assert message in result.err
    assert "Traceback" not in result.text
