"""GKE's version numbers, such as 1.29.2-gke.1553000, and whether one is older than another."""

from __future__ import annotations

import re

GkeVersion = tuple[int, ...]
"""Major, minor, patch and GKE's own patch number, as far as they are given."""

_VERSION = re.compile(r"v?([0-9]{1,9})\.([0-9]{1,9})(?:\.([0-9]{1,9})(?:-gke\.([0-9]{1,12}))?)?")


def parse_gke_version(text: str) -> GkeVersion | None:
    """Return the numbers of a version such as `1.29.2-gke.1553000`, `1.29.2` or `1.29`; None for other text."""
    match = _VERSION.fullmatch(text.strip())
    return tuple(int(part) for part in match.groups() if part is not None) if match else None


def is_older(version: GkeVersion, wanted: GkeVersion) -> bool:
    """Return whether a version is older. GKE chooses omitted parts, and takes the newest."""
    return version < wanted[: len(version)]
