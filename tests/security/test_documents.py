"""Hostile documents: size, nesting, aliases, encoding and includes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from apportion_policy.evaluation.limits import MIB, Limits
from apportion_policy.evaluation.parent import start
from apportion_policy.evaluation.result import EvaluatedPolicy, Rejected
from apportion_policy.wire import load

pytestmark = pytest.mark.security

LIMITS = Limits(wall_s=20, cpu_s=10, memory_bytes=768 * MIB)
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 12)
)


@dataclass(frozen=True)
class Document:
    """A document, the kind and line of its fault, and a part of the message."""

    name: str
    text: bytes
    kind: str
    line: int | None
    says: str
    suffix: str = ".yaml"


DOCUMENTS = [
    Document("bomb", BOMB.encode(), "document-too-large", 7, "expands to more than"),
    Document("nested", b"a: " + b"[" * 100_000, "malformed-document", 1, "nested deeper than"),
    Document(
        "nested-json",
        b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
        "malformed-document",
        1,
        "nested deeper than",
        ".json",
    ),
    Document("contains-itself", b"a: &a [*a]\n", "malformed-document", 1, "refers to a node that contains it"),
    Document("python-tag", b"organisation: !!python/object/apply:os.system [id]\n", "invalid-value", 1, "organisation"),
    Document("invalid-utf-8", b"organisation:\n  name: \xff\n", "invalid-encoding", 2, "not valid UTF-8"),
    Document("null-byte", b"a: \0\n", "malformed-document", None, "control characters"),
    Document("broken", b"a: [1, 2\nb: }\n", "malformed-document", 2, "expected"),
    Document("empty", b"", "malformed-document", 1, "mapping"),
    Document("includes-outside", b"include: ../*.txt\norganisation: {name: acme}\n", "unreadable-input", 1, "include"),
]


@pytest.mark.parametrize("case", DOCUMENTS, ids=lambda case: case.name)
def test_each_hostile_document_is_one_fault(case: Document, tmp_path: Path) -> None:
    folder = tmp_path / "checkout"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("organisation: canary")
    entry = folder / f"policy{case.suffix}"
    entry.write_bytes(case.text)
    outcome = start(entry, LIMITS).result()
    assert isinstance(outcome, Rejected)
    (fault,) = outcome.faults
    assert (fault.kind, fault.file, fault.line) == (case.kind, str(entry), case.line), fault
    assert case.says in fault.message
    assert "canary" not in repr(outcome)


def test_200_mb_document_is_refused_unread(tmp_path: Path) -> None:
    entry = tmp_path / "policy.yaml"
    with entry.open("wb") as document:
        document.write(b"organisation: {name: acme}\n")
        document.truncate(200_000_000)
    outcome = start(entry, LIMITS).result()
    assert isinstance(outcome, Rejected)
    assert [fault.kind for fault in outcome.faults] == ["document-too-large"]


def test_document_is_passed_as_data(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text("organisation: {name: acme}\nqueues:\n  - id: vision\n")
    outcome = start(tmp_path, LIMITS).result()
    assert isinstance(outcome, EvaluatedPolicy)
    assert outcome.files == (str(tmp_path / "policy.yaml"),)
    policy = load(outcome.document)
    assert [queue.id for queue in policy.queues] == ["vision"]
    assert policy.queues[0].source.line == 3
