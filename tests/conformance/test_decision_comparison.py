"""`make conformance-refresh`: a changed decision is named with its case, and recorded data are replaced with their version."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.conformance.decision_comparison import HERE, main
from tests.conformance.recorded_engines import ENGINES

from apportion_cli.fidelity_evidence import RECORDING


def _recorded(engine: str) -> list[dict[str, Any]]:
    """The shortest recorded cases of an engine."""
    folder = HERE / ENGINES[engine].folder
    file = next(path for path in sorted(folder.iterdir()) if path.name in ("cases.jsonl.gz", "clusters.jsonl"))
    text = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    return [json.loads(line) for line in sorted(text.splitlines(), key=len)[:2]]


def _written(folder: Path, cases: list[dict[str, Any]]) -> Path:
    file = folder / "decided.jsonl.gz"
    file.write_bytes(gzip.compress("".join(f"{json.dumps(case)}\n" for case in cases).encode()))
    return file


def _run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(each) for each in arguments])


@pytest.mark.parametrize("engine", ENGINES)
def test_same_decisions(engine: str, tmp_path: Path) -> None:
    result = _run(engine, _written(tmp_path, _recorded(engine)))
    assert (result.exit_code, result.output) == (0, "0 of 2 cases differ, in 0 decisions\n")


_CHANGES: dict[str, Any] = {
    "ack": lambda case: case["outcomes"][0]["dequeued"][0].__setitem__(0, 999),
    "kai": lambda case: next(iter(case["expected"]["rounds"][0]["queues"].values())).__setitem__("gpu_fair_share", 999),
    "koordinator": lambda case: case["runs"][0]["revoked"].append("pod-999"),
    "kueue": lambda case: case.__setitem__(
        "outcomes", [[*each, [999, "reserved", "w", []]] for each in case["outcomes"]]
    ),
    "native": lambda case: case["runs"][0]["bound"].append(["pod-999", "node-0"]),
    "volcano": lambda case: case["outcomes"][0].append([999, "bound", "w", {}]),
    "yunikorn": lambda case: [each[0].setdefault("evicted", []).append("pod-999") for each in case["outcomes"]],
}


@pytest.mark.parametrize("engine", ENGINES)
def test_changed_decision_is_reported(engine: str, tmp_path: Path) -> None:
    cases = _recorded(engine)
    _CHANGES[engine](cases[1])
    result = _run(engine, _written(tmp_path, cases))
    lines = result.output.splitlines()
    assert result.exit_code == 1
    assert lines[0] == f"case {ENGINES[engine].name(cases[1])}"
    assert lines[1].startswith("  engine only:     ")
    assert "999" in lines[1]
    assert lines[-1].startswith("1 of 2 cases differ, in ")


def test_long_lists_are_cut(tmp_path: Path) -> None:
    (case, _) = _recorded("koordinator")
    case["runs"][0]["revoked"] += ["pod-1", "pod-2", "pod-3"]
    result = _run("koordinator", _written(tmp_path, [case]), "--show", 1)
    assert result.output.splitlines()[1:] == [
        f"  engine only:     {case['runs'][0]['at']:g}s revoked pod-1",
        "  and 2 more",
        "1 of 1 cases differ, in 3 decisions",
    ]


def test_recorded_cases_are_replaced(tmp_path: Path) -> None:
    shutil.copytree(HERE / "kueue_random", tmp_path / "kueue_random")
    cases = _recorded("kueue")
    _CHANGES["kueue"](cases[0])
    file = _written(tmp_path, cases)
    arguments = ("kueue", file, "--replace", "documented.jsonl.gz", "--source", "Kueue", "v0.19.0", "1234abcd")
    result = _run(*arguments, "--recordings", tmp_path)
    written = (tmp_path / "kueue_random/documented.jsonl.gz").read_bytes()
    assert result.exit_code == 1
    assert [json.loads(line) for line in gzip.decompress(written).splitlines()] == cases
    recording = json.loads((tmp_path / "kueue_random" / RECORDING).read_text())
    assert recording["documented.jsonl.gz"] == [{"project": "Kueue", "version": "v0.19.0", "commit": "1234abcd"}]
    assert recording["cases.jsonl.gz"] == [{"project": "Kueue", "version": "v0.18.3", "commit": "afd60c37"}]
    _run(*arguments, "--recordings", tmp_path)
    assert (tmp_path / "kueue_random/documented.jsonl.gz").read_bytes() == written


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "decided.jsonl:1: Expecting property name enclosed in double quotes"),
        ('{"seed": 1}', "decided.jsonl:1: the case lacks cluster, exercises, grace, outcomes, until"),
        ("[]", "decided.jsonl:1: the case lacks cluster, exercises, grace, outcomes, seed, until"),
    ],
)
def test_unreadable_case_has_its_line(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "decided.jsonl"
    file.write_text(f"{text}\n")
    result = _run("kueue", file)
    assert (result.exit_code, said in result.output) == (3, True), result.output


def test_repeated_case_is_refused(tmp_path: Path) -> None:
    (case, _) = _recorded("ack")
    result = _run("ack", _written(tmp_path, [case, case]))
    assert result.exit_code == 3
    assert f"decided.jsonl.gz:2: case {case['seed']} is already on line 1" in result.output


@pytest.mark.parametrize("name", ["missing.jsonl", "truncated.jsonl.gz"])
def test_unreadable_file_is_named(name: str, tmp_path: Path) -> None:
    if name.endswith(".gz"):
        (tmp_path / name).write_bytes(gzip.compress(b"{}" * 100)[:-4])
    result = _run("ack", tmp_path / name)
    assert (result.exit_code, name in result.output) == (3, True), result.output


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ("--replace", "other.jsonl.gz", "--source", "Kueue", "v0.19.0", "1"),
            "kueue_random has cases.jsonl.gz, documented.jsonl.gz, gangs.jsonl.gz",
        ),
        (("--replace", "cases.jsonl.gz"), "--replace and --source belong together"),
        (("--source", "Kueue", "v0.19.0", "1"), "--replace and --source belong together"),
    ],
)
def test_incomplete_options_are_refused(options: tuple[str, ...], said: str, tmp_path: Path) -> None:
    result = _run("kueue", _written(tmp_path, _recorded("kueue")), *options)
    assert (result.exit_code, said in result.output) == (2, True), result.output
