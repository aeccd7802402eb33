"""Plain scalars as kubectl parses them, with YAML 1.1's Booleans and octal numbers, which YAML 1.2 does not have.

Source: sigs.k8s.io/yaml, goyaml.v2/resolve.go.
"""

from __future__ import annotations

import math
import re

import yaml

_TRUE = frozenset(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE"))
_FALSE = frozenset(("n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE"))
_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_DECIMAL = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_OTHER_BASE = re.compile(r"[-+]?0(?:[0-7]+|[xX][0-9a-fA-F]+|b[01]+|o[0-7]+)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_MAX_DIGITS = 18
"""An integer of this many digits fits into Go's 64 bits."""

Scalar = str | int | float | bool | None


class NotJson(ValueError):
    """A value that JSON cannot represent, in which objects are sent to the API server."""


def scalar(node: yaml.ScalarNode) -> Scalar:
    """Return the value of a scalar.

    Raises:
        NotJson: If it is infinite or NaN.
    """
    text: str = node.value
    if node.style or node.tag == "tag:yaml.org,2002:str":
        return text
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if _NOT_FINITE.fullmatch(text):
        raise NotJson(f"{text} cannot be represented as a JSON number")
    digits = text.replace("_", "")
    if len(digits) <= _MAX_DIGITS:
        if _DECIMAL.fullmatch(digits):
            return int(digits)
        if _OTHER_BASE.fullmatch(digits):
            return _other_base(digits)
    if _FLOAT.fullmatch(digits):
        number = float(digits)
        if not math.isfinite(number):
            raise NotJson(f"{text[:40]} exceeds the range of JSON numbers")
        return number
    return text


def _other_base(text: str) -> int:
    """Return a number in base 2, 8 or 16; a leading zero means base 8."""
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    return sign * int(digits, 0 if digits[1] in "xXbo" else 8)
