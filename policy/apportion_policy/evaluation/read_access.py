"""What a policy may read: its own tree, and what the interpreter and its packages need.

Landlock has no exceptions below a folder that it grants, so a folder that holds something hidden is granted entry by
entry.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from apportion_policy.evaluation.tree import is_within

# Shared libraries that extension modules load, and time zones; none of it is anybody's secret.
_SYSTEM_FOLDERS = (
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/lib",
    "/usr/share/zoneinfo",
    "/nix/store",
    "/gnu/store",
    "/System/Library",
    "/Library/Frameworks",
    "/opt/homebrew",
)
_SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/localtime")
# Bounds the time spent on a policy that lies at the top of a large repository.
_MAX_FOLDERS_SEARCHED = 2_000
_NEVER_GRANTED = ("node_modules",)


@dataclass(frozen=True, slots=True)
class ReadablePaths:
    """Paths that may be read, absolute and free of symbolic links.

    Attributes:
        folders: With everything below.
        files: Single files.
        listings: Folders whose names may be listed, with those below.
    """

    folders: tuple[str, ...]
    files: tuple[str, ...]
    listings: tuple[str, ...]

    def may_read(self, path: str) -> bool:
        """Whether an absolute path without symbolic links may be opened."""
        return path in self.files or any(is_within(path, folder) for folder in self.folders)

    def may_list(self, path: str) -> bool:
        """Whether the names in a folder may be read."""
        return self.may_read(path) or any(is_within(path, folder) for folder in self.listings)


def readable_paths(root: str) -> ReadablePaths:
    """Return what a policy whose tree is `root` may read in this interpreter."""
    folders: list[str] = []
    files: list[str] = [*_SYSTEM_FILES]
    listings: list[str] = [root]
    _grant(root, folders, files, budget=[_MAX_FOLDERS_SEARCHED], grants_unsearched=False)
    for path in _interpreter_paths():
        # Unlike pathlib before 3.12, these take a folder that may not be entered as absent.
        if os.path.isdir(path):  # noqa: PTH112
            if any(is_within(path, folder) for folder in folders):
                continue
            if _is_package_folder(path):
                folders.append(path)
            else:
                # A folder of sources from an editable install may be anything, even somebody's home.
                listings.append(path)
                _grant(path, folders, files, budget=[1], grants_unsearched=True)
        elif os.path.isfile(path):  # noqa: PTH113
            files.append(path)
    return ReadablePaths(tuple(folders), tuple(files), tuple(listings))


def _interpreter_paths() -> Iterable[str]:
    prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
    libraries = [f"{prefix}/{name}" for prefix in sorted(prefixes) for name in ("lib", "lib64")]
    seen = dict.fromkeys(os.path.realpath(path) for path in (*libraries, *sys.path, *_SYSTEM_FOLDERS) if path)
    return (path for path in seen if path != "/")


def _is_package_folder(path: str) -> bool:
    prefixes = {os.path.realpath(prefix) for prefix in (sys.prefix, sys.base_prefix)}
    libraries = [f"{prefix}/{name}" for prefix in prefixes for name in ("lib", "lib64")]
    known = (*_SYSTEM_FOLDERS, *libraries)
    return Path(path).name in ("site-packages", "dist-packages") or any(is_within(path, base) for base in known)


def _grant(folder: str, folders: list[str], files: list[str], *, budget: list[int], grants_unsearched: bool) -> bool:
    """Add a folder, or what is visible in it if something is hidden there; tell whether it was added whole.

    Args:
        folder: Where to begin.
        folders: Takes folders to grant whole.
        files: Takes single files to grant.
        budget: How many folders may still be searched.
        grants_unsearched: Grant a folder for which the budget does not suffice, with what may be hidden in it.
    """
    if budget[0] == 0:
        if grants_unsearched:
            folders.append(folder)
        return grants_unsearched
    budget[0] -= 1
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return False
    whole = not any(entry.name.startswith(".") for entry in found)
    inner_folders: list[str] = []
    inner_files: list[str] = []
    for entry in found:
        if entry.name.startswith(".") or entry.is_symlink():
            continue
        if not entry.is_dir(follow_symlinks=False):
            inner_files.append(entry.path)
        elif entry.name in _NEVER_GRANTED:
            whole = False
        else:
            inner = _grant(entry.path, inner_folders, inner_files, budget=budget, grants_unsearched=grants_unsearched)
            whole = inner and whole
    if whole:
        folders.append(folder)
    else:
        folders += inner_folders
        files += inner_files
    return whole
