"""A git revision as a temporary directory, read by git plumbing only.

No hooks, filters, text conversions or attributes of the repository apply, and the working tree is not read.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from apportion_cli.base_revision import commit_of, git_output, repository_root
from apportion_cli.errors import PreconditionError

_MAX_FILES = 100_000
_MAX_BYTES = 256 * 1024**2
_REGULAR, _LINK = ("100644", "100755"), "120000"


@contextmanager
def revision_tree(start: Path, ref: str) -> Iterator[Path]:
    """Write the files of a revision to a directory, which is removed at the end, and yield the directory.

    Submodules are omitted, as in a checkout without them: a policy that needs one reports a missing file.

    Args:
        start: A folder in the repository.
        ref: A branch, tag or commit.

    Raises:
        PreconditionError: If there is no repository, or no such revision, or it is too large.
    """
    root = repository_root(start.absolute())
    if root is None:
        raise PreconditionError(
            f"`{ref}` is neither a path nor a revision: {start.absolute()} is not in a git repository",
            hint="pass a directory, or run the command in the repository",
        )
    commit = commit_of(root, ref)
    with tempfile.TemporaryDirectory(prefix="apportion-") as made:
        folder = Path(made).resolve()
        # Marks the root of the project, as in the repository.
        (folder / ".git").mkdir()
        _write(root, commit, folder)
        yield folder


def _write(root: Path, commit: str, folder: Path) -> None:
    listed = git_output(root, "ls-tree", "-r", "-z", "--full-tree", "--long", commit).split(b"\0")
    entries = [entry.partition(b"\t") for entry in listed if entry]
    files = [(fields.split(), os.fsdecode(name)) for fields, _, name in entries]
    files = [(fields, name) for fields, name in files if fields[0].decode("ascii") in (*_REGULAR, _LINK)]
    total = sum(int(fields[3]) for fields, _ in files)
    if len(files) > _MAX_FILES or total > _MAX_BYTES:
        raise PreconditionError(
            f"revision {commit[:12]} has {len(files):,} files, {total // 1024**2} MiB in total; the limits are "
            f"{_MAX_FILES:,} files and {_MAX_BYTES // 1024**2} MiB",
            hint="check it out manually and pass its directory",
        )
    # Links are created last, so that nothing is written through one.
    files.sort(key=lambda file: file[0][0] == _LINK.encode())
    contents = _contents(root, commit, [(fields[2], int(fields[3])) for fields, _ in files])
    try:
        for (fields, name), content in zip(files, contents, strict=True):
            path = folder / _inside(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            if fields[0].decode("ascii") == _LINK:
                path.symlink_to(os.fsdecode(content))
            else:
                path.write_bytes(content)
    except OSError as refused:
        raise PreconditionError(
            f"revision {commit[:12]} cannot be written to {folder}: {refused.strerror}"
        ) from refused


def _contents(root: Path, commit: str, blobs: Sequence[tuple[bytes, int]]) -> Iterator[bytes]:
    answer = git_output(root, "cat-file", "--batch", given=b"".join(name + b"\n" for name, _ in blobs))
    place = 0
    for name, size in blobs:
        header = b"%s blob %d\n" % (name, size)
        if not answer.startswith(header, place):
            raise PreconditionError(
                f"a file in revision {commit[:12]} is missing from the repository",
                hint="fetch it: a partial clone omits file contents",
            )
        place += len(header)
        yield answer[place : place + size]
        place += size + 1


def _inside(name: str) -> str:
    """Return the name of a file of a revision. Raises `PreconditionError` if it points outside the directory."""
    parts = PurePosixPath(name).parts
    if name.startswith("/") or ".." in parts or ".git" in parts:
        raise PreconditionError(f"the revision has a file named `{name}`, which git itself refuses to check out")
    return name
