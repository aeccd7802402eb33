"""Any output of the child, or content of a file, results in a finding or an error message."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from apportion_compiler.diagnostics.diagnostic import ValueEdit
from apportion_compiler.fixes_python import python_edit
from apportion_compiler.fixes_yaml import yaml_edit
from apportion_policy import wire
from apportion_policy.evaluation.answer import AnswerError, layers_line, read_answer
from apportion_policy.evaluation.confinement_layers import RaisedLayers
from apportion_policy.evaluation.parent import start
from apportion_policy.evaluation.result import EvaluatedPolicy, Rejected
from apportion_policy.source import SourceLocation
from apportion_runtime.sim.scenario.fields import ScenarioError
from apportion_runtime.sim.scenario.reader import read_scenario
from apportion_runtime.snapshots.document_loader import NotText, documents_of

pytestmark = pytest.mark.security

DEEP = "[" * 100_000
BLOCKS = "".join(" " * depth + "a:\n" for depth in range(2_000))
LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{after}: &{after} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, after in zip("abcdefghi", "bcdefghij", strict=True)
)
MERGES = "a: &a {k: 1}\n" + "".join(
    f"{after}: &{after}\n  <<: [{', '.join([f'*{before}'] * 9)}]\n"
    for before, after in zip("abcdefghi", "bcdefghij", strict=True)
)
ODD = [
    DEEP,
    "a: " + DEEP,
    BLOCKS,
    LAUGHS,
    MERGES,
    "&a [*a]",
    "a: &a\n  <<: *a",
    "\x00",
    "\ud800",
    "9" * 5000,
    "a: 2026-99-99",
]


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_malformed_snapshots_never_crash(text: str) -> None:
    with contextlib.suppress(NotText):
        list(documents_of(text))


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_malformed_scenarios_are_refused(text: str) -> None:
    with pytest.raises(ScenarioError):
        read_scenario(text, lambda name: [])


@pytest.mark.parametrize("text", [DEEP, BLOCKS])
def test_too_deep_documents_get_no_fix(text: str) -> None:
    edit = ValueEdit(SourceLocation("policy.yaml", 1, 0), ("a", "b"), 1)
    assert yaml_edit(text, edit) is None


@pytest.mark.parametrize("text", ["-" * 500_000 + "1", "(" * 300 + "1" + ")" * 300])
def test_too_deep_code_gets_no_fix(text: str) -> None:
    assert python_edit(text, ValueEdit(SourceLocation("policy.py", 1, 0), ("a",), 1)) is None


HEAD = {"files": ["/p/policy.py"], "locations": [[0, 1, 0, 1, 1, []]], "omitted": []}


def answer(body: str, **head: object) -> bytes:
    return json.dumps(HEAD | head).encode() + b"\n" + body.encode()


@pytest.mark.parametrize(
    "document",
    [
        answer("{}", locations=[[0, float("inf"), 0, 1, 1, []]]),
        answer("{}", locations=[[0, float("nan"), 0, 1, 1, []]]),
        answer("{}", locations=[[0, -1, 0, 1, 1, []]]),
        answer("{}", locations=[[0, 1e9, 0, 1, 1, []]]),
        answer("{}", locations=[[0, True, 0, 1, 1, []]]),
        answer('{"organisation": {"name": "a"}, "queues": 1e999}'),
        answer('{"queues": NaN}'),
        answer("[" * 100_000),
        answer('{"queues": [' + ",".join(["{}"] * 5_000) + "]}"),
        b"[]\n{}",
        b"1\n{}",
        b"\n",
        b"",
        b"\xff\n{}",
    ],
)
def test_forged_policy_is_refused(document: bytes) -> None:
    with pytest.raises(wire.WireError):
        wire.load(document)


def test_forged_policy_with_too_many_values_is_refused() -> None:
    with pytest.raises(wire.WireError, match="more than 1000000 values"):
        wire.load(answer('{"queues": [' + "{}," * 2_000_000 + "{}]}"))


def test_answer_with_too_many_values_is_refused() -> None:
    with pytest.raises(AnswerError, match="too many values"):
        read_answer(layers_line(RaisedLayers()) + b'{"faults":[' + b"{}," * 2_000_000 + b"{}]}\n")


def evaluate(folder: Path, text: str) -> EvaluatedPolicy | Rejected:
    (folder / "policy.py").write_text(text)
    return start(folder).result()


@pytest.mark.parametrize("number", [40, 34, 64, 11, 31])
def test_signal_becomes_a_finding_with_a_line(number: int, tmp_path: Path) -> None:
    outcome = evaluate(
        tmp_path, f"import signal\nsignal.signal({number}, signal.SIG_DFL)\nsignal.raise_signal({number})\n"
    )
    assert isinstance(outcome, Rejected)
    assert [fault.file for fault in outcome.faults] == [str(tmp_path / "policy.py")]


# The peak of getrusage includes that of the process that called exec.
WHOLE_COMMAND = """
import sys
from apportion_cli.main import main
code = main(sys.argv[1:])
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(code, int(peak.split()[1]) // 1024)
"""


def test_parent_memory_is_bounded_for_many_small_values(tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text(
        "import json, os, sys\n"
        "head = json.dumps({'files': ['/p'], 'locations': [[0, 1, 0, 1, 1, []]], 'omitted': []}).encode()\n"
        "body = b'{\"queues\": [' + b'{},' * 300_000 + b'{}]}'\n"
        "document = head + b'\\n' + body\n"
        "said = json.dumps({'faults': [], 'files': [], 'bytes': len(document)}).encode() + b'\\n' + document\n"
        "for fd in range(3, 64):\n"
        "    try:\n"
        "        rest = said\n"
        "        while rest:\n"
        "            rest = rest[os.write(fd, rest):]\n"
        "    except OSError:\n"
        "        continue\n"
        "    break\n"
        "os._exit(0)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-P", "-c", WHOLE_COMMAND, "validate", str(tmp_path)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    code, peak_mib = map(int, ended.stdout.split()[-2:])
    assert code == 1
    assert peak_mib < 600


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("/dev/zero", "it points outside"),
        ("../outside.yaml", "it points outside"),
        ("link.yaml", "it points outside"),
        ("pipe", "not a regular file"),
    ],
)
def test_scenario_reads_only_regular_files_of_its_folder(name: str, said: str, tmp_path: Path) -> None:
    folder = tmp_path / "inside"
    folder.mkdir()
    (tmp_path / "outside.yaml").write_text("kind: Job\nmetadata: {name: a}\n")
    (folder / "link.yaml").symlink_to(tmp_path / "outside.yaml")
    os.mkfifo(folder / "pipe")
    (folder / "policy.py").write_text(
        'from apportion_policy import Organisation, Policy\npolicy = Policy(organisation=Organisation(name="acme"))\n'
    )
    (folder / "scenario.yaml").write_text(f"name: a\nuntil: 60\nnodes: []\nworkloads: [{{file: {name}}}]\n")
    from apportion_cli.bounded_text import UnreadableFileError, text_named_by

    with pytest.raises(UnreadableFileError, match=said):
        text_named_by(folder, name)
