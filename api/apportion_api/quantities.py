"""Kubernetes' quantities, exactly. Source: k8s.io/apimachinery/pkg/api/resource."""

from __future__ import annotations

import re
from decimal import ROUND_UP, Context, Decimal

_QUANTITY = re.compile(
    r"[+-]?(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]{1,3}))?"
)
MULTIPLIERS: dict[str, Decimal] = {
    "": Decimal(1),
    "n": Decimal(10) ** -9,
    "u": Decimal(10) ** -6,
    "m": Decimal(10) ** -3,
    **{suffix: Decimal(1000) ** power for power, suffix in enumerate(("k", "M", "G", "T", "P", "E"), start=1)},
    **{suffix + "i": Decimal(1024) ** power for power, suffix in enumerate(("K", "M", "G", "T", "P", "E"), start=1)},
}
EXACT = Context(prec=200)
DECIMAL_SUFFIXES = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
"""From billionths, by powers of 1000."""
BINARY_SUFFIXES = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_NANO = 10**9
_LONGEST = 64
"""Maximum length in characters; quantities in practice are shorter."""


def parse_quantity(written: float | str) -> Decimal:
    """Return the exact value of a quantity, of any sign and precision. Raises `ValueError`."""
    text = repr(written) if isinstance(written, float) else str(written)
    match = _QUANTITY.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None or isinstance(written, bool):
        raise ValueError(f"`{text[:_LONGEST]}` is not a quantity such as 500m, 2 or 16Gi")
    exponent = match["exponent"]
    factor = Decimal(10) ** int(exponent) if exponent else MULTIPLIERS[match["suffix"] or ""]
    found = EXACT.multiply(Decimal(match["number"]), factor)
    return EXACT.minus(found) if text.startswith("-") else found


def canonical_text(nanos: int, *, is_binary: bool) -> str:
    """Return a quantity as Kubernetes writes it: an integer with the largest suffix.

    Args:
        nanos: The quantity in billionths.
        is_binary: Whether its notation has binary suffixes. They are used from 1024 and for integers only.
    """
    if nanos == 0:
        return "0"
    if is_binary and nanos % _NANO == 0 and abs(nanos) >= 1024 * _NANO:
        return "{}{}".format(*_shortened(nanos // _NANO, 1024, BINARY_SUFFIXES))
    return "{}{}".format(*_shortened(nanos, 1000, DECIMAL_SUFFIXES))


def _shortened(number: int, base: int, suffixes: tuple[str, ...]) -> tuple[int, str]:
    at = 0
    while number % base == 0 and at + 1 < len(suffixes):
        number, at = number // base, at + 1
    return number, suffixes[at]


def scaled_quantity(written: float | str, scale: int) -> int:
    """Return a quantity in units of `1 / scale`, rounded away from zero like `ScaledValue`. Raises `ValueError`."""
    scaled = EXACT.multiply(parse_quantity(written), Decimal(scale))
    return int(scaled.to_integral_value(rounding=ROUND_UP, context=EXACT))
