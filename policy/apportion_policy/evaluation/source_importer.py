"""Import of modules of the policy's tree: only from source, which must be valid text.

A `__pycache__` in a pull request may contain different code than the source, so bytecode is neither read nor written
there. Python's message for undecodable source differs between versions, and is replaced.
"""

from __future__ import annotations

import io
import os
import tokenize
from importlib.machinery import SourceFileLoader
from typing import Any

from apportion_policy.evaluation.fault import Fault
from apportion_policy.evaluation.tree import is_within


class RefusedSourceError(Exception):
    """A source file that is not loaded; has the fault."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def import_from_source_only(root: str, *, source_bytes: int) -> None:
    """Irrevocably change how this process imports files below `root`.

    Args:
        root: The policy's tree.
        source_bytes: Maximum size of a source file.
    """
    path_stats = SourceFileLoader.path_stats
    source_to_code = SourceFileLoader.source_to_code

    def policy_path_stats(self: SourceFileLoader, path: str) -> Any:
        if _is_own(path, root):
            # Without the source's time and size, importlib cannot validate bytecode, and skips it.
            raise OSError("bytecode is not supported")
        return path_stats(self, path)

    def policy_source_to_code(self: SourceFileLoader, data: Any, path: Any, **options: Any) -> Any:
        if isinstance(path, str) and isinstance(data, bytes) and _is_own(path, root):
            check_source(data, path, source_bytes=source_bytes)
        return source_to_code(self, data, path, **options)

    # A custom loader would be bypassed: code that loads a file by its location uses the standard one.
    methods = {"path_stats": policy_path_stats, "source_to_code": policy_source_to_code}
    for name, method in methods.items():
        setattr(SourceFileLoader, name, method)


def check_source(data: bytes, file: str, *, source_bytes: int) -> None:
    """Reject source that is too long or not text.

    Raises:
        RefusedSourceError: With the line of the first invalid byte.
    """
    if len(data) > source_bytes:
        message = f"the file is {len(data)} bytes long; the limit is {source_bytes}"
        raise RefusedSourceError(Fault("document-too-large", message, file, hint="split it into modules"))
    if b"\0" in data:
        raise RefusedSourceError(
            Fault("invalid-encoding", "the file contains a null byte", file, _line_of(data, data.index(b"\0")))
        )
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError:
        encoding = "utf-8"
    try:
        data.decode(encoding)
    except UnicodeDecodeError as undecodable:
        byte = data[undecodable.start]
        message = f"byte 0x{byte:02x} at position {undecodable.start} is not valid {encoding.upper()}"
        line = _line_of(data, undecodable.start)
        raise RefusedSourceError(
            Fault("invalid-encoding", message, file, line, hint="save the file as UTF-8")
        ) from None
    except LookupError:
        return  # The compiler reports an unknown encoding.


def _line_of(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1


def _is_own(path: str, root: str) -> bool:
    return is_within(os.path.realpath(path), root)
