"""Names generated for objects with `generateName`, deterministic in a simulation."""

from __future__ import annotations

import hashlib

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""The alphabet of the suffix (k8s.io/apimachinery pkg/util/rand)."""
_N_LETTERS, _LONGEST = 5, 58
"""The length of the suffix, and the maximum length of the prefix (k8s.io/apiserver pkg/storage/names)."""


def generated_name(prefix: str, of: str) -> str:
    """Return a name with a prefix, unique for the given key."""
    digest = hashlib.sha256(of.encode()).digest()
    return prefix[:_LONGEST] + "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:_N_LETTERS])
