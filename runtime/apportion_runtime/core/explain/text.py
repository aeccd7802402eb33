"""Explanations as text of a given width.

Entry point: `wrapped(lines)`, for the `lines` of the records of this package.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator

_START = re.compile(r"( *)(\d+\. )?")


def wrapped(lines: Iterable[str], width: int = 80) -> Iterator[str]:
    """Yield lines wrapped to a width; continuation lines are indented by two more spaces."""
    for line in lines:
        start = _START.match(line)
        assert start is not None
        hanging = " " * (len(start[0]) if start[2] else len(start[1]) + 2)
        yield from textwrap.wrap(line, width, subsequent_indent=hanging, break_long_words=False) or [""]
