"""Data from the child process: records that round-trip, and readers that accept any bytes."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion_policy.evaluation.answer import AnswerError, layers_line, outcome, read_answer, read_layers, whole_size
from apportion_policy.evaluation.confinement_layers import RaisedLayers
from apportion_policy.evaluation.fault import FAULT_KINDS, Fault, FaultFormatError
from apportion_policy.evaluation.limits import Limits
from apportion_policy.evaluation.sanitized_text import plain_text

FAULT = Fault("policy-exception", "message", "/p/policy.py", 3, 4, "hint", (("/p/a.py", 1, "calls `f`"),))


def test_fault_round_trips() -> None:
    assert Fault.from_json(FAULT.to_json()) == FAULT
    for kind in sorted(FAULT_KINDS):
        assert Fault.from_json({**FAULT.to_json(), "kind": kind}).kind == kind


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "other"},
        {"message": 3},
        {"line": True},
        {"line": 0},
        {"line": "3"},
        {"column": -1},
        {"file": "a\0b"},
        {"file": "x" * 5000},
        {"related": "abc"},
        {"related": [["/p/a.py", None, "x"]]},
        {"related": [["/p/a.py", 1, "x"]] * 21},
        {"extra": 1},
    ],
    ids=str,
)
def test_invalid_fault_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(FaultFormatError):
        Fault.from_json({**FAULT.to_json(), **change})


def test_answer_round_trips() -> None:
    data = layers_line(RaisedLayers(["seccomp"])) + outcome(faults=[], files=["/p/policy.py"], document=b"\x00\n{}")
    answer = read_answer(data)
    assert (answer.faults, answer.files) == ((), ("/p/policy.py",))
    assert read_layers(data) == RaisedLayers(["seccomp"])
    assert answer.document == b"\x00\n{}"
    assert [whole_size(data[:end]) for end in (5, len(layers_line(RaisedLayers(["seccomp"]))), len(data))] == [
        None,
        None,
        len(data),
    ]


def test_truncated_answer_is_refused() -> None:
    data = layers_line(RaisedLayers()) + outcome(faults=[FAULT], files=[], document=b"{}")
    for end in range(len(data)):
        with pytest.raises(AnswerError):
            read_answer(data[:end])


@given(
    st.binary(max_size=300)
    | st.lists(st.sampled_from([b"{", b"[", b'"layers":[]', b"}", b"\n", b"1e999", b"]"])).map(b"".join)
)
def test_arbitrary_bytes_never_crash_the_reader(data: bytes) -> None:
    for read in (read_answer, whole_size):
        try:
            read(data)
        except AnswerError:
            continue


def test_deep_json_is_refused() -> None:
    with pytest.raises(AnswerError):
        read_answer(b"[" * 200_000 + b"\n\n")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ü →", "plain ü →"),
        ("\x1b[31m", "\\x1b[31m"),
        ("a\nb", "a\\nb"),
        ("a\tb", "a    b"),
        ("a\u202eb", "a\\u202eb"),
        ("a\ud800b", "a\\ud800b"),
        ("a\u00a0b", "a b"),
        ("::add-mask::x", ": :add-mask::x"),
        ("  ::error::x", "  : :error::x"),
        ("x ##[debug]", "x # #[debug]"),
        ("x ##vso[task]", "x # #vso[task]"),
        ("abcdef", "abc…"),
    ],
)
def test_plain_text(text: str, shown: str) -> None:
    assert plain_text(text, 3 if shown.endswith("…") else 100) == shown


@given(st.text())
def test_plain_text_is_printable(text: str) -> None:
    assert plain_text(text).isprintable()


def test_limits_round_trip_through_arguments() -> None:
    limits = replace(Limits(), wall_s=1.25, cpu_s=7)
    assert Limits.from_arguments(limits.to_arguments()) == limits


def test_parent_imports_no_heavy_module() -> None:
    """It runs before the model is imported, while the child starts."""
    program = (
        "import sys, apportion_policy.evaluation.parent\n"
        "print(sorted({'pydantic', 'networkx', 'yaml', 'json', 'subprocess', 'ctypes'} & set(sys.modules)))"
    )
    shown = subprocess.run(
        [sys.executable, "-P", "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}\n{program}"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert shown == "[]\n"
