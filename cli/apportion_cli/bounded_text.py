"""Size-limited reading of files named on the command line or in a document."""

from __future__ import annotations

import os
import stat
from io import BufferedReader
from pathlib import Path

MAX_BYTES = 1 << 30
"""Limit of trace files, which are long."""

MAX_NAMED_BYTES = 64 * 1024 * 1024


class UnreadableFileError(ValueError):
    """A file that cannot be read: one clause."""


def text_of(file: Path | str, at_most: int = MAX_BYTES) -> str:
    """Return the text of a file named on the command line, which may be a pipe.

    Raises:
        OSError: If it cannot be read.
        UnreadableFileError: If it is a device or too long, or not UTF-8.
    """
    return _decoded(content_of(file, at_most))


def content_of(file: Path | str, at_most: int) -> bytes:
    """Return the content of a file named on the command line, which may be a pipe.

    Raises:
        OSError: If it cannot be read.
        UnreadableFileError: If it is a device, or too large.
    """
    with open(file, "rb") as opened:  # noqa: PTH123
        status = os.fstat(opened.fileno())
        # A terminal is a character device too, but its input ends.
        if stat.S_ISBLK(status.st_mode) or (stat.S_ISCHR(status.st_mode) and not opened.isatty()):
            raise UnreadableFileError("it is a device")
        return _bounded(opened, status, at_most)


def content_found(file: Path | str, at_most: int) -> bytes:
    """Return the content of a file that was discovered instead of named.

    Raises:
        OSError: If it cannot be read.
        UnreadableFileError: If it is not a regular file, or is too large.
    """
    # Opening a device or a pipe must not block.
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as opened:  # noqa: PTH123
        return _bounded(opened, _regular(descriptor), at_most)


def text_named_by(folder: Path, name: str) -> str:
    """Return the text of a file that a document in a directory names.

    Raises:
        OSError: If it cannot be read.
        UnreadableFileError: If it is outside the document's repository, or outside its directory if there is no
            repository; if it is not a regular file, too long, or not UTF-8.
    """
    bounds = _bounds(folder.resolve())
    real = (folder / name).resolve()
    if not real.is_relative_to(bounds):
        raise UnreadableFileError(f"it points outside {bounds}")
    # Opening a device or a pipe must not block; the folder may change between the two calls.
    descriptor = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as opened:  # noqa: PTH123
        return _decoded(_bounded(opened, _regular(descriptor), MAX_NAMED_BYTES))


def _bounds(folder: Path) -> Path:
    # Only the marker that a pull request cannot add.
    return next((above for above in (folder, *folder.parents) if (above / ".git").exists()), folder)


def _regular(descriptor: int) -> os.stat_result:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableFileError("it is a directory" if stat.S_ISDIR(status.st_mode) else "it is not a regular file")
    return status


def _bounded(opened: BufferedReader, status: os.stat_result, at_most: int) -> bytes:
    # The size of a regular file is known before gigabytes are read.
    content = b"" if status.st_size > at_most else opened.read(at_most + 1)
    if max(status.st_size, len(content)) > at_most:
        raise UnreadableFileError(f"it exceeds the limit of {at_most} bytes")
    return content


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise UnreadableFileError("it is not UTF-8 text") from None
