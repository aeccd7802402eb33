"""The files of a policy: its entry, and the folder that it may read.

A pull request controls the contents of the folder, including symbolic links. So the caller chooses the folder, an entry
that points outside it is rejected, and hidden files (`.git` contains a token in many CI jobs, `.env` a password) are
not part of the policy.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from apportion_policy.evaluation.fault import Fault, FaultKind
from apportion_policy.evaluation.policy_root import begins_project
from apportion_policy.evaluation.sanitized_text import is_utf8, plain_text

PYTHON_SUFFIX = ".py"
DOCUMENT_SUFFIXES = (".yaml", ".yml", ".json")
ENTRY_NAMES = ("policy.py", "policy.yaml", "policy.yml", "policy.json")


class EntryError(Exception):
    """The given path is not a policy file."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


@dataclass(frozen=True, slots=True)
class PolicyTree:
    """A policy's entry and its folder.

    Attributes:
        root: Absolute path without symbolic links; in a git repository, the folder above the outermost Python package
            of the entry (at most the root of the project), otherwise the entry's own folder.
        entry: Absolute path of the file to evaluate.
        attribute: Name of the object to take from a Python file, if the caller gave one.
    """

    root: str
    entry: str
    attribute: str | None = None

    @property
    def is_python(self) -> bool:
        """Whether the entry is Python rather than a document."""
        return self.entry.endswith(PYTHON_SUFFIX)

    def contains(self, file: str) -> bool:
        """Return whether the file exists, belongs to the policy and may be shown in findings."""
        try:
            real = os.path.realpath(file, strict=True)
            regular = stat.S_ISREG(Path(real).stat().st_mode)
        except (OSError, ValueError):
            return False
        return regular and file.isprintable() and not is_hidden(real, self.root) and is_within(real, self.root)


def is_within(path: str, folder: str) -> bool:
    """Return whether an absolute path is the folder or below it, comparing text."""
    return path == folder or path.startswith(folder if folder.endswith("/") else folder + "/")


def is_hidden(path: str, folder: str) -> bool:
    """Return whether a name between the folder and the end of the path begins with a dot."""
    return is_within(path, folder) and any(part.startswith(".") for part in path[len(folder) :].split("/"))


def locate(entry: str | Path) -> PolicyTree:
    """Locate the policy: a file, `file.py:name`, or a folder with one of `ENTRY_NAMES`.

    Raises:
        EntryError: If there is nothing to evaluate.
    """
    text = os.fspath(entry)
    if not text or "\0" in text:
        raise EntryError(Fault("unreadable-input", "the policy's path is empty or contains a null byte"))
    if not is_utf8(os.path.abspath(text)):  # noqa: PTH100 - links do not matter.
        raise EntryError(Fault("unreadable-input", f"the policy's path, {plain_text(text)}, is not valid UTF-8"))
    path, attribute = text, None
    if not os.path.lexists(text) and f"{PYTHON_SUFFIX}:" in text:
        path, _, attribute = text.rpartition(":")
        if not attribute.isidentifier():
            raise _error("unreadable-input", f"`{attribute}` after the colon is not a Python name", path)
    status = _status(path)
    if stat.S_ISDIR(status.st_mode):
        path = _entry_of_folder(path)
        status = _status(path)
    if not stat.S_ISREG(status.st_mode):
        raise _error("unreadable-input", f"{path} is {_what(status.st_mode)}, not a file", path)
    if not path.endswith((PYTHON_SUFFIX, *DOCUMENT_SUFFIXES)):
        raise _error(
            "unreadable-input",
            f"{path} is neither a Python file (.py) nor a document (.yaml, .yml, .json)",
            path,
        )
    if not os.access(path, os.R_OK):
        raise _error("unreadable-input", f"no permission to read {path}", path)
    folder = Path(path).parent.resolve()
    tree = PolicyTree(str(_import_root(folder)), str(folder / Path(path).name), attribute)
    if not is_within(os.path.realpath(tree.entry), tree.root):
        raise _error(
            "unreadable-input",
            f"{path} is a symbolic link that points outside its folder",
            path,
            hint="pass the file that it points to",
        )
    return tree


def _status(path: str) -> os.stat_result:
    try:
        return Path(path).stat()
    except FileNotFoundError:
        raise _error("unreadable-input", f"{path} does not exist", path) from None
    except OSError as refused:
        raise _error("unreadable-input", f"{path} cannot be read: {refused.strerror}", path) from None


def _entry_of_folder(folder: str) -> str:
    for name in ENTRY_NAMES:
        candidate = Path(folder, name)
        if os.path.lexists(candidate):
            return str(candidate)
    raise EntryError(
        Fault(
            "no-policy",
            f"the folder {folder} contains none of {', '.join(ENTRY_NAMES)}",
            hint="pass the policy file, or create policy.py there (`apportion init`)",
        )
    )


def _import_root(folder: Path) -> Path:
    """Return the folder above the outermost package, at most the root of the project.

    A pull request can add an `__init__.py` to every folder of its repository and remove every marker except `.git`, so
    outside a repository, packages do not extend the folder.
    """
    if not any(os.path.lexists(above / ".git") for above in (folder, *folder.parents)):
        return folder
    while (folder / "__init__.py").is_file() and folder.parent != folder and not begins_project(folder):
        folder = folder.parent
    return folder


def _what(mode: int) -> str:
    names = (
        (stat.S_ISFIFO, "a named pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    )
    return next((name for test, name in names if test(mode)), "a special file")


def _error(kind: FaultKind, message: str, path: str, *, hint: str | None = None) -> EntryError:
    return EntryError(Fault(kind, plain_text(message), str(Path(path).absolute()), hint=hint))
