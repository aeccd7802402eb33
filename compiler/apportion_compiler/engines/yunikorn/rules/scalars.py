"""Plain scalars as interpreted by YuniKorn's YAML library (go.yaml.in/yaml v3.0.4, resolve.go and decode.go).

It implements YAML 1.2 with parts of 1.1: `0777` is octal, `yes` is a Boolean only if one is expected, and numbers may
contain underscores. If text is expected, every scalar except null is text.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Mapping

from apportion_compiler.engines.yunikorn.rules.errors import ConfigRefusedError

Value = str | bool | int | float | None

_LONG = "tag:yaml.org,2002:"
STRING, NULL, BINARY, MERGE = "!!str", "!!null", "!!binary", "!!merge"
_RESOLVABLE = frozenset(("", STRING, "!!bool", "!!int", "!!float", NULL, "!!timestamp"))
_NAMED: Mapping[str, tuple[str, Value]] = {
    **dict.fromkeys(("true", "True", "TRUE"), ("!!bool", True)),
    **dict.fromkeys(("false", "False", "FALSE"), ("!!bool", False)),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), (NULL, None)),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), ("!!float", math.nan)),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), ("!!float", math.inf)),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), ("!!float", -math.inf)),
    "<<": (MERGE, "<<"),
}
_YES = frozenset(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON"))
_NO = frozenset(("n", "N", "no", "No", "NO", "off", "Off", "OFF"))
_INTEGER = re.compile(
    r"(?P<sign>[+-]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<bin>[01]+)|0[oO]?(?P<oct>[0-7]+)|(?P<dec>0|[1-9][0-9]*))"
)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_TIMESTAMP = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
    r"([Tt ][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})?)?"
)


def short_tag(tag: str) -> str:
    """Return `!!int` for `tag:yaml.org,2002:int`."""
    return f"!!{tag.removeprefix(_LONG)}" if tag.startswith(_LONG) else tag


def resolve(tag: str, text: str) -> tuple[str, Value]:
    """Return the tag and value of an unquoted scalar; `tag` is its explicit tag, empty for none.

    Raises:
        ConfigRefusedError: If the text does not match the tag.
    """
    if tag == BINARY:
        return tag, _decoded(text)
    if tag not in _RESOLVABLE:
        return tag, text
    if tag == STRING:
        return tag, text
    found, value = _meaning(text, timestamps=tag in ("", "!!timestamp"))
    if tag in ("", found):
        return found, value
    if tag == "!!float" and found == "!!int" and isinstance(value, int):
        return tag, float(value)
    raise ConfigRefusedError(f"yaml: cannot decode {found} `{text}` as a {tag}")


def as_text(tag: str, text: str, value: Value) -> str:
    """Return the text of a scalar if text is expected."""
    return str(value) if tag == BINARY else text


def as_flag(value: Value) -> bool | None:
    """Return a Boolean, or None if the scalar is not one."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value in _YES | _NO:
        return value in _YES
    return None


def as_count(value: Value) -> int | None:
    """Return an unsigned 64-bit number, or None if the scalar is not one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int):
        return value if 0 <= value < 2**64 else None
    # Go's conversion of a float outside the type's range depends on the processor: amd64 wraps it, or returns only the
    # sign bit.
    if not value <= 2.0**64:
        return None
    return int(value) % 2**64 if -(2.0**63) <= value < 2.0**64 else 2**63


def as_number(value: Value) -> float | None:
    """Return a float, or None if the scalar is not a number."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _meaning(text: str, *, timestamps: bool) -> tuple[str, Value]:
    if text in _NAMED:
        return _NAMED[text]
    if text[:1] == "." and _FLOAT.fullmatch(text.replace("_", "x")):
        return "!!float", float(text)
    if text[:1] not in set("+-0123456789"):
        return STRING, text
    if timestamps and _TIMESTAMP.fullmatch(text):
        return "!!timestamp", text
    plain = text.replace("_", "")
    number = _INTEGER.fullmatch(plain) if len(plain) < 400 else None
    if number is not None:
        digits, base = next((number[name], n) for name, n in _BASES if number[name] is not None)
        whole = int(digits, base) * (-1 if number["sign"] == "-" else 1)
        if -(2**63) <= whole < 2**63 or (number["sign"] == "" and whole < 2**64):
            return "!!int", whole
    if _FLOAT.fullmatch(plain):
        parsed = float(plain)
        if not math.isinf(parsed):
            return "!!float", parsed
    return STRING, text


_BASES = (("hex", 16), ("bin", 2), ("oct", 8), ("dec", 10))


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        raise ConfigRefusedError("yaml: !!binary value contains invalid base64 data") from None
