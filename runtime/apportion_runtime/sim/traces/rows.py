"""Rows of a table with named columns, and the parsing of their fields."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from apportion_api.counted_nouns import counted
from apportion_runtime.sim.traces.records import SkippedRow, TraceError
from apportion_runtime.snapshots.quantities import parse_integer

MOST_AT_ONCE = 100_000
"""The maximum number of pods of a job, or jobs of a row; more is assumed to be a mistake."""
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_UNFIT = re.compile(r"[^a-z0-9]+", re.ASCII)
_LONGEST_NAME = 52
"""The length reserved for the suffix of pod names, within the 63 characters of a label."""
_DECIMAL = re.compile(r"\d{1,16}(?:\.\d{0,40})?", re.ASCII)
_LARGEST = 10**15


class BadRow(ValueError):
    """An invalid row: the reason and the remedy, which is empty if the row is valid."""

    def __init__(self, reason: str, cure: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.cure = cure


@dataclass(frozen=True, slots=True)
class Row:
    """The fields of a row by column; `line` is its first one, from 1."""

    file: str
    line: int
    columns: Mapping[str, int]
    fields: Sequence[str]

    def has(self, column: str) -> bool:
        """Return whether the table has a column."""
        return column in self.columns

    def text(self, column: str) -> str:
        """Return the text of a column; empty if there is no such column."""
        found = self.columns.get(column)
        return "" if found is None else self.fields[found].strip()

    def integer(self, column: str) -> int:
        """Return a whole number of 0 or more. Raises `BadRow`."""
        text = self.text(column)
        try:
            number = parse_integer(text)
        except ValueError:
            number = -1
        if not 0 <= number <= _LARGEST:
            raise BadRow(f"{column} `{text}` is not a non-negative integer", f"correct {column} in this row")
        return number

    def number(self, column: str) -> Fraction:
        """Return an exact number of 0 or more. Raises `BadRow`."""
        text = self.text(column)
        match = _DECIMAL.fullmatch(text)
        number = Fraction(match[0]) if match else Fraction(-1)
        if not 0 <= number <= _LARGEST:
            raise BadRow(f"{column} `{text}` is not a non-negative number", f"correct {column} in this row")
        return number

    def scaled(self, column: str, units: int) -> int:
        """Return a number of 0 or more in a smaller unit, rounded up. Raises `BadRow`."""
        return math.ceil(self.number(column) * units)

    def seconds(self, column: str) -> float | None:
        """Return a number of seconds of 0 or more; None if empty. Raises `BadRow`."""
        text = self.text(column)
        if not text:
            return None
        try:
            number = float(text)
        except ValueError:
            number = -1.0
        if not (math.isfinite(number) and 0 <= number <= _LARGEST):
            raise BadRow(f"{column} `{text}` is not a non-negative number of seconds", f"correct {column} in this row")
        return number


@dataclass(frozen=True, slots=True)
class Table:
    """The columns of a table, and the remedy for a missing one; it has all of `together`, or none of them."""

    needed: Sequence[str]
    cure: str
    together: Sequence[str] = ()


def rows_of(file: str, lines: Iterator[tuple[int, Sequence[str]]], table: Table) -> Iterator[Row]:
    """Yield the rows of a table whose first row names the columns.

    Args:
        file: The file name for messages.
        lines: The first line of each row, and its fields; empty rows are skipped.
        table: The columns of the format.

    Raises:
        TraceError: If it is empty, a required column is missing, or a column occurs twice.
    """
    line, heading = next(lines, (1, ()))
    names = [name.strip() for name in heading]
    together = table.together if any(name in names for name in table.together) else ()
    missing = [name for name in (*table.needed, *together) if name not in names]
    if missing:
        raise TraceError(file, line, f"missing column {', '.join(missing)}", table.cure)
    twice = [name for number, name in enumerate(names) if name in names[:number]]
    if twice:
        raise TraceError(file, line, f"the column `{twice[0]}` occurs twice", table.cure)
    columns = {name: number for number, name in enumerate(names)}
    for line, fields in lines:
        yield Row(file, line, columns, fields)


def read_each(rows: Iterable[Row], take: Callable[[Row], None], skips: list[SkippedRow], problem: str) -> int:
    """Pass each row to `take`, or add it to the skips; return the number of rows.

    A row whose width differs from the header is skipped with the cure `misfit`; a row for which `take` raises `BadRow`
    is also skipped.
    """
    n_rows = 0
    for row in rows:
        n_rows += 1
        n_fields, n_columns = len(row.fields), len(row.columns)
        if n_fields != n_columns:
            reason = f"the row has {counted(n_fields, 'field')}, but the header has {n_columns}"
            skips.append(SkippedRow(row.file, row.line, reason, problem))
            continue
        try:
            take(row)
        except BadRow as bad:
            skips.append(SkippedRow(row.file, row.line, bad.reason, bad.cure))
    return n_rows


def check_new(name: str, known: Container[str]) -> None:
    """Raise `BadRow` if a name is known."""
    if name in known:
        raise BadRow(f"`{name}` is listed twice", "give every row a unique name")


def kubernetes_name(text: str) -> str:
    """Return a text as a valid Kubernetes name, unchanged if possible. Raises `BadRow` if nothing remains."""
    if len(text) <= _LONGEST_NAME and _NAME.fullmatch(text):
        return text
    made = _UNFIT.sub("-", text.lower())[:_LONGEST_NAME].strip("-")
    if not made:
        raise BadRow(f"`{text}` is not a valid name", "use letters and digits")
    return made
