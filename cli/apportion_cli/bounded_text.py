"""Texts of files that the command line or a document names, bounded before anything is read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

MAX_BYTES = 1 << 30
"""Traces of clusters are long."""

MAX_NAMED_BYTES = 64 * 1024 * 1024


class UnreadableFileError(ValueError):
    """A file that is not read: one clause."""


def text_of(file: Path | str, at_most: int = MAX_BYTES) -> str:
    """Return the text of a file that the command line names, which may be a pipe.

    Raises:
        OSError: If it cannot be read.
        UnreadableFileError: If it is too long, or no text in UTF-8.
    """
    with open(file, "rb") as opened:  # noqa: PTH123
        return _decoded(opened.read(at_most + 1), at_most)


def text_named_by(folder: Path, name: str) -> str:
    """Return the text of a file that a document in a folder names.

    Raises:
        OSError: If it cannot be read.
        UnreadableFileError: If it leads out of the document's repository, or out of its folder where that is in
            none; if it is no regular file, too long, or no text in UTF-8.
    """
    bounds = _bounds(folder.resolve())
    real = (folder / name).resolve()
    if not real.is_relative_to(bounds):
        raise UnreadableFileError(f"it leads out of {bounds}")
    # A device or a pipe must not be waited for; between the two calls the folder may change.
    descriptor = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as opened:  # noqa: PTH123
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise UnreadableFileError("it is no regular file")
        return _decoded(opened.read(MAX_NAMED_BYTES + 1), MAX_NAMED_BYTES)


def _bounds(folder: Path) -> Path:
    # Only the marker that no pull request can add.
    return next((above for above in (folder, *folder.parents) if (above / ".git").exists()), folder)


def _decoded(content: bytes, at_most: int) -> str:
    if len(content) > at_most:
        raise UnreadableFileError(f"it has more than the {at_most} bytes that are read")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise UnreadableFileError("it is not text in UTF-8") from None
