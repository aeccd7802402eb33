"""Files of a git revision, which a pull request cannot change.

Only git plumbing is called, which runs no hooks, filters or text conversions, and does not read the working tree.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from apportion_cli.errors import PreconditionError

_LIMIT_S = 30
_MAX_BYTES = 16 * 1024**2


def repository_root(start: Path) -> Path | None:
    """Return the nearest directory at or above a path with a git repository; None if there is none."""
    return next((folder for folder in (start, *start.parents) if (folder / ".git").exists()), None)


def commit_of(root: Path, ref: str) -> str:
    """Resolve a revision of the repository to a commit.

    Raises:
        PreconditionError: If git is missing, or the revision does not exist.
    """
    if ref.startswith("-"):
        raise PreconditionError(f"`{ref}` is not a revision: it begins with a dash")
    done = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    if done.returncode:
        raise PreconditionError(
            f"the repository has no revision `{ref}`", hint="fetch it: a shallow clone does not contain the base branch"
        )
    return done.stdout.decode("ascii").strip()


def read_file(root: Path, commit: str, path: str) -> bytes | None:
    """Return a file of a commit; None if the path does not exist, or is a link or directory.

    Args:
        root: The repository.
        commit: A commit from `commit_of`.
        path: Relative to the repository, with `/`.

    Raises:
        PreconditionError: If the file is too large, or git times out.
    """
    listed = _git(root, "ls-tree", "-z", "--full-tree", "--long", commit, "--", path).stdout
    entry = listed.split(b"\0")[0]
    attributes, _, name = entry.partition(b"\t")
    fields = attributes.split()
    if os.fsdecode(name) != path or len(fields) < 4 or not fields[0].startswith(b"100"):
        return None
    if int(fields[3]) > _MAX_BYTES:
        raise PreconditionError(f"{path} at {commit[:12]} is larger than {_MAX_BYTES // 1024**2} MiB")
    return _git(root, "cat-file", "blob", fields[2].decode("ascii")).stdout


def git_output(root: Path, *arguments: str, given: bytes = b"") -> bytes:
    """Return the output of a git plumbing command.

    Args:
        root: The repository.
        arguments: The command.
        given: Standard input.

    Raises:
        PreconditionError: If git is missing, fails, or times out.
    """
    done = _git(root, *arguments, given=given)
    if done.returncode:
        failure = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise PreconditionError(f"git {arguments[0]} failed: {failure}")
    return done.stdout


def _git(root: Path, *arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_LITERAL_PATHSPECS": "1", "GIT_NO_LAZY_FETCH": "1"}
    try:
        return subprocess.run(
            ["git", "-C", str(root), "-c", "core.fsmonitor=false", *arguments],
            capture_output=True,
            env=environment,
            input=given,
            timeout=_LIMIT_S,
            check=False,
        )
    except FileNotFoundError:
        raise PreconditionError("git is not on PATH", hint="install git, or omit the revision") from None
    except subprocess.TimeoutExpired:
        raise PreconditionError(f"git did not respond within {_LIMIT_S} s") from None
