"""The pipelines of `init`: they are valid, run existing commands, and pass no secrets to pull requests."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from apportion_cli.main import main
from apportion_cli.scaffold import SERVICES
from apportion_cli.verbs import VERBS

_KNOWN = {
    "apportion", "python", "git", "gh", "printf", "if", "day=$(date", "title=Active overrides on $day", "echo", "ln",
    "rm", "export", "unset", "cat", "cd", "set", "for", "done", "fi", "case", "pytest", "python3",
}  # fmt: skip
_ASSIGNMENT = re.compile(r"[a-z]+=")
_PROGRAM = re.compile(r"(?s) <<'PYTHON'\n.*?\nPYTHON$", re.MULTILINE)
_OPERATORS = {"||", "&&", "|", ">", ">>"}
_RESERVED = {"stages", "default", "variables", "workflow"}
_PINNED = re.compile(r"^[\w-]+/[\w/-]+@[0-9a-f]{40}$")
_PULL_REQUEST_TEXT = (
    "github.head_ref",
    "github.event.pull_request.title",
    "github.event.pull_request.body",
    "head.ref",
)


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


def test_settings_come_from_flags_and_the_base_branch(tmp_path: Path) -> None:
    github = _written(tmp_path / "github")["apportion.yml"]["jobs"]["validate"]["steps"]
    judging = [step for step in github if "apportion " in step.get("run", "") and step["name"] != "Install"]
    assert len(judging) == 2
    gitlab = _written(tmp_path / "gitlab", "--ci", "gitlab")[".gitlab-ci.yml"]["validate"]["script"]
    commands = [line for line in gitlab if "bin/apportion " in line]
    assert gitlab.index("cd /tmp/base") < min(gitlab.index(line) for line in gitlab if "bin/apportion " in line)
    for step in judging:
        assert step["working-directory"] == "base"
        commands.append(step["run"])
    assert len(commands) == 4
    for line in commands:
        assert {"--fail-on error", "--time-limit 30s", "--memory-limit 2Gi"} <= {
            f"{name} {value}" for name, value in re.findall(r"(--[\w-]+) (\w+)", line)
        }


def _lines(job: dict[str, Any]) -> Iterator[str]:
    scripts = [step.get("run", "") for step in job.get("steps", ())]
    for script in (*scripts, *job.get("before_script", ()), *job.get("script", ())):
        for line in _PROGRAM.sub("", script).splitlines():
            if line.strip() and not line.lstrip().startswith("#"):
                yield line.strip()


@pytest.fixture(params=[(service, pulumi) for service in SERVICES for pulumi in (False, True)], ids=str)
def files(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    service, pulumi = request.param
    return _written(tmp_path / "quotas", "--ci", service, *(["--pulumi"] if pulumi else []))


def test_pipeline_commands_and_options_exist(files: dict[str, Any]) -> None:
    for folder in ("base", "main", "head"):
        Path(folder).mkdir()
    Path("head/policy.py").touch()
    seen = set()
    for name, job in _jobs(files).items():
        for line in _lines(job):
            words = list(takewhile(lambda word: word not in _OPERATORS, shlex.split(line)))
            program = Path(words[0]).name
            assert program in _KNOWN or _ASSIGNMENT.match(words[0]), f"{name}: {line}"
            if program != "apportion":
                continue
            seen.add(words[1])
            command = _command(words[1])
            known = {option for parameter in command.params for option in parameter.opts}
            options = {word.partition("=")[0] for word in words[2:] if word.startswith("-")}
            assert options <= known, f"{name}: {line}"
            given = [word for word in words[2:] if word != "$@"]
            context = command.make_context(words[1], given, resilient_parsing=False)
            assert context.params
    assert seen >= {"validate", "compile", "review"}


def _command(verb: str) -> click.Command:
    from importlib import import_module

    module, _, name = VERBS[verb].target.partition(":")
    command = getattr(import_module(module), name)
    assert isinstance(command, click.Command)
    return command


def test_stacks_are_previewed_and_applied_in_sequence(tmp_path: Path) -> None:
    for service in SERVICES:
        jobs = _jobs(_written(tmp_path / service, "--ci", service, "--pulumi"))
        lines = [line for job in jobs.values() for line in _lines(job)]
        assert any("apportion preview" in line and "--plan-only" not in line for line in lines), service
        assert any("apportion up" in line for line in lines), service
    for name, job in _jobs(_written(tmp_path / "again", "--pulumi")).items():
        if any("apportion up" in line for line in _lines(job)):
            assert "environment" in job, f"{name} asks nobody"
    gitlab = _written(tmp_path / "gitlab-again", "--ci", "gitlab", "--pulumi")[".gitlab-ci.yml"]
    order = ["preview-dev", "up-dev", "preview-prod", "up-prod"]
    assert [gitlab[job]["needs"] for job in order[1:]] == [[job] for job in order[:-1]]
    assert all("environment" in gitlab[job] for job in order)


def test_without_stacks_nothing_is_applied(tmp_path: Path) -> None:
    for service in SERVICES:
        jobs = _jobs(_written(tmp_path / service, "--ci", service))
        assert not [line for job in jobs.values() for line in _lines(job) if "apportion up" in line]


def test_actions_are_pinned_by_digest(tmp_path: Path) -> None:
    _written(tmp_path / "quotas", "--pulumi")
    ours = Path(__file__).parents[3] / ".github"
    for path in (*(tmp_path / "quotas").glob(".github/workflows/*.yml"), *ours.glob("workflows/*.yml")):
        used = [line.split("uses: ")[1] for line in path.read_text().splitlines() if "uses: " in line]
        for line in used:
            action, _, version = line.partition(" # ")
            assert _PINNED.match(action), f"{path.name}: {line}"
            assert re.fullmatch(r"v\d+\.\d+\.\d+", version), f"{path.name}: {line}"


def test_packages_are_installed_by_hash_from_the_base_branch(
    files: dict[str, Any],
) -> None:
    seen = 0
    for name, job in _jobs(files).items():
        for line in _lines(job):
            if "pip install" in line:
                seen += 1
                assert {"--require-hashes", "--no-deps"} <= set(line.split()), name
                assert re.search(r"-r (base/|main/|/tmp/)", line), name
            if "-m venv" in line:
                assert line.startswith("python -P "), name
                assert re.search(r'-m venv ("\$RUNNER_TEMP|/tmp)/', line), name
            assert not re.search(r"(?<!-P) -m ", line) or "commit -m" in line, f"{name}: {line}"
    assert seen


def test_pull_request_text_is_not_interpolated(files: dict[str, Any]) -> None:
    for name, job in _jobs(files).items():
        for line in _lines(job):
            assert "${{" not in line, f"{name}: {line}"
        assert not [text for text in _PULL_REQUEST_TEXT if text in str(job)], name


def test_secrets_are_limited_to_base_branch_code(tmp_path: Path) -> None:
    files = _written(tmp_path / "github", "--pulumi")
    for name, document in files.items():
        # YAML 1.1 reads the key `on` as a truth value.
        triggers = document[True]
        for label, job in document["jobs"].items():
            has_secrets = "secrets." in str(job) or "environment" in job
            assert not (has_secrets and "pull_request" in triggers), f"{name}:{label}"
            if "pull_request_target" not in triggers:
                continue
            assert "head.repo.full_name == github.repository" in job["if"], f"{name}:{label}"
            folders = {
                step["with"]["path"]: step["with"]["ref"] for step in job["steps"] if "ref" in step.get("with", {})
            }
            assert folders == {
                "base": "${{ github.event.pull_request.base.sha }}",
                "head": "${{ github.event.pull_request.head.sha }}",
            }
            # What the pull request brings along is named once, as a policy to evaluate.
            used = [line for line in _lines(job) if "head" in line.replace("| head -n 1", "")]
            assert used
            assert all("apportion preview" in line and "--dir base --policy head/policy.py" in line for line in used)
            assert not [step for step in job["steps"] if step.get("working-directory") == "head"]
    validate = files["apportion.yml"]
    assert "secrets." not in str(validate)
    assert validate["permissions"] == {"contents": "read"}
    assert "permissions" not in validate["jobs"]["validate"]
    gitlab = _written(tmp_path / "gitlab", "--ci", "gitlab", "--pulumi")[".gitlab-ci.yml"]
    for name, job in gitlab.items():
        if isinstance(job, dict) and "environment" in job:
            rules = gitlab[".stack"]["rules"]
            assert "rules" not in job, name
            assert not [rule for rule in rules if "merge_request" in rule["if"].replace("merge-request", "")], name


def test_tokens_are_limited_to_their_step(tmp_path: Path) -> None:
    for document in _written(tmp_path / "github", "--pulumi").values():
        for job in document["jobs"].values():
            assert "secrets." not in str(job.get("env"))
            for step in job["steps"]:
                if "uses" in step and "checkout" in step["uses"]:
                    assert step["with"]["persist-credentials"] is False
                if "GH_TOKEN" in step.get("env", {}):
                    assert not re.search(r"^\s*apportion ", step["run"], re.MULTILINE)


def test_code_scanning_is_a_separate_optional_job(tmp_path: Path) -> None:
    jobs = _written(tmp_path / "github")["apportion.yml"]["jobs"]
    assert "vars.APPORTION_CODE_SCANNING == 'true'" in jobs["code-scanning"]["if"]
    assert not any("apportion" in line for line in _lines(jobs["code-scanning"]))
    assert "upload-sarif" not in str(jobs["validate"])


def test_preview_updates_one_comment(tmp_path: Path) -> None:
    job = _written(tmp_path / "github", "--pulumi")["apportion-preview.yml"]["jobs"]["preview"]
    comment = next(step for step in job["steps"] if step.get("name") == "Comment")["run"]
    assert "-X PATCH" in comment
    assert "gh pr comment" not in comment


def test_gitlab_runs_one_pipeline_for_each_push(tmp_path: Path) -> None:
    for flags in ((), ("--pulumi",)):
        gitlab = _written(tmp_path / str(len(flags)), "--ci", "gitlab", *flags)[".gitlab-ci.yml"]
        used = {job["stage"] for job in gitlab.values() if isinstance(job, dict) and "stage" in job}
        assert set(gitlab["stages"]) == used
        rules = [rule["if"] for rule in gitlab["workflow"]["rules"]]
        assert not [rule for rule in rules if '"push"' in rule and "$CI_DEFAULT_BRANCH" not in rule]


def test_init_asks_for_a_lock_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    _written(tmp_path / "quotas")
    assert "uv pip compile" in capfd.readouterr().out
    assert (tmp_path / "quotas/ci/requirements.in").read_text().startswith("apportion==")
    _written(tmp_path / "stacks", "--pulumi")
    assert (tmp_path / "stacks/ci/requirements.in").read_text().startswith("apportion[pulumi]==")


def test_overrides_are_compiled_daily(tmp_path: Path) -> None:
    github = _written(tmp_path / "github", "--pulumi")["apportion-overrides.yml"]
    assert github[True]["schedule"]
    assert set(github["jobs"]) == {"pull-request", "up"}
    assert "compile" in " ".join(_lines(github["jobs"]["pull-request"]))
    assert set(_written(tmp_path / "plain")["apportion-overrides.yml"]["jobs"]) == {"pull-request"}
    gitlab = _written(tmp_path / "gitlab", "--ci", "gitlab")[".gitlab-ci.yml"]
    assert 'schedule"' in gitlab["overrides"]["rules"][0]["if"]


def test_override_updates_share_one_pull_request(tmp_path: Path) -> None:
    github = _written(tmp_path / "github")["apportion-overrides.yml"]["jobs"]["pull-request"]
    gitlab = _written(tmp_path / "gitlab", "--ci", "gitlab")[".gitlab-ci.yml"]["overrides"]
    for job in (github, gitlab):
        lines = list(_lines(job))
        assert "git switch -C apportion-overrides" in lines
        assert any(line.startswith("git push --force ") for line in lines)
    # The forge's own token starts no checks.
    assert "secrets.APPORTION_TOKEN || github.token" in str(github)
    assert "$APPORTION_TOKEN" in str(gitlab)


def test_trust_table_has_row_for_each_command() -> None:
    page = (Path(__file__).parents[3] / "docs/security.md").read_text(encoding="utf-8")
    table = page.partition("## Commands")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    assert {verb for row in rows for verb in re.findall(r"`([\w-]+)`", row.split("|")[1])} == set(VERBS)
    assert all(row.count("|") == 7 and all(cell.strip() for cell in row.split("|")[1:-1]) for row in rows)


def test_review_runs_without_a_token(files: dict[str, Any]) -> None:
    if ".gitlab-ci.yml" in files:
        pipeline = files[".gitlab-ci.yml"]
        assert "APPORTION_REVIEW_TOKEN" not in str(pipeline["review"])
        assert pipeline["review-note"]["rules"][0]["if"].endswith("&& $APPORTION_REVIEW_TOKEN")
        assert not [line for line in _lines(pipeline["review-note"]) if "pip" in line or "git " in line]
        assert pipeline["review"]["script"].index("cd /tmp/base") < len(pipeline["review"]["script"]) - 1
        return
    review, comment = files["apportion-review.yml"], files["apportion-review-comment.yml"]
    assert list(review[True]) == ["pull_request"]
    assert review["permissions"] == {"contents": "read"}
    assert not [job for job in review["jobs"].values() if "permissions" in job]
    for label in ("review", "outcomes"):
        judging = review["jobs"][label]["steps"][4]
        assert judging["working-directory"] == "base", label
    assert comment[True] == {"workflow_run": {"workflows": [review["name"]], "types": ["completed"]}}
    assert comment["permissions"] == {}
    (job,) = comment["jobs"].values()
    assert job["permissions"] == {"actions": "read", "pull-requests": "write"}
    assert [set(step) for step in job["steps"]] == [{"name", "env", "run"}]


def test_forges_share_one_review_script(tmp_path: Path) -> None:
    github = _written(tmp_path / "github")["apportion-review.yml"]["jobs"]
    gitlab = _written(tmp_path / "gitlab", "--ci", "gitlab")[".gitlab-ci.yml"]
    for job in ("review", "outcomes"):
        body = gitlab[job]["script"][-1]
        assert "apportion" in body
        assert github[job]["steps"][4]["run"].endswith(body.rstrip("\n") + "\n")
