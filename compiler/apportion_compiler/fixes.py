"""Machine-readable fixes as edits of the author's own text.

A `ValueEdit` identifies a value of a declaration; this module finds its text span. If the value is not a literal of its
own (a computed amount, a constant shared by several declarations, a loop that creates many queues), there is no edit,
because changing the text would change more than this value.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apportion_compiler.diagnostics.diagnostic import ValueEdit
from apportion_compiler.fixes_python import python_edit
from apportion_compiler.fixes_yaml import yaml_edit
from apportion_compiler.spans import Place, Span, line_starts, offset, place
from apportion_policy.declaration import Declaration
from apportion_policy.policy import Policy


@dataclass(frozen=True, slots=True)
class TextEdit:
    """Replaces a span of a file, named as its declarations name it."""

    file: str
    span: Span
    text: str


def text_edit(
    edit: ValueEdit,
    read: Callable[[str], str | None] = lambda file: Path(file).read_text(encoding="utf-8"),
    *,
    shared: AbstractSet[Place] = frozenset(),
) -> TextEdit | None:
    """Return the text edit that changes only this value; None if there is none.

    Args:
        edit: The value to change.
        read: Returns the text of a file, None if it may not be read.
        shared: Places of several declarations, from `shared_places`.
    """
    at = edit.at
    if not at.line or place(at) in shared:
        return None
    text = read(at.file)
    if text is None:
        return None
    found = (python_edit if at.file.endswith(".py") else yaml_edit)(text, edit)
    return None if found is None else TextEdit(at.file, *found)


def shared_places(policy: Policy) -> frozenset[Place]:
    """Return the places with more than one declaration: a loop, a helper function, a shared constant."""
    counted = Counter(place(declaration.source) for declaration in _declarations(policy))
    return frozenset(at for at, count in counted.items() if count > 1)


def compatible(edits: Iterable[TextEdit]) -> tuple[TextEdit, ...]:
    """Return the edits in order, without those that overlap an earlier one."""
    chosen: list[TextEdit] = []
    for edit in edits:
        if all(not _touches(edit, other) for other in chosen):
            chosen.append(edit)
    return tuple(chosen)


def apply_edits(text: str, edits: Iterable[TextEdit]) -> str:
    """Return the text of a file with its edits applied.

    Raises:
        ValueError: If two of them overlap.
    """
    starts = line_starts(text)
    ordered = sorted(edits, key=lambda edit: edit.span, reverse=True)
    for later, earlier in itertools.pairwise(ordered):
        if _touches(earlier, later):
            raise ValueError(f"two edits to {later.file} overlap at line {later.span.line}")
    newline = "\r\n" if "\r\n" in text else "\n"
    for edit in ordered:
        span = edit.span
        begin, end = offset(starts, span.line, span.column), offset(starts, span.end_line, span.end_column)
        text = text[:begin] + edit.text.replace("\n", newline) + text[end:]
    return text


def unified_diff(before_name: str, after_name: str, before: str, after: str, *, context: int = 1) -> str:
    """Return the changes between two texts as a unified diff, which `git apply` accepts."""
    import difflib

    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), before_name, after_name, n=context
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _touches(edit: TextEdit, other: TextEdit) -> bool:
    if edit.file != other.file:
        return False
    first, second = sorted((edit.span, other.span))
    return first == second or (first.end_line, first.end_column) > (second.line, second.column)


def _declarations(value: Any) -> Iterator[Declaration]:
    if isinstance(value, Declaration):
        yield value
        for field in value.__dict__.values():
            yield from _declarations(field)
    elif isinstance(value, tuple):
        for item in value:
            yield from _declarations(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _declarations(item)
