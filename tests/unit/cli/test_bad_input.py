"""Invalid input of any kind results in one clear message and the documented exit code, never in a traceback."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .conftest import Result, Run

HEAD = "from apportion_policy import Organisation, Policy, Queue, Resources\n"
ACME = "organisation: {name: acme}\n"
BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)

PYTHON = {
    "syntax": (f"{HEAD}policy = Policy(\n", 1, "policy.py:2: error[AP001] '(' was never closed"),
    "exception": ("def f(x):\n    return 1 // x\nf(0)\n", 1, "policy.py:2: error[AP002] ZeroDivisionError"),
    "missing import": ("import no_such_module\n", 1, "policy.py:1: error[AP005] no module named `no_such_module`"),
    "wrong type": (
        f"{HEAD}policy = Policy(organisation=Organisation(name='a'), queues=(Queue(id=5),))\n",
        1,
        "policy.py:2: error[AP006] Queue: `id`: must be text, not",
    ),
    "unknown field": (f"{HEAD}Queue(id='a', guarantee=1)\n", 1, "error[AP006] Queue: unknown field `guarantee`"),
    "no policy": ("x = 1\n", 3, "policy.py: error[AP011] policy.py declares no Policy"),
    "two policies": (
        f"{HEAD}a = Policy(organisation=Organisation(name='a'))\nb = Policy(organisation=Organisation(name='b'))\n",
        1,
        "error[AP012] policy.py declares 2 policies",
    ),
    "own exit": ("import sys\nsys.exit(0)\n", 1, "policy.py"),
    "hard exit": ("import os\nos._exit(0)\n", 1, "error[AP015] the policy ended its own process"),
    "network": ("import socket\nsocket.socket()\n", 1, "policy.py:2: error[AP013]"),
    "memory": ("x = bytearray(10 * 2**30)\n", 1, "policy.py:1: error[AP004]"),
    "empty file": ("", 3, "error[AP011]"),
    "null byte": ("x = '\0'\n", 1, "policy.py"),
    "deep nesting": ("(" * 5000, 1, "policy.py"),
}
YAML = {
    "malformed": ("organisation: {name: acme\nqueues:\n", 1, "policy.yaml:2: error[AP009]"),
    "list": ("- 1\n", 1, "error[AP009] a policy document must be a mapping"),
    "wrong type": (f"{ACME}queues: [{{id: a, guaranteed: {{gpu: lots}}}}]\n", 1, "policy.yaml:2: error[AP006]"),
    "bomb": (BOMB, 1, "error[AP008] the document expands to more than 2000000 values"),
    "key twice": (f"{ACME}{ACME}", 1, "policy.yaml:2: error[AP009] the key `organisation` is duplicated"),
    "include of nothing": (f"{ACME}include: teams/*.yaml\n", 1, "policy.yaml:2: error[AP007] include: no file matches"),
    "alias loop": ("a: &a [*a]\n", 1, "policy.yaml:1: error[AP009]"),
    "deep nesting": ("[" * 100_000, 1, "error[AP009]"),
}


def _check(result: Result, code: int, message: str) -> None:
    assert result.code == code, result.text
    assert message in result.out
    assert "Traceback" not in result.text
    assert "internal error" not in result.text


@pytest.mark.parametrize("name", PYTHON)
def test_bad_python(name: str, run: Run, tmp_path: Path) -> None:
    text, code, message = PYTHON[name]
    Path("policy.py").write_text(text, encoding="utf-8")
    _check(run("validate"), code, message)


@pytest.mark.parametrize("name", YAML)
def test_bad_yaml(name: str, run: Run) -> None:
    text, code, message = YAML[name]
    Path("policy.yaml").write_text(text, encoding="utf-8")
    _check(run("validate", "policy.yaml"), code, message)


def test_endless_loop(run: Run) -> None:
    Path("policy.py").write_text("while True: pass\n", encoding="utf-8")
    _check(run("validate", "--time-limit", "2"), 1, "policy.py:1: error[AP003] the policy was not evaluated within 2 s")


def test_document_of_more_than_32_mib(run: Run) -> None:
    text = ACME + "queues:\n" + "- {id: aaaaaaaaaaaaaaaaaaaaaaaa}\n" * 1_100_000
    Path("policy.yaml").write_text(text, encoding="utf-8")
    _check(run("validate", "policy.yaml"), 1, "error[AP008] the document is 3")


@pytest.mark.parametrize("file", ["policy.py", "policy.yaml"])
def test_invalid_utf_8(file: str, run: Run) -> None:
    Path(file).write_bytes(b"a: 1\nb: \xff\xfe\n")
    _check(run("validate", file), 1, f"{file}:2: error[AP010]")


def test_paths_without_a_policy(run: Run) -> None:
    Path("empty").mkdir()
    Path("folder/policy.py").mkdir(parents=True)
    Path("notes.txt").write_text("hello", encoding="utf-8")
    _check(run("validate", "missing.py"), 3, "missing.py: error[AP007] missing.py does not exist")
    _check(run("validate", "empty"), 3, "empty: error[AP011] the folder empty contains none of policy.py")
    _check(run("validate", "folder"), 3, "error[AP007] folder/policy.py is a folder, not a file")
    _check(run("validate", "notes.txt"), 3, "error[AP007] notes.txt is neither a Python file (.py) nor a document")
    _check(run("validate", "/dev/null"), 3, "/dev/null: error[AP007] /dev/null is a device, not a file")
    _check(run("validate", ""), 3, "error[AP007]")


def test_unknown_environment(run: Run) -> None:
    Path("policy.py").write_text(f"{HEAD}policy = Policy(organisation=Organisation(name='acme'))\n", encoding="utf-8")
    result = run("validate", "--env", "prod")
    assert result.code == 2
    assert "the policy has no environment `prod`; it has none" in result.err


def test_output_of_a_failing_policy_is_escaped(run: Run) -> None:
    Path("policy.py").write_text("print('\\x1b[31mlooking')\n1 / 0\n", encoding="utf-8")
    result = run("validate")
    assert "the policy printed:\n  \\x1b[31mlooking" in result.err
    assert "\x1b" not in result.text


def test_excerpts_come_only_from_policy_files(run: Run, tmp_path: Path) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text("TOKEN = 'hunter2'\n", encoding="utf-8")
    Path("quotas").mkdir()
    Path("quotas/policy.py").write_text(f"exec(compile('1 / 0', {str(secret)!r}, 'exec'))\n", encoding="utf-8")
    result = run("validate", "quotas")
    assert result.code == 1
    assert "hunter2" not in result.text


@pytest.mark.parametrize("form", ["json", "sarif", "junit", "github"])
def test_every_format_reports_evaluation_errors(form: str, run: Run) -> None:
    Path("policy.py").write_text("import no_such_module\n", encoding="utf-8")
    result = run("validate", "-o", form)
    assert result.code == 1
    assert "no module named `no_such_module`" in result.out
    assert result.err == "1 error\n"


def test_installed_command_prints_no_traceback(run_process: Run) -> None:
    Path("policy.py").write_text(f"{HEAD}policy = Policy(\n", encoding="utf-8")
    _check(run_process("validate"), 1, "policy.py:2: error[AP001]")


@pytest.mark.parametrize("form", ["text", "json", "sarif", "junit", "github"])
def test_file_names_that_are_not_utf_8(form: str, run: Run, tmp_path: Path) -> None:
    Path(".git").mkdir()
    folder = tmp_path / os.fsdecode(b"line\nbreak\xff")
    folder.mkdir()
    (folder / "policy.py").write_text("", encoding="utf-8")
    _check(run("validate", folder, "-o", form), 3, "is not valid UTF-8")
    _check(run("validate", folder, "-o", f"{form}=out", "-o", "text=other"), 3, "is not valid UTF-8")
    assert "is not valid UTF-8" in Path("out").read_text(encoding="utf-8")
