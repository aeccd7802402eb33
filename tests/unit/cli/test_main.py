"""The entry point: help that imports little, exit codes, verbs that exist."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from apportion_cli import main as entry
from apportion_cli.main import apportion, main
from apportion_cli.rule_pages import for_terminal
from apportion_cli.verbs import ALIASES, VERBS

from .conftest import Run

HEAVY = {"pydantic", "networkx", "numpy", "pulumi", "jinja2", "yaml", "rich", "tomllib", "asyncio"}


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["--version"], ["nonsense"]])
def test_help_imports_no_heavy_module(arguments: list[str]) -> None:
    program = "import sys; from apportion_cli.main import main; main(sys.argv[1:]); print(*sys.modules)"
    finished = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    assert not HEAVY & {name.partition(".")[0] for name in finished.stdout.splitlines()[-1].split()}


def test_list_of_engines_imports_no_simulated_engine() -> None:
    program = "import sys; from apportion_cli.main import main; main(['engines']); print(*sys.modules)"
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {name for name in finished.stdout.splitlines()[-1].split() if name.startswith("apportion_runtime.")}
    assert loaded == {"apportion_runtime.engines", "apportion_runtime.engines.registry"}


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_every_command_fits_80_columns(verb: str, run: Run) -> None:
    result = run(verb, "--help")
    assert result.code == 0
    assert [line for line in result.out.splitlines() if len(line) > 80] == []
    if verb not in {"completion", "version", "dev"}:
        assert f"apportion {verb} " in result.out.partition("Options:")[0].partition("\n")[2], "an example is missing"
    assert "\\b" not in result.out


def test_help_lists_the_commands(run: Run) -> None:
    result = run("--help")
    assert result.code == 0
    listed = re.findall(r"^  ([a-z]+) {2,}\S", result.out.partition("Author a policy:")[2], re.MULTILINE)
    assert listed == list(VERBS)
    assert [line for line in result.out.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("alias", ALIASES)
def test_alias_resolves_to_its_command(alias: str) -> None:
    context = click.Context(apportion)
    assert apportion.get_command(context, alias) is apportion.get_command(context, ALIASES[alias])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["valdate"], "unknown command `valdate`; did you mean `validate`?"),
        (["frobnicate"], "unknown command `frobnicate`"),
        (["validate", "--nope"], "No such option"),
        (["validate", "--as-of", "soon"], "`soon` is not a date such as 2026-11-21"),
        (["validate", "--as-of", "2026-02-30"], "`2026-02-30` is not a date"),
        (["validate", "--time-limit", "-1"], "a time limit must be between 0.1s and 24h"),
        (["validate", "--memory-limit", "1Mi"], "the interpreter and the policy model alone require 256Mi"),
        (["validate", "--memory-limit", "much"], "`much` is not an amount of memory"),
        (["validate", "-o", "xml"], "`xml` is not one of text, json, sarif, junit, github"),
        (["validate", "-o", "json="], "expected a file name after `=`"),
        (["validate", "--fail-on", "info"], "'info' is not one of 'error', 'warning', 'never'"),
        (["completion", "tcsh"], "'tcsh' is not one of 'bash', 'zsh', 'fish'"),
        (["explain", "AP999"], "unknown rule AP999"),
    ],
)
def test_usage_errors(arguments: list[str], message: str, run: Run) -> None:
    result = run(*arguments)
    assert result.code == 2
    assert message in result.err
    assert result.out == ""


def test_internal_error_is_reported_briefly(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def broken(*_: object) -> None:
        raise KeyError("some id")

    monkeypatch.setattr(entry.apportion, "invoke", broken)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    result = run("rules", "-q")
    assert result.code == 70
    assert result.err.startswith("apportion: internal error: KeyError: 'some id'\n  this is a bug in apportion")
    assert "Traceback" not in result.text
    (report,) = tmp_path.glob("apportion-report-*.txt")
    assert str(report) in result.err
    assert "Traceback" in report.read_text(encoding="utf-8")
    assert "arguments: rules -q" in report.read_text(encoding="utf-8")
    assert report.stat().st_mode & 0o077 == 0
    assert "Traceback" in run("--debug", "rules").err


def test_interruption(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(entry.apportion, "invoke", interrupted)
    result = run("rules")
    assert (result.code, result.err) == (130, "apportion: interrupted\n")


def test_closed_pipe_is_not_an_error() -> None:
    command = f'{sys.executable} -m apportion_cli.main rules -o json | head -c 1; echo " ${{PIPESTATUS[0]}}"'
    finished = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert (finished.stdout, finished.stderr) == ("{ 0\n", "")


def test_unwritable_output_is_reported() -> None:
    finished = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m apportion_cli.main rules > /dev/full"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 3
    assert finished.stderr == "apportion: error: standard output cannot be written: No space left on device\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script(shell: str, run: Run) -> None:
    result = run("completion", shell)
    assert result.code == 0
    assert "_APPORTION_COMPLETE" in result.out


def test_completion_of_commands_and_formats(run_process: Run) -> None:
    def complete(words: str, position: int) -> list[str]:
        environment = {"_APPORTION_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(position)}
        lines = run_process(environment=environment).out.splitlines()
        return [line.partition(",")[2] for line in lines]

    assert complete("apportion ver", 1) == ["version"]
    assert complete("apportion validate -o s", 3) == ["sarif"]


def test_version(run: Run) -> None:
    plain, verbose = run("version"), run("version", "-v")
    assert re.fullmatch(r"apportion \d+\.\d+\.\d+\S*\n", plain.out)
    assert run("--version").out == plain.out
    assert verbose.out.startswith(plain.out + "python 3.")


def test_main_returns_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == 0
    assert capsys.readouterr().out


def test_page_of_a_rule(run: Run) -> None:
    page = run("explain", "ap101").out
    assert page.startswith("# AP101: unknown-parent\n")
    assert "## How to fix it" in page


def test_page_of_a_rule_on_a_terminal() -> None:
    page = "# AP1: x\n\n" + "word " * 30 + "\n\n```python\n" + "code " * 30 + "\n```\n* item " + "word " * 20 + "\n"
    lines = for_terminal(page, 40, lambda role, text: f"<{text}>" if role == "heading" else text).splitlines()
    assert lines[0] == "<AP1: x>"
    assert [line for line in lines if len(line) > 40] == ["    " + "code " * 30]
    assert [line[:6] for line in lines[-3:]] == ["* item", "  word", "  word"]


def test_rules_are_listed_in_each_form(run: Run) -> None:
    listed = json.loads(run("rules", "-o", "json").out)
    assert (listed["apiVersion"], listed["kind"]) == ("apportion.dev/v1", "RuleList")
    codes = [rule["code"] for rule in listed["rules"]]
    assert codes == sorted(codes)
    assert re.findall(r"^  (AP\d{3})  ", run("rules").out, re.MULTILINE) == codes
    assert re.findall(r"^\| \[(AP\d{3})\]\(docs/diagnostics/", run("rules", "-o", "md").out, re.MULTILINE) == codes


def test_schemas_are_printed(run: Run) -> None:
    assert json.loads(run("schema").out)["title"] == "Apportion policy"
    assert json.loads(run("schema", "--for", "report").out)["title"] == "Apportion validation report"
