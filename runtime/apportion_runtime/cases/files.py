"""Parses a file of cases: a single case, a dump of several, or one case per line."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from apportion_runtime.cases.case_checks import CaseError, checked


class Malformed(Exception):
    """A malformed file: one clause without a full stop, and the line, from 1, if known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.message, self.line = message, line


def read_cases(text: str) -> list[dict[str, Any]]:
    """Return the cases of a text, in order.

    Raises:
        Malformed: If it is not JSON, holds no case, or one of them is not in the format.
    """
    cases = [case for line, document in _documents(text) for case in _cases(document, line)]
    if not cases:
        raise Malformed("the file contains no cases")
    return cases


def _documents(text: str) -> list[tuple[int | None, object]]:
    try:
        return [(None, _parsed(text))]
    except json.JSONDecodeError as wrong:
        whole = Malformed(f"invalid JSON: {_said(wrong)}", wrong.lineno)
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        raise Malformed("the file is empty")
    found: list[tuple[int | None, object]] = []
    for number, line in lines:
        try:
            found.append((number, _parsed(line)))
        except json.JSONDecodeError as wrong:
            if not found:
                raise whole from None
            raise Malformed(f"invalid JSON: {_said(wrong)}", number) from None
        except Malformed as wrong:
            raise Malformed(wrong.message, number) from None
    return found


def _said(wrong: json.JSONDecodeError) -> str:
    return wrong.msg[:1].lower() + wrong.msg[1:]


def _parsed(text: str) -> object:
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise Malformed("too many levels of nesting") from None
    except json.JSONDecodeError:
        raise
    except ValueError:
        # A number with more digits than the interpreter converts.
        raise Malformed("a number has too many digits") from None


def _refuse(constant: str) -> NoReturn:
    raise Malformed(f"{constant} is not a valid JSON number")


def _cases(document: object, line: int | None) -> list[dict[str, Any]]:
    if isinstance(document, dict) and "cases" in document:
        document = document["cases"]
        if not isinstance(document, list):
            raise Malformed("`cases` must be a list", line)
    given = document if isinstance(document, list) else [document]
    found = []
    for number, case in enumerate(given):
        try:
            found.append(checked(case))
        except CaseError as wrong:
            where = f"case {number}: " if isinstance(document, list) else ""
            raise Malformed(f"{where}{wrong}", line) from None
        except RecursionError:
            raise Malformed("too many levels of nesting", line) from None
    return found
