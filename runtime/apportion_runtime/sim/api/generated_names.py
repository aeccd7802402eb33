"""Names that the API server makes up for objects that say `generateName`; here the same one each time."""

from __future__ import annotations

import hashlib

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""What they end in (k8s.io/apimachinery pkg/util/rand)."""
_N_LETTERS, _LONGEST = 5, 58
"""How many letters, and what is kept of what stands before them (k8s.io/apiserver pkg/storage/names)."""


def generated_name(prefix: str, of: str) -> str:
    """Return a name that begins with a prefix, and is another one for everything that it may be of."""
    digest = hashlib.sha256(of.encode()).digest()
    return prefix[:_LONGEST] + "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:_N_LETTERS])
