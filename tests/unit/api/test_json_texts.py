"""What is wrong with a text that begins as JSON: where it is, and what to do."""

from __future__ import annotations

import json

import pytest

from apportion_api.json_texts import json_fault

WHOLE = json.dumps(
    {"items": [{"kind": "Pod", "metadata": {"name": 'a"b'}, "spec": {"x": [1.5, -2, True, None]}}]}, indent=1
)


@pytest.mark.parametrize("end", range(1, len(WHOLE)))
def test_truncated_json_is_reported_at_its_end(end: int) -> None:
    """Every beginning of a document is a download that broke off, whatever it broke off in."""
    fault = json_fault(WHOLE[:end])
    assert fault is not None
    text = WHOLE[:end].rstrip()
    lines = text.split("\n")
    assert (fault.message, fault.line, fault.column) == (
        "the file ends before its JSON is complete",
        len(lines),
        len(lines[-1]),
    )
    assert "kubectl get … -o json" in fault.hint


@pytest.mark.parametrize(
    ("text", "line", "column", "found"),
    [
        ('{"a": 1\n "b": 2}', 2, 2, '"'),
        ("{\n 'a': 1}", 2, 2, "'"),
        ('{"a": [1, 2}', 1, 12, "}"),
        ('{"a": 1} x', 1, 10, "x"),
        ('{"a": "x\ny"}', 1, 9, "U+000A"),
    ],
)
def test_json_fault_names_the_unexpected_text(text: str, line: int, column: int, found: str) -> None:
    fault = json_fault(text)
    assert fault is not None
    assert (fault.line, fault.column) == (line, column)
    assert fault.message.startswith("invalid JSON: ")
    assert fault.message.endswith(f"found `{found}`")


@pytest.mark.parametrize("text", ["", WHOLE, f"{WHOLE}\n{WHOLE}\n", "kind: Pod\n", "Error from server (Forbidden)"])
def test_valid_json_has_no_fault(text: str) -> None:
    assert json_fault(text) is None


@pytest.mark.parametrize("text", ["[" * 100_000, f"[{'9' * 10_000}]"])
def test_json_rejected_by_python_is_reported(text: str) -> None:
    fault = json_fault(text)
    assert fault is not None
    assert fault.message.startswith("invalid JSON: ")
