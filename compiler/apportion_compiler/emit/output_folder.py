"""A folder that is read and written without following symbolic links.

A rendered tree is part of a pull request, so any of its entries may be a link to a file outside. Every path is opened
from an anchor, one component at a time, with O_NOFOLLOW. The anchor is the repository, or the current folder if there
is none; a path outside it comes from the caller, whose links are followed except for the last component.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from apportion_compiler.errors import ApportionCompilerError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_BYTES = 256 * 1024**2
_MAX_DEPTH = 32
_MAX_ENTRIES = 100_000


class LinkedPathError(ApportionCompilerError):
    """A path that is a symbolic link, neither a file nor a folder, or too large."""


@dataclass(frozen=True, slots=True)
class StagedFile:
    """New content of a file, staged next to its target under a random name."""

    folder: int
    temporary: str
    name: str


@dataclass(slots=True)
class OutputFolder:
    """An open folder. Names are relative to it, with `/`."""

    path: Path
    _fd: int
    _staged: list[StagedFile] = field(default_factory=list)
    _made: list[str] = field(default_factory=list)
    # The folders with staged files, by name: a tree has more files than a process may open.
    _folders: dict[str, int] = field(default_factory=dict)

    def files(self, below: str = "") -> Iterator[str]:
        """Yield the name of every entry that is not a directory, in order; links are yielded and not followed.

        Raises:
            LinkedPathError: If there are too many entries.
        """
        left = [_MAX_ENTRIES]
        try:
            descriptor = _open_below(self._fd, below, self.path)
        except (FileNotFoundError, NotADirectoryError):
            return
        try:
            yield from _entries(descriptor, below, 0, left)
        finally:
            os.close(descriptor)

    def read(self, name: str, at_most: int | None = None) -> bytes | None:
        """Return the content of a regular file; None if it does not exist.

        Args:
            name: Name of the file.
            at_most: Maximum number of bytes to return from its beginning.

        Raises:
            LinkedPathError: If the entry or a folder above it is a link or not a regular file, or it is too large.
            OSError: If it cannot be read.
        """
        try:
            with _parent(self._fd, name, self.path) as (parent, leaf):
                return _read(parent, leaf, self.path / name, at_most)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def stage(self, name: str, content: bytes) -> None:
        """Write the content of a file next to its target. `commit` moves all of them there, `discard` removes them.

        Raises:
            LinkedPathError: If a folder above it is a link, or the target is a folder.
            OSError: If it cannot be written.
        """
        above, _, leaf = name.rpartition("/")
        parent = self._folders.get(above)
        if parent is None or not _is_file_name(leaf):
            with _parent(self._fd, name, self.path, made=self._made) as (opened, leaf):
                parent = self._folders[above] = os.dup(opened)
        found = _kind(parent, leaf)
        if found is not None and stat.S_ISDIR(found):
            raise LinkedPathError(f"{self.path / name} is a folder, not a file")
        temporary = f".apportion-{os.urandom(8).hex()}.tmp"
        self._staged.append(StagedFile(parent, temporary, leaf))
        descriptor = os.open(temporary, _NEW, 0o666, dir_fd=parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)

    def commit(self) -> None:
        """Move every staged file to its target. A link there is replaced, not followed."""
        for staged in self._staged:
            os.replace(staged.temporary, staged.name, src_dir_fd=staged.folder, dst_dir_fd=staged.folder)
        self._staged.clear()
        self._made.clear()
        self._close_folders()

    def discard(self) -> None:
        """Remove every staged file, and the folders that were created for them."""
        for staged in self._staged:
            with suppress(FileNotFoundError):
                os.unlink(staged.temporary, dir_fd=staged.folder)
        self._staged.clear()
        self._close_folders()
        for name in reversed(self._made):
            self._remove_if_empty(name)
        self._made.clear()

    def remove(self, name: str) -> None:
        """Delete a file, and the parent folders that become empty."""
        with _parent(self._fd, name, self.path) as (parent, leaf):
            os.unlink(leaf, dir_fd=parent)
        above = name.rpartition("/")[0]
        while above and self._remove_if_empty(above):
            above = above.rpartition("/")[0]

    def _close_folders(self) -> None:
        for descriptor in self._folders.values():
            os.close(descriptor)
        self._folders.clear()

    def _remove_if_empty(self, name: str) -> bool:
        with _parent(self._fd, name, self.path) as (parent, leaf):
            try:
                os.rmdir(leaf, dir_fd=parent)
            except OSError as refused:
                if refused.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT):
                    raise
                return False
        return True


@contextmanager
def open_output(path: Path, *, writing: bool) -> Generator[OutputFolder | None]:
    """Open a folder and wait for its lock, which is exclusive for writers and shared for readers.

    Yields:
        The folder; None if it does not exist and is only read.

    Raises:
        LinkedPathError: If the folder, or one above it inside the anchor, is a link.
        OSError: If it cannot be opened.
    """
    try:
        descriptor = _open_folder(path, create=writing)
    except (FileNotFoundError, NotADirectoryError):
        if writing:
            raise
        yield None
        return
    try:
        # The lock ends with the process, so that a killed process leaves no stale lock.
        fcntl.flock(descriptor, fcntl.LOCK_EX if writing else fcntl.LOCK_SH)
        folder = OutputFolder(path, descriptor)
        try:
            yield folder
        finally:
            folder.discard()
    finally:
        os.close(descriptor)


def write_file(path: Path, content: bytes) -> None:
    """Write a file atomically, without following a link to it.

    A target outside the anchor that is not a regular file, such as /dev/stdout, is written to directly.

    Raises:
        LinkedPathError: If the file, or a folder above it inside the anchor, is a link.
        OSError: If it cannot be written.
    """
    if not _is_inside(path) and path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    descriptor = _open_folder(path.parent, create=False)
    folder = OutputFolder(path.parent, descriptor)
    try:
        found = _kind(descriptor, path.name)
        if found is not None and not stat.S_ISREG(found):
            raise LinkedPathError(f"{path} is {_described(found)}; refusing to write to it")
        folder.stage(path.name, content)
        folder.commit()
    finally:
        folder.discard()
        os.close(descriptor)


def anchor() -> Path:
    """Return the folder inside which no link is followed: the repository of the current folder, or that folder."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


