"""`validate`: destination of each format, exit codes, and the effect of `--fix` on the author's file."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from xml.etree import ElementTree

import pytest

from .conftest import Run

POLICY = """\
from apportion_policy import Cluster, Engine, Environment, Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="research", guaranteed=Resources(gpu=16)),
        Queue(id="vision", parent="reserch", namespaces=("vision",), guaranteed=Resources(gpu=20)),
    ),
    environments=(
        Environment(name="prod", clusters=(Cluster(name="gpu-1", engine=Engine.KAI, engine_version="0.17.0"),)),
    ),
)
"""
FIRST = "policy.py:7: error[AP101] `vision` has the parent `reserch`, which is not declared"


@pytest.fixture(autouse=True)
def policy() -> Path:
    file = Path("policy.py")
    file.write_text(POLICY, encoding="utf-8")
    return file


def test_text_is_printed_on_stdout(run: Run) -> None:
    result = run("validate")
    assert result.code == 1
    assert result.out.splitlines()[:3] == [
        FIRST,
        '    7 |         Queue(id="vision", parent="reserch", namespaces=("vision",), guaranteed=Resources(gpu=20)),',
        "      |                                   ^^^^^^^^^",
    ]
    assert result.out.splitlines()[-1].startswith("1 error in 2 queues, 1 environment")
    assert result.err == ""


def test_quiet_prints_one_line_for_each_finding(run: Run) -> None:
    result = run("validate", "-q")
    assert (result.out, result.err) == (f"{FIRST}\n", "")


def test_verbose_lists_files_read(run: Run) -> None:
    assert "read policy.py\n" in run("validate", "-v").err


def test_machine_formats_own_stdout(run: Run) -> None:
    alone, beside = run("validate", "-o", "json"), run("validate", "-o", "json", "-o", "text")
    assert json.loads(alone.out)["summary"]["errors"] == 1
    assert json.loads(alone.out) == json.loads(beside.out)
    assert alone.err.startswith("1 error in 2 queues")
    assert beside.err.startswith(FIRST)
    assert run("validate", "-o", "json", "-q").err == ""


def test_output_files_are_written(run: Run) -> None:
    result = run(
        "validate", "-o", "sarif=out.sarif", "-o", "junit=out.xml", "-o", "text=out.txt", "-o", "json=out.json"
    )
    assert result.out.startswith(FIRST)
    sarif = json.loads(Path("out.sarif").read_text(encoding="utf-8"))
    assert sarif["runs"][0]["results"][0]["ruleId"] == "AP101"
    assert ElementTree.parse("out.xml").getroot().get("failures") == "1"
    assert Path("out.txt").read_text(encoding="utf-8") == result.out
    assert json.loads(Path("out.json").read_text(encoding="utf-8"))["reached"] == "structure"


def test_unwritable_output_file_is_reported(run: Run) -> None:
    result = run("validate", "-o", "json=missing/out.json")
    assert result.code == 3
    assert "apportion: error: missing/out.json cannot be written: No such file or directory" in result.err


def test_paths_are_relative_to_the_working_directory(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(".git").mkdir()
    Path("quotas/deep").mkdir(parents=True)
    Path("policy.py").rename("quotas/policy.py")
    Path("quotas/pyproject.toml").write_text("[project]\n", encoding="utf-8")
    assert run("validate", "quotas").out.startswith("quotas/policy.py:7:")
    monkeypatch.chdir("quotas/deep")
    assert run("validate", "..").out.startswith("../policy.py:7:")
    assert "file=quotas/policy.py," in run("validate", "..", "-o", "github").out
    assert json.loads(run("validate", "..", "-o", "json").out)["findings"][0]["location"]["file"] == "policy.py"
    (run_,) = json.loads(run("validate", "..", "-o", "sarif").out)["runs"]
    location = run_["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert location == {"uri": "quotas/policy.py", "uriBaseId": "%SRCROOT%"}


def test_github_overflow_goes_to_the_summary(run: Run, policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queues = "".join(f'        Queue(id="q{i}", parent="nowhere-at-all-{i}"),\n' for i in range(12))
    policy.write_text(POLICY.replace("    queues=(\n", f"    queues=(\n{queues}"), encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    Path("summary.md").write_text("before\n", encoding="utf-8")
    assert run("validate", "-o", "github").out.count("::error ") == 10
    summary = Path("summary.md").read_text(encoding="utf-8")
    assert summary.startswith("before\n### apportion: 13 errors")
    assert summary.count("| error |") == 3


@pytest.mark.parametrize(("fail_on", "code"), [("error", 0), ("warning", 1), ("never", 0)])
def test_fail_on(fail_on: str, code: int, run: Run, policy: Path) -> None:
    sound = (
        POLICY.replace("reserch", "research")
        .replace("gpu=16", "gpu=20")
        .replace('owner="@acme/platform"', "owner=None")
    )
    policy.write_text(sound, encoding="utf-8")
    result = run("validate", "--fail-on", fail_on)
    assert ": warning[AP115] " in result.out
    assert result.code == code


def test_env_option_filters_findings(run: Run, policy: Path) -> None:
    assert run("validate", "--env", "prod").out.startswith(FIRST)
    assert run("validate", "-e", "staging").code == 2


def test_fix_changes_the_value_and_shows_it(run: Run, policy: Path) -> None:
    policy.chmod(0o640)
    result = run("validate", "--fix")
    text = policy.read_text(encoding="utf-8")
    assert 'parent="research"' in text
    assert '-        Queue(id="vision", parent="reserch"' in result.err
    assert '+        Queue(id="vision", parent="research"' in result.err
    assert "fixed 1 file\n" in result.err
    assert stat.S_IMODE(policy.stat().st_mode) == 0o640
    assert [file.name for file in Path().iterdir() if file.name.startswith(".")] == []


def test_fix_repeats_until_stable(run: Run, policy: Path) -> None:
    """The oversubscribed parent is found only once the child hangs below it."""
    result = run("validate", "--fix", "--unsafe-fixes")
    assert result.code == 0, result.out
    assert run("validate").code == 0
    changed = [line for line in result.err.splitlines() if line.startswith("+ ")]
    assert len(changed) == 1


def test_fix_does_not_touch_a_valid_policy(run: Run, policy: Path) -> None:
    policy.write_text(POLICY.replace("reserch", "research").replace("gpu=16", "gpu=20"), encoding="utf-8")
    before = policy.stat().st_mtime_ns
    assert run("validate", "--fix").err == ""
    assert policy.stat().st_mtime_ns == before


def test_check_is_an_alias_of_validate(run: Run) -> None:
    assert run("check").out == run("validate").out


def test_yaml_documents(run: Run) -> None:
    Path("policy.yaml").write_text(
        "organisation: {name: acme, owner: '@acme/platform'}\nqueues:\n- id: research\n- id: vision\n  parent: reserch\n",
        encoding="utf-8",
    )
    result = run("validate", "policy.yaml")
    assert result.out.splitlines()[:3] == [
        "policy.yaml:5: error[AP101] `vision` has the parent `reserch`, which is not declared",
        "    5 |   parent: reserch",
        "      |           ^^^^^^^",
    ]


def test_as_of_selects_waivers_in_force(run: Run, policy: Path) -> None:
    waived = (
        POLICY.replace("reserch", "research")
        .replace(
            "    queues=(\n",
            "    waivers=(Waiver(code='AP201', address='queue research', reason='soon', owner='@a/b', "
            "expires='2026-12-31'),),\n    queues=(\n",
        )
        .replace("Resources\n", "Resources, Waiver\n", 1)
    )
    policy.write_text(waived, encoding="utf-8")
    before = run("validate", "-v", "--as-of", "2026-12-31")
    assert before.code == 0
    assert "waived[AP201]" in before.out
    assert "waived until 2026-12-31 by @a/b: soon (policy.py:5)" in before.out
    after = run("validate", "--as-of", "2027-01-01")
    assert after.code == 1
    assert "error[AP201]" in after.out
