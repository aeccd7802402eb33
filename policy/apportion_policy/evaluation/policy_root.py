"""Relative to which folder the files of a policy are named, in findings and in what is compiled."""

from __future__ import annotations

import os
from pathlib import Path

_MARKS = (".git", "pyproject.toml", "apportion.toml")


def project_root(entry: Path) -> Path:
    """Return the nearest folder above a policy's entry that a project begins with, else the entry's own folder."""
    return next((above for above in entry.parents if begins_project(above)), entry.parent)


def begins_project(folder: Path) -> bool:
    """Whether a folder holds what only the top of a project holds."""
    return any(os.path.lexists(os.path.join(folder, mark)) for mark in _MARKS)  # noqa: PTH118 - called for every ancestor.