def _is_inside(path: Path) -> bool:
    return Path(os.path.abspath(path)).is_relative_to(anchor())  # noqa: PTH100 - links must stay as they are.


def _open_folder(path: Path, *, create: bool) -> int:
    lexical = Path(os.path.abspath(path))  # noqa: PTH100 - links must stay as they are.
    start = anchor() if lexical.is_relative_to(anchor()) else lexical.parent
    if create and start == lexical.parent:
        start.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(start, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for part in lexical.relative_to(start).parts:
        below = _step(descriptor, part, path, create=create)
        os.close(descriptor)
        descriptor = below
    return descriptor


def _step(parent: int, part: str, path: Path, *, create: bool, made: list[str] | None = None, name: str = "") -> int:
    if part in ("", ".", "..") or "/" in part or "\0" in part:
        raise LinkedPathError(f"{path}: `{part}` is not a valid file or folder name")
    try:
        return os.open(part, _FOLDER, dir_fd=parent)
    except FileNotFoundError:
        if not create:
            raise
        os.mkdir(part, dir_fd=parent)
        if made is not None:
            made.append(name)
        return os.open(part, _FOLDER, dir_fd=parent)
    except OSError as refused:
        if refused.errno not in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK):
            raise
        found = _kind(parent, part)
        if found is not None and stat.S_ISLNK(found):
            raise LinkedPathError(f"{path}: `{part}` is a symbolic link; symbolic links are not followed") from None
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from None


def _is_file_name(leaf: str) -> bool:
    return leaf not in ("", ".", "..") and "\0" not in leaf


@contextmanager
def _parent(top: int, name: str, path: Path, made: list[str] | None = None) -> Generator[tuple[int, str]]:
    *folders, leaf = name.split("/")
    if not _is_file_name(leaf):
        raise LinkedPathError(f"{path / name}: `{leaf}` is not a valid file name")
    descriptor = os.dup(top)
    try:
        for n, part in enumerate(folders, 1):
            walked = "/".join(folders[:n])
            below = _step(descriptor, part, path / walked, create=made is not None, made=made, name=walked)
            os.close(descriptor)
            descriptor = below
        yield descriptor, leaf
    finally:
        os.close(descriptor)


def _read(parent: int, leaf: str, path: Path, at_most: int | None) -> bytes:
    try:
        descriptor = os.open(leaf, _FILE, dir_fd=parent)
    except OSError as refused:
        if refused.errno in (errno.ELOOP, errno.EMLINK):
            raise LinkedPathError(f"{path} is a symbolic link; symbolic links are not followed") from None
        raise
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise LinkedPathError(f"{path} is {_described(status.st_mode)}; refusing to read it")
    with os.fdopen(descriptor, "rb") as file:
        if at_most is not None:
            return file.read(at_most)
        if status.st_size > _MAX_BYTES:
            raise LinkedPathError(f"{path} is {status.st_size} bytes long; the limit is {_MAX_BYTES}")
        return file.read(_MAX_BYTES)


def _open_below(top: int, name: str, path: Path) -> int:
    descriptor = os.dup(top)
    for part in name.split("/") if name else ():
        try:
            below = _step(descriptor, part, path / name, create=False)
        finally:
            os.close(descriptor)
        descriptor = below
    return descriptor


def _entries(folder: int, below: str, depth: int, left: list[int]) -> Iterator[str]:
    with os.scandir(folder) as found:
        entries = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in islice(found, left[0] + 1))
    left[0] -= len(entries)
    if left[0] < 0:
        raise LinkedPathError(f"{below or 'the output folder'} contains more than {_MAX_ENTRIES} entries")
    for name, is_folder in entries:
        whole = f"{below}/{name}" if below else name
        if not is_folder or depth == _MAX_DEPTH:
            yield whole
            continue
        descriptor = os.open(name, _FOLDER, dir_fd=folder)
        try:
            yield from _entries(descriptor, whole, depth + 1, left)
        finally:
            os.close(descriptor)


def _kind(parent: int, name: str) -> int | None:
    try:
        return os.lstat(name, dir_fd=parent).st_mode
    except FileNotFoundError:
        return None


def _described(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    return "a folder" if stat.S_ISDIR(mode) else "not a regular file"
