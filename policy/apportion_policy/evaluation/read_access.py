"""Read access of a policy: its own tree, and the files of the interpreter and its packages.

Landlock has no exceptions below a granted folder, so a folder with hidden entries is granted entry by entry.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from apportion_policy.evaluation.tree import is_within

# Shared libraries of extension modules, and time zones; none of them is secret.
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
# Bounds the time for a policy at the top of a large repository.
_MAX_FOLDERS_SEARCHED = 2_000
_NEVER_GRANTED = ("node_modules",)


@dataclass(frozen=True, slots=True)
class ReadablePaths:
    """Readable paths, absolute and without symbolic links.

    Attributes:
        folders: Folders that are readable recursively.
        files: Single files.
        listings: Folders that may be listed recursively.
    """

    folders: tuple[str, ...]
    files: tuple[str, ...]
    listings: tuple[str, ...]

    def may_read(self, path: str) -> bool:
        """Return whether an absolute path without symbolic links may be opened."""
        return path in self.files or any(is_within(path, folder) for folder in self.folders)

    def may_list(self, path: str) -> bool:
        """Return whether a folder may be listed."""
        return self.may_read(path) or any(is_within(path, folder) for folder in self.listings)


def readable_paths(root: str) -> ReadablePaths:
    """Return the paths that a policy with the tree `root` may read in this interpreter."""
    folders: list[str] = []
    files: list[str] = [*_SYSTEM_FILES]
    listings: list[str] = [root]
    _grant(root, folders, files, budget=[_MAX_FOLDERS_SEARCHED], grants_unsearched=False)
    for path in _interpreter_paths():
        # Unlike pathlib before 3.12, these functions treat a folder without permission as absent.
        if os.path.isdir(path):  # noqa: PTH112
            if any(is_within(path, folder) for folder in folders):
                continue
            if _is_package_folder(path):
                folders.append(path)
            else:
                # The source folder of an editable install may be any folder, even a home directory.
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
    """Add a folder, or only its visible entries if it has hidden ones; return whether the whole folder was added.

    Args:
        folder: The folder.
        folders: Receives folders to grant completely.
        files: Receives single files to grant.
        budget: Remaining number of folders to search.
        grants_unsearched: Grant a folder that exceeds the budget, including its hidden entries.
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
