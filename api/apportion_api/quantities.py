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
    return -found if text.startswith("-") else found


def scaled_quantity(written: float | str, scale: int) -> int:
    """Return a quantity in units of `1 / scale`, rounded away from zero like `ScaledValue`. Raises `ValueError`."""
    scaled = EXACT.multiply(parse_quantity(written), Decimal(scale))
    return int(scaled.to_integral_value(rounding=ROUND_UP, context=EXACT))
