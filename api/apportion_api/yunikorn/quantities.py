"""YuniKorn's quantities (pkg/common/resources/quantity.go at be3bb487).

Integers with a Kubernetes suffix: no fractions, exponents or signs. `vcore` is counted in thousandths, and only it
supports `m`. Values are signed 64-bit numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from apportion_api.yunikorn.names import VCORE

MAX_QUANTITY = 2**63 - 1

# Go's \s is narrower than Python's, but trimming removes all Unicode white space.
_LEGAL = re.compile(r"([0-9]+)[\t\n\f\r ]*([mkKMGTPE]i?)?")
_DECIMAL = ("k", "M", "G", "T", "P", "E")
_BINARY = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_MULTIPLIERS: Mapping[str, int] = {
    "": 1,
    "m": 1,
    **{suffix: 1000**power for power, suffix in enumerate(_DECIMAL, start=1)},
    **{suffix: 1024**power for power, suffix in enumerate(_BINARY, start=1)},
}


def parse_quantity(resource: str, value: str) -> int:
    """Parse a quantity: thousandths of `vcore`, units of other resources.

    Raises:
        ValueError: With YuniKorn's message.
    """
    found = _LEGAL.fullmatch(value.strip())
    if found is None:
        raise ValueError("invalid quantity")
    number, suffix = int(found[1]) if len(found[1]) < 400 else MAX_QUANTITY + 1, found[2] or ""
    if number > MAX_QUANTITY:
        raise ValueError("invalid quantity: overflow")
    milli = resource == VCORE
    if suffix not in _MULTIPLIERS or (suffix == "m" and not milli):
        raise ValueError("invalid suffix")
    amount = number * _MULTIPLIERS[suffix] * (1000 if milli and suffix != "m" else 1)
    if amount > MAX_QUANTITY:
        raise ValueError("invalid quantity: overflow")
    return amount
