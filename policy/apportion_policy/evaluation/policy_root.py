"""The folder to which paths of a policy are relative, in findings and in the output."""

from __future__ import annotations

import os
from pathlib import Path

_MARKS = (".git", "pyproject.toml", "apportion.toml")


def project_root(entry: Path) -> Path:
    """Return the nearest ancestor of a policy's entry that is the root of a project, else the entry's own folder."""
    return next((above for above in entry.parents if begins_project(above)), entry.parent)


def begins_project(folder: Path) -> bool:
    """Return whether a folder has a marker of a project root."""
    return any(os.path.lexists(os.path.join(folder, mark)) for mark in _MARKS)  # noqa: PTH118 - called for every ancestor.
