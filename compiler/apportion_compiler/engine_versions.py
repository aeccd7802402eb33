"""Versions of engines: the range for which rules, capability tables and emitted objects were written.

The bounds are minor versions, both included; patches and suffixes (`0.17.0`, `v0.17.0-9`) make no difference.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MinorVersion = tuple[int, int]

_VERSION = re.compile(r"v?([0-9]{1,9})\.([0-9]{1,9})(?:\.[0-9]{1,9})?(?:[-+][0-9A-Za-z.+-]+)?")


@dataclass(frozen=True, slots=True)
class VersionRange:
    """A product, the oldest and newest minor versions known of it, and where its releases are listed.

    `newest` is None where later versions are released without public change notes to check against.
    """

    product: str
    oldest: MinorVersion
    newest: MinorVersion | None
    source: str


# ValidatingAdmissionPolicy, which is emitted for every cluster, is served as v1 from 1.30 on.
KUBERNETES = VersionRange("Kubernetes", (1, 30), (1, 36), "https://kubernetes.io/releases/")


def parse_version(text: str) -> MinorVersion | None:
    """Return the major and minor number of a version such as `0.17.0` or `v0.17.0-9`; None for other text."""
    match = _VERSION.fullmatch(text.strip())
    return (int(match[1]), int(match[2])) if match else None


def minor_text(version: MinorVersion) -> str:
    """Return a minor version as people write it."""
    return f"{version[0]}.{version[1]}"
