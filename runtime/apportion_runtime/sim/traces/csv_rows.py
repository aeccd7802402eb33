"""Rows of a CSV file whose first row names the columns."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from io import StringIO

from apportion_runtime.sim.traces.records import Source, TraceError
from apportion_runtime.sim.traces.rows import Row, Table, rows_of

MISFIT = "give every row one field per column"


def csv_rows(source: Source, table: Table) -> Iterator[Row]:
    """Yield the rows of a file; empty rows are skipped.

    Raises:
        TraceError: If it has a different format.
    """
    return rows_of(source.file, _lines(source), table)


def _lines(source: Source) -> Iterator[tuple[int, Sequence[str]]]:
    reader = csv.reader(StringIO(source.text.removeprefix("\ufeff"), newline=None))
    line = 1
    try:
        for fields in reader:
            if fields:
                yield line, fields
            line = reader.line_num + 1
    except csv.Error as wrong:
        raise TraceError(source.file, line, f"invalid CSV ({wrong})", "check for a stray quotation mark") from None
