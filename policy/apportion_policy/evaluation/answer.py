"""The child's response on its pipe: writer and parser.

Two JSON lines and the policy's bytes. The first line is written before the policy runs, so a policy cannot change it;
everything after it is untrusted, and is parsed into strings and numbers with limits on size and structure.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from apportion_policy.evaluation.confinement_layers import RaisedLayers
from apportion_policy.evaluation.fault import Fault, FaultFormatError

MAX_HEADER_BYTES = 16 * 1024 * 1024
_MAX_FILES = 20_000
_MAX_FAULTS = 1_000
_MAX_LAYERS = 100
# For 1,000 faults with 20 related places each, and 20,000 files, with separators.
_MAX_HEADER_VALUES = 500_000


class AnswerError(ValueError):
    """Bytes that are not a valid response."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The child's response after its first line: either faults or a policy."""

    faults: tuple[Fault, ...]
    files: tuple[str, ...]
    document: bytes


def layers_line(raised: RaisedLayers) -> bytes:
    """Return the first line of a response."""
    return _line({"layers": raised.active, "absent": raised.absent, "failed": raised.failed})


def outcome(*, faults: Sequence[Fault], files: Sequence[str], document: bytes) -> bytes:
    """Return the rest of a response."""
    head = {"faults": [fault.to_json() for fault in faults], "files": list(files), "bytes": len(document)}
    return _line(head) + document


def whole_size(received: bytes | bytearray) -> int | None:
    """Return the total size of a response in bytes, from its beginning; `None` while the header is incomplete.

    Raises:
        AnswerError: If it is not the beginning of a response.
    """
    first_end = received.find(b"\n")
    second_end = received.find(b"\n", first_end + 1) if first_end >= 0 else -1
    if second_end < 0:
        return None
    size = _object(bytes(received[first_end + 1 : second_end])).get("bytes")
    if type(size) is not int or size < 0:
        raise AnswerError("the response does not specify its length")
    return second_end + 1 + size


def read_layers(received: bytes) -> RaisedLayers | None:
    """Return the layers of a response that may end after its first line; `None` before that."""
    end = received.find(b"\n")
    if end < 0:
        return None
    head = _object(received[:end])
    failed = head.get("failed")
    return RaisedLayers(
        list(_names(head.get("layers"), at_most=_MAX_LAYERS)),
        [_reason(each) for each in _items(head.get("absent"), at_most=_MAX_LAYERS)],
        None if failed is None else _reason(failed),
    )


def read_answer(received: bytes) -> Answer:
    """Parse a response.

    Raises:
        AnswerError: If the bytes are not a complete response.
    """
    first_end = received.find(b"\n")
    second_end = received.find(b"\n", first_end + 1)
    if first_end < 0 or second_end < 0:
        raise AnswerError("the response is incomplete")
    head = _object(received[first_end + 1 : second_end])
    document = received[second_end + 1 :]
    if head.get("bytes") != len(document):
        raise AnswerError("the response length does not match its header")
    faults = _items(head.get("faults"), at_most=_MAX_FAULTS)
    try:
        read = tuple(Fault.from_json(fault) for fault in faults)
    except FaultFormatError as malformed:
        raise AnswerError(str(malformed)) from malformed
    return Answer(read, _names(head.get("files"), at_most=_MAX_FILES), document)


def _line(data: object) -> bytes:
    return json.dumps(data, separators=(",", ":")).encode("ascii") + b"\n"


def _object(line: bytes) -> dict[str, object]:
    if len(line) > MAX_HEADER_BYTES:
        raise AnswerError("the response header is too long")
    if sum(line.count(sign) for sign in (b",", b"{", b"[")) > _MAX_HEADER_VALUES:
        raise AnswerError("the response header contains too many values")
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as malformed:
        raise AnswerError("the response header is not JSON") from malformed
    if not isinstance(data, dict):
        raise AnswerError("the response header is not an object")
    return cast(dict[str, object], data)


def _reason(data: object) -> tuple[str, str]:
    match _names(data, at_most=2):
        case (name, reason):
            return name, reason
        case _:
            raise AnswerError("a layer and its reason must both be strings")


def _names(data: object, *, at_most: int) -> tuple[str, ...]:
    items = _items(data, at_most=at_most)
    if not all(isinstance(item, str) for item in items):
        raise AnswerError("a list of names contains a value that is not a name")
    return cast(tuple[str, ...], items)


def _items(data: object, *, at_most: int) -> tuple[object, ...]:
    items = tuple(cast(list[object], data)) if isinstance(data, list) else None
    if items is None or len(items) > at_most:
        raise AnswerError("a list is missing or too long")
    return items
