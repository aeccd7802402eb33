"""KAI's numbers: JSON numbers that it reads as 64-bit floats, not quantity text.

| resource | unit | source |
|---|---|---|
| cpu | millicores | pkg/apis/scheduling/v2/resources.go |
| memory | megabytes of 10^6 bytes | the same; `mebibytes = 1000 * 1000` in plugins/proportion/proportion.go |
| gpu | devices, fractions allowed | the same |

A number is an `int` if it is whole, and otherwise the float whose shortest text is the exact decimal, so that the
emitted amount equals the declared one: 1Gi is 1073.741824.
"""

from __future__ import annotations

from apportion_policy.quantity import Amount, Unlimited
from apportion_policy.resources import CPU, GPU, MEMORY

UNLIMITED_NUMBER = -1
"""KAI's value for unlimited, in `quota` and in `limit`. A missing limit means that nothing can run."""

_UNITS = {CPU: 1, MEMORY: 1_000_000, GPU: 1000}
_MAX_EXACT_DIGITS = 15
"""A float represents every decimal of this many digits (IEEE 754 binary64)."""


def kai_number(resource: str, amount: Amount) -> int | float:
    """Return an amount of cpu, memory or gpu in KAI's unit; UNLIMITED is -1."""
    return UNLIMITED_NUMBER if isinstance(amount, Unlimited) else exact_number(amount, _UNITS[resource])


def weight_number(thousandths: int) -> int | float:
    """Return a weight."""
    return exact_number(thousandths, 1000)


def exact_number(amount: int, unit: int) -> int | float:
    """Return `amount / unit`, a power of ten, exactly as a decimal.

    Above 15 digits, which is more than 9 petabytes in bytes, a float may not represent the decimal, and the fraction is
    truncated.
    """
    whole, rest = divmod(amount, unit)
    if not rest:
        return whole
    number = amount / unit
    if amount < 10**_MAX_EXACT_DIGITS:
        return number
    decimal = f"{whole}.{rest:0{len(str(unit)) - 1}d}".rstrip("0")
    return number if repr(number) == decimal else whole
