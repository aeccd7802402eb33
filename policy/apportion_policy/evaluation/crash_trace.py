"""The position of a process that could not respond, from the interpreter's emergency traceback.

`faulthandler` writes it from a signal handler in C, so it includes the line of a loop in C code and of a crash.
"""

from __future__ import annotations

import re

from apportion_policy.evaluation.tree import PolicyTree

MAX_TRACE_BYTES = 64 * 1024
_FRAME = re.compile(rb'^  File "([^"\n]{1,4096})", line (\d{1,8}) in ', re.MULTILINE)
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))")


def innermost_frame(trace: bytes, tree: PolicyTree) -> tuple[str, int] | None:
    """Return the innermost file of the policy and its line (1-based) in an emergency traceback.

    Source: CPython `Python/traceback.c`, `_Py_DumpTraceback`: innermost frame first, non-ASCII characters escaped.
    """
    for match in _FRAME.finditer(trace[:MAX_TRACE_BYTES]):
        file = _ESCAPE.sub(_character, match[1].decode("ascii", "replace"))
        if tree.contains(file):
            return file, int(match[2])
    return None


def _character(match: re.Match[str]) -> str:
    code = int(match[1] or match[2] or match[3], 16)
    return chr(code) if code < 0x110000 else "?"
