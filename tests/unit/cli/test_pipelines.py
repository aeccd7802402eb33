"""The pipelines that `init` writes: they parse, run commands that exist, and hand secrets to nobody's pull request."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from apportion_cli.main import main
from apportion_cli.scaffold import SERVICES
from apportion_cli.verbs import VERBS

_KNOWN = {
    "apportion", "pip", "python", "git", "gh", "glab", "printf", "if", "day=$(date", "title=Overrides in force on $day",
    "apt-get"
}  # fmt: skip
_RESERVED = {"stages", "default", "variables"}


def _written(folder: Path, *flags: str) -> dict[str, Any]:
    assert main(["init", str(folder), "--organisation", "beta", *flags]) == 0
    files = [*folder.glob(".github/workflows/*.yml"), *folder.glob(".gitlab-ci.yml")]
    return {path.name: yaml.safe_load(path.read_text()) for path in files}


def _jobs(files: dict[str, Any]) -> dict[str, Any]:
    jobs: dict[str, Any] = {}
    for name, document in files.items():
        own = document["jobs"] if "jobs" in document else {k: v for k, v in document.items() if k not in _RESERVED}
        jobs |= {f"{name}:{job}": value for job, value in own.items()}
    return jobs


def _lines(job: dict[str, Any]) -> Iterator[str]:
    for step in job.get("steps", ()):
        yield from step.get("run", "").splitlines()
    yield from (*job.get("before_script", ()), *job.get("script", ()))


@pytest.fixture(params=[(service, pulumi) for service in SERVICES for pulumi in (False, True)], ids=str)
def files(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    service, pulumi = request.param
    return _written(tmp_path / "quotas", "--ci", service, *(["--pulumi"] if pulumi else []))


def test_every_command_of_a_pipeline_exists_with_its_options(files: dict[str, Any]) -> None:
    seen = set()
    for name, job in _jobs(files).items():
        for line in _lines(job):
            words = shlex.split(re.sub(r"\$\{\{[^}]*\}\}", "dev", line))
            program = Path(words[0]).name
            assert program in _KNOWN, f"{name}: {line}"
            if program != "apportion":
                continue
            seen.add(words[1])
            command = _command(words[1])
            known = {option for parameter in command.params for option in parameter.opts}
            options = {word.partition("=")[0] for word in words[2:] if word.startswith("-")}
            assert options <= known, f"{name}: {line}"
            context = command.make_context(words[1], words[2:], resilient_parsing=False)
            assert context.params
    assert seen >= {"validate", "compile"}


def _command(verb: str) -> click.Command:
    from importlib import import_module

    module, _, name = VERBS[verb].target.partition(":")
    command = getattr(import_module(module), name)
    assert isinstance(command, click.Command)
    return command


def test_with_stacks_a_change_is_previewed_and_goes_to_each_environment_in_turn(tmp_path: Path) -> None:
    for service in SERVICES:
        jobs = _jobs(_written(tmp_path / service, "--ci", service, "--pulumi"))
        lines = [line for job in jobs.values() for line in _lines(job)]
        assert any("apportion preview" in line and "md=preview.md" in line for line in lines), service
        assert any("apportion preview" in line and "--plan-only" not in line for line in lines), service
        assert any("apportion up" in line for line in lines), service
        for name, job in jobs.items():
            if any("apportion up" in line for line in _lines(job)):
                assert "environment" in job, f"{name} asks nobody"


def test_without_stacks_nothing_is_applied(tmp_path: Path) -> None:
    for service in SERVICES:
        jobs = _jobs(_written(tmp_path / service, "--ci", service))
        assert not [line for job in jobs.values() for line in _lines(job) if "apportion up" in line]


def test_a_pull_request_from_a_fork_gets_no_secrets(tmp_path: Path) -> None:
    files = _written(tmp_path / "github", "--pulumi")
    preview = files["apportion-deploy.yml"]["jobs"]["preview"]
    assert "fork != true" in preview["if"]
    assert "secrets." not in (tmp_path / "github/.github/workflows/apportion.yml").read_text()
    # YAML 1.1 reads the key `on` as a truth value.
    assert all("pull_request_target" not in (document.get(True) or {}) for document in files.values())
    gitlab = _written(tmp_path / "gitlab", "--ci", "gitlab", "--pulumi")[".gitlab-ci.yml"]
    assert "$CI_MERGE_REQUEST_SOURCE_PROJECT_ID == $CI_PROJECT_ID" in gitlab["preview"]["rules"][0]["if"]


def test_overrides_are_compiled_for_the_day_on_a_schedule(tmp_path: Path) -> None:
    github = _written(tmp_path / "github", "--pulumi")["apportion-overrides.yml"]
    assert github[True]["schedule"]
    assert set(github["jobs"]) == {"pull-request", "up"}
    assert "compile" in " ".join(_lines(github["jobs"]["pull-request"]))
    assert set(_written(tmp_path / "plain")["apportion-overrides.yml"]["jobs"]) == {"pull-request"}
    gitlab = _written(tmp_path / "gitlab", "--ci", "gitlab")[".gitlab-ci.yml"]
    assert 'schedule"' in gitlab["overrides"]["rules"][0]["if"]


def test_overrides_of_several_days_are_one_request_and_their_job_has_its_programs(tmp_path: Path) -> None:
    github = _written(tmp_path / "github")["apportion-overrides.yml"]["jobs"]["pull-request"]
    gitlab = _written(tmp_path / "gitlab", "--ci", "gitlab")[".gitlab-ci.yml"]["overrides"]
    for job in (github, gitlab):
        lines = list(_lines(job))
        assert "git switch -C apportion-overrides" in lines
        assert any(line.startswith("git push --force ") for line in lines)
    # An image with Python alone has no git.
    assert "apt-get install -qqy --no-install-recommends git" in gitlab["before_script"]
