"""Policies in YAML and JSON: the same model, with locations in the document for every fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from apportion_policy import Organisation, Policy, Queue, Resources
from apportion_policy.documents import load_document, load_documents
from apportion_policy.errors import DocumentFault

_MINIMAL = "organisation: {name: acme}\n"


def _faults(tmp_path: Path, text: str | bytes) -> list[tuple[str, int | None, str]]:
    path = tmp_path / "policy.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DocumentFault) as caught:
        load_document(path)
    return [(fault.kind, fault.line, fault.message) for fault in caught.value.faults]


def test_yaml_and_python_policies_are_equal(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(
        _MINIMAL
        + "queues:\n  - id: vision\n    guaranteed: {cpu: 500m, memory: 2Ti, gpu: {h100: 8}}\n    over_quota_weight: 0.5\n"
    )
    vision = Queue(
        id="vision", guaranteed=Resources(cpu="500m", memory="2Ti", gpu={"h100": 8}), over_quota_weight="0.5"
    )
    assert load_document(path) == Policy(organisation=Organisation(name="acme"), queues=(vision,))


def test_declarations_of_a_document_have_lines(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(_MINIMAL + "queues:\n  - id: vision\n    guaranteed:\n      gpu: 8\n")
    queue = load_document(path).queues[0]
    assert (queue.source.file, queue.source.line) == (str(path), 3)
    assert queue.guaranteed is not None
    assert queue.guaranteed.source.line == 5


def test_json_document_is_read(tmp_path: Path) -> None:
    path = tmp_path / "policy.json"
    path.write_text('{"organisation": {"name": "acme"},\n "queues": [{"id": "vision"}]}')
    assert load_document(path).queues[0].source.line == 2


def test_invalid_values_are_reported_at_their_lines(tmp_path: Path) -> None:
    faults = _faults(
        tmp_path,
        _MINIMAL + "queues:\n  - id: a\n    guaranteed: {cpu: -1}\n  - id: b\n    colour: red\n  - priority: 1\n",
    )
    assert [(kind, line) for kind, line, _ in faults] == [
        ("invalid-value", 4),
        ("invalid-value", 6),
        ("invalid-value", 7),
    ]
    assert "queues.1: unknown field `colour`" in faults[1][2]


@pytest.mark.parametrize(
    ("text", "kind", "line"),
    [
        ("organisation: {name: acme\n", "malformed-document", 2),
        ("- a\n", "malformed-document", 1),
        (_MINIMAL + "queues: []\nqueues: []\n", "malformed-document", 3),
        (b"organisation: {name: a}\n# \xff\n", "invalid-encoding", 2),
        ("a: &a [*a]\n", "malformed-document", 1),
        ("apiVersion: apportion.dev/v9\n" + _MINIMAL, "malformed-document", 1),
        ("[" * 500, "malformed-document", None),
        ("? [a]\n: b\n", "malformed-document", 1),
        (_MINIMAL + "include: [missing/*.yaml]\n", "unreadable-input", 2),
        (_MINIMAL + "include: [/etc/*.yaml]\n", "unreadable-input", 2),
        (_MINIMAL + "include: ../*.yaml\n", "unreadable-input", 2),
    ],
)
def test_invalid_document_is_one_fault(tmp_path: Path, text: str | bytes, kind: str, line: int | None) -> None:
    [(found, at, _)] = _faults(tmp_path, text)
    assert found == kind
    assert line is None or at == line


def test_yaml_bomb_is_refused(tmp_path: Path) -> None:
    levels = "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 10)}]\n" for i in range(20))
    [(kind, _, message)] = _faults(tmp_path, "a: &a [x]\n" + levels)
    assert kind == "document-too-large"
    assert "expands to more than" in message


@pytest.mark.parametrize("text", ["on", "010", "12:30", "2026-11-21", "1_000"])
def test_yaml_1_1_booleans_stay_text(tmp_path: Path, text: str) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(f"organisation: {{name: acme}}\nqueues:\n  - {{id: a, title: {text}}}\n")
    assert load_document(path).queues[0].title == text


def test_teams_can_have_their_own_files(tmp_path: Path) -> None:
    (tmp_path / "teams").mkdir()
    (tmp_path / "teams" / "b.yaml").write_text("queues: [{id: b}]\n")
    (tmp_path / "teams" / "a.yaml").write_text("queues: [{id: a, priority: -1}]\n")
    path = tmp_path / "policy.yaml"
    path.write_text(_MINIMAL + 'include: ["teams/*.yaml"]\nqueues: [{id: root}]\n')
    with pytest.raises(DocumentFault) as caught:
        load_document(path)
    [fault] = caught.value.faults
    assert fault.file == str(tmp_path / "teams" / "a.yaml")
    (tmp_path / "teams" / "a.yaml").write_text("queues: [{id: a}]\n")
    policy, files = load_documents(path)
    assert [queue.id for queue in policy.queues] == ["root", "a", "b"]
    assert len(files) == 3
