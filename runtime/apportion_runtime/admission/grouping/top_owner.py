"""The annotation of a pod group that identifies its top owner.

Source: pkg/podgrouper/topowner/metadata.go at d5bc503a, which writes it with gopkg.in/yaml.v3.
"""

from __future__ import annotations

import re
from datetime import date

from apportion_runtime.admission.objects import Manifest, kind_of, name_of, uid_of

_NUMBER = re.compile(
    r"[-+]?(?:0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)"
)
_DATE = re.compile(r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})")
_STARTS = frozenset("+-.0123456789")
"""The first characters of numbers and dates."""
_WORDS = frozenset(("null", "true", "false", "y", "yes", "n", "no", "on", "off"))
"""What YAML 1.1 or 1.2 reads as null or a boolean, in lower case."""


def top_owner_text(owner: Manifest) -> str:
    """Return the YAML of an owner's identity."""
    group, kind = kind_of(owner)
    version = str(owner.get("apiVersion") or "").rpartition("/")[2]
    return (
        f"name: {_scalar(name_of(owner))}\nuid: {_scalar(uid_of(owner))}\n"
        f"group: {_scalar(group)}\nversion: {_scalar(version)}\nkind: {_scalar(kind)}\n"
    )


def _scalar(value: str) -> str:
    """Return a name as YAML: quoted if a parser would not treat it as a string."""
    if not value or value.lower() in _WORDS:
        return f'"{value}"'
    is_number = value[0] in _STARTS and (_NUMBER.fullmatch(value) is not None or _is_date(value))
    return f'"{value}"' if is_number else value


def _is_date(value: str) -> bool:
    found = _DATE.fullmatch(value)
    if found is None:
        return False
    try:
        date(*map(int, found.groups()))
    except ValueError:
        return False
    return True
