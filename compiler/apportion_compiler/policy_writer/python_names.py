"""Python names derived from Kubernetes names: constants, and modules of teams."""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import TypeVar

import apportion_policy

_RESERVED = frozenset(apportion_policy.__all__) | {"POLICY", "True", "False", "None"}


Key = TypeVar("Key")


def constants(wanted: Mapping[Key, str]) -> dict[Key, str]:
    """Return a unique constant for each name, different from all imported names."""
    taken = set(_RESERVED)
    return {key: _free(_words(name).upper() or "QUEUE", taken) for key, name in wanted.items()}


def modules(identities: Iterable[str]) -> dict[str, str]:
    """Return a unique module file stem for each identity, also on case-insensitive file systems."""
    taken = {"teams"}
    return {identity: _free(_words(identity).lower() or "team", taken) for identity in identities}


def _words(identity: str) -> str:
    ascii_text = unicodedata.normalize("NFKD", identity).encode("ascii", "ignore").decode("ascii")
    # `collect` ignores names that begin with an underscore.
    name = re.sub(r"[^A-Za-z0-9]+", "_", ascii_text).strip("_")
    return f"q_{name}" if name[:1].isdigit() else name


def _free(name: str, taken: set[str]) -> str:
    if keyword.iskeyword(name) or keyword.issoftkeyword(name):
        name = f"{name}_"
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name.rstrip('_')}_{number}"
    taken.add(free)
    return free
