"""Versions of engines: the range that rules, capability tables and emitted objects support.

The bounds are inclusive minor versions; patch numbers and suffixes (`0.17.0`, `v0.17.0-9`) are ignored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MinorVersion = tuple[int, int]

_VERSION = re.compile(r"v?([0-9]{1,9})\.([0-9]{1,9})(?:\.[0-9]{1,9})?(?:[-+][0-9A-Za-z.+-]+)?")


@dataclass(frozen=True, slots=True)
class VersionRange:
    """A product, its oldest and newest supported minor versions, and the URL of its releases.

    `newest` is None if the product has no public release notes for later versions.
    """

    product: str
    oldest: MinorVersion
    newest: MinorVersion | None
    source: str


# ValidatingAdmissionPolicy v1, which is emitted for every cluster, requires 1.30.
KUBERNETES = VersionRange("Kubernetes", (1, 30), (1, 36), "https://kubernetes.io/releases/")


def parse_version(text: str) -> MinorVersion | None:
    """Return the major and minor number of a version such as `0.17.0` or `v0.17.0-9`; None for other text."""
    match = _VERSION.fullmatch(text.strip())
    return (int(match[1]), int(match[2])) if match else None


def minor_text(version: MinorVersion) -> str:
    """Return a minor version as text."""
    return f"{version[0]}.{version[1]}"


def minors_text(versions: VersionRange) -> str:
    """Return the minor versions of a range: `0.14 to 0.20`, `1.21 and later`."""
    newest = "and later" if versions.newest is None else f"to {minor_text(versions.newest)}"
    return f"{minor_text(versions.oldest)} {newest}"


def range_text(versions: VersionRange) -> str:
    """Return a range with its product: `Kueue 0.14 to 0.20`."""
    return f"{versions.product} {minors_text(versions)}"
