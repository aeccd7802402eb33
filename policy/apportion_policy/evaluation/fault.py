"""The reason why an evaluation returned no policy: one record for the parent, the child and the document reader."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, cast, get_args

from apportion_policy.evaluation.sanitized_text import plain_text

FaultKind = Literal[
    "syntax-error",
    "policy-exception",
    "time-limit",
    "memory-limit",
    "missing-import",
    "invalid-value",
    "unreadable-input",
    "document-too-large",
    "malformed-document",
    "invalid-encoding",
    "no-policy",
    "multiple-policies",
    "sandbox-violation",
    "output-too-large",
    "evaluation-crashed",
]
FAULT_KINDS: frozenset[str] = frozenset(get_args(FaultKind))

RelatedPlace = tuple[str, int, str]

_MAX_RELATED = 20
_MAX_LINE = 100_000_000
_FIELDS = {"kind", "message", "file", "line", "column", "hint", "related"}


class FaultFormatError(ValueError):
    """JSON that is not a valid fault."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault, at the author's line if known.

    Attributes:
        kind: One of `FAULT_KINDS`; each has its own diagnostic code.
        message: One clause, no full stop.
        file: The author's file, absolute.
        line: 1-based.
        column: 0-based.
        hint: A remedy.
        related: Other places that are involved, as (file, line, message), outermost call first.
    """

    kind: FaultKind
    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    hint: str | None = None
    related: tuple[RelatedPlace, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {
            "kind": self.kind,
            "message": self.message,
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "hint": self.hint,
            "related": [list(place) for place in self.related],
        }

    @classmethod
    def from_json(cls, data: object) -> Fault:
        """Parse a fault from untrusted JSON data, with texts sanitized and truncated.

        Raises:
            FaultFormatError: If the data has a different structure.
        """
        if not isinstance(data, dict):
            raise FaultFormatError("not a fault record")
        data = cast(dict[object, object], data)
        if set(data) != _FIELDS:
            raise FaultFormatError("not a fault record")
        kind = data["kind"]
        if kind not in FAULT_KINDS:
            raise FaultFormatError("unknown kind of fault")
        related = data["related"]
        if not isinstance(related, list) or len(cast(list[object], related)) > _MAX_RELATED:
            raise FaultFormatError("`related` is not a list, or is too long")
        return cls(
            kind=cast(FaultKind, kind),
            message=plain_text(_text(data["message"])),
            file=_optional_path(data["file"]),
            line=_optional_number(data["line"], least=1),
            column=_optional_number(data["column"], least=0),
            hint=None if data["hint"] is None else plain_text(_text(data["hint"])),
            related=tuple(_place(place) for place in cast(list[object], related)),
        )

    def without_place(self) -> Fault:
        """Return the fault without file, line and column."""
        return replace(self, file=None, line=None, column=None)


def _place(data: object) -> RelatedPlace:
    parts = cast(list[object], data) if isinstance(data, list) else []
    if len(parts) != 3:
        raise FaultFormatError("a related location must have a file, a line and a message")
    file, line = _optional_path(parts[0]), _optional_number(parts[1], least=1)
    if file is None or line is None:
        raise FaultFormatError("a related location must have a file and a line")
    return file, line, plain_text(_text(parts[2]))


def _optional_path(data: object) -> str | None:
    # A path is used to open a file, so it is not changed here; code that displays it sanitizes it.
    if data is None:
        return None
    if len(_text(data)) > 4096 or "\0" in _text(data):
        raise FaultFormatError("not a path")
    return _text(data)


def _optional_number(data: object, *, least: int) -> int | None:
    if data is None:
        return None
    if type(data) is not int or not least <= data <= _MAX_LINE:
        raise FaultFormatError("not a line or column number")
    return data


def _text(data: object) -> str:
    if not isinstance(data, str):
        raise FaultFormatError("not text")
    return data
