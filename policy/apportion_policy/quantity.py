"""Exact quantities: integers in the smallest unit an engine counts, never floats.

*Unset* (`None`), *zero* and `UNLIMITED` are always distinct.

| kind | text | base unit |
|---|---|---|
| CPU | Kubernetes quantity | millicore |
| memory | Kubernetes quantity | byte |
| GPU | Kubernetes quantity, at most three decimals | thousandth of a device |
| weight | decimal number, at most three decimals | thousandth |

Source: `k8s.io/apimachinery/pkg/api/resource` (grammar and suffixes). One difference: Kubernetes rounds up
amounts that are more precise than the unit, and this module rejects them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import lru_cache

from apportion_api.quantities import (
    DECIMAL_SUFFIXES,
    EXACT,
    MULTIPLIERS,
    canonical_text,
    parse_quantity,
    scaled_quantity,
)
from apportion_policy.errors import QuantityError


class Unlimited(str, Enum):
    """The type of `UNLIMITED`, which means no limit; it is neither zero nor unset."""

    UNLIMITED = "unlimited"

    def __repr__(self) -> str:
        return "UNLIMITED"

    def __str__(self) -> str:
        return "unlimited"


UNLIMITED = Unlimited.UNLIMITED

Amount = int | Unlimited
"""An integer in the base unit of its kind, or `UNLIMITED`."""

QuantityInput = int | str | float | Decimal | Unlimited
"""The types that are accepted as a quantity."""

MAX_AMOUNT = 2**63 - 1
"""Largest amount in base units: engines hold quantities in signed 64-bit integers."""


def parse_cpu(value: QuantityInput) -> Amount:
    """Return millicores. Raises `QuantityError` for text that is not a quantity or finer than a millicore."""
    return _parse(value, 1000, "CPU", "millicores")


def parse_memory(value: QuantityInput) -> Amount:
    """Return bytes. Raises `QuantityError` for text that is not a quantity or not a whole number of bytes."""
    return _parse(value, 1, "memory", "bytes")


def parse_gpu(value: QuantityInput) -> Amount:
    """Return thousandths of a GPU. Raises `QuantityError` for text that is not a quantity or finer than that."""
    return _parse(value, 1000, "GPU", "thousandths of a GPU")


def parse_count(value: QuantityInput) -> Amount:
    """Return a whole number of devices of an extended resource. Raises `QuantityError` for anything else."""
    return _parse(value, 1, "count", "whole devices")


def parse_weight(value: QuantityInput) -> int:
    """Return thousandths of a weight. Raises `QuantityError` for text that is not a number, and for UNLIMITED."""
    amount = _parse(value, 1000, "weight", "thousandths")
    if isinstance(amount, Unlimited):
        raise QuantityError("a weight must be a number; it cannot be unlimited")
    return amount


def cpu_text(amount: Amount) -> str:
    """Return the shortest Kubernetes text of millicores: `4`, `500m`, `unlimited`."""
    if isinstance(amount, Unlimited):
        return str(amount)
    return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m"


def memory_text(amount: Amount) -> str:
    """Return the shortest Kubernetes text of bytes: the largest binary suffix, then decimal, that is exact."""
    if isinstance(amount, Unlimited):
        return str(amount)
    if amount:
        for suffix in ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki", "E", "P", "T", "G", "M", "k"):
            unit = int(MULTIPLIERS[suffix])
            if amount % unit == 0:
                return f"{amount // unit}{suffix}"
    return str(amount)


def readable_memory(amount: Amount) -> tuple[str, str | None]:
    """Return bytes as rounded text, with the exact amount if it differs: `76.8Gi`, `82463372083 bytes`."""
    written = memory_text(amount)
    if isinstance(amount, Unlimited) or len(written.rstrip("iEPTGMKk")) <= _MOST_DIGITS:
        return written, None
    unit = next(suffix for suffix in ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki") if amount >= MULTIPLIERS[suffix])
    number = Fraction(amount) / Fraction(MULTIPLIERS[unit])
    exact, digits = number * 100 == int(number * 100), f"{float(number):.2f}".rstrip("0").rstrip(".")
    return f"{digits}{unit}", None if exact else written if written.endswith("i") else f"{amount} bytes"


_MOST_DIGITS = 4
"""Maximum number of digits before a larger unit is used."""


def gpu_text(amount: Amount) -> str:
    """Return thousandths of a GPU as a decimal number of GPUs: `8`, `0.5`, `unlimited`."""
    return decimal_text(amount)


def decimal_text(amount: Amount) -> str:
    """Return thousandths as a decimal number: `8`, `37.5`, `unlimited`."""
    if isinstance(amount, Unlimited):
        return str(amount)
    whole, rest = divmod(amount, 1000)
    return f"{whole}.{rest:03d}".rstrip("0") if rest else str(whole)


weight_text = gpu_text


def count_text(amount: Amount) -> str:
    """Return a whole number of devices, or `unlimited`."""
    return str(amount)


def kubernetes_value(value: float | str) -> Decimal:
    """Return the exact value of a Kubernetes quantity, of any sign and precision.

    Raises `QuantityError` for text that is not a quantity.
    """
    try:
        return parse_quantity(value)
    except ValueError as refused:
        raise QuantityError(str(refused)) from None


def kubernetes_units(value: float | str, scale: int) -> int:
    """Return a quantity in units of `1 / scale`, rounded away from zero like Kubernetes' `ScaledValue`.

    Raises `QuantityError` for text that is not a quantity.
    """
    try:
        return scaled_quantity(value, scale)
    except ValueError as refused:
        raise QuantityError(str(refused)) from None


def kubernetes_text(value: float | str) -> str:
    """Return a quantity in Kubernetes' canonical form, as in its messages: `12000` is `12k`.

    Raises `QuantityError` for text that is not a quantity.
    """
    written = repr(value) if isinstance(value, float) else str(value)
    text = canonical_text(kubernetes_units(value, 10**9), is_binary=written.endswith("i"))
    if text == "0" or not re.search(r"[eE][+-]?[0-9]+$", written):
        return text
    number, suffix = (text[:-1], text[-1]) if text[-1].isalpha() else (text, "")
    exponent = 3 * DECIMAL_SUFFIXES.index(suffix) - 9
    return f"{number}e{exponent}" if exponent else number


def is_over(amount: Amount, bound: Amount) -> bool:
    """Return whether an amount exceeds a limit; nothing exceeds UNLIMITED."""
    if isinstance(bound, Unlimited):
        return False
    return isinstance(amount, Unlimited) or amount > bound


def smaller(first: Amount, second: Amount) -> Amount:
    """Return the smaller of two amounts."""
    return second if is_over(first, second) else first


def add(first: Amount, second: Amount) -> Amount:
    """Return the sum; UNLIMITED if one of the two is UNLIMITED."""
    if isinstance(first, Unlimited) or isinstance(second, Unlimited):
        return UNLIMITED
    return first + second


def total(amounts: Iterable[Amount]) -> Amount:
    """Return the sum; UNLIMITED if one of the amounts is UNLIMITED."""
    summed: Amount = 0
    for amount in amounts:
        summed = add(summed, amount)
    return summed


def _parse(value: QuantityInput, scale: int, kind: str, unit: str) -> Amount:
    if isinstance(value, Unlimited):
        return value
    if isinstance(value, bool):
        raise QuantityError(f"{value} is not a {kind} quantity")
    # repr restores the text from which a float was parsed, so 0.1 means one tenth and not 0.1000000000000000055.
    return _parse_text(repr(value) if isinstance(value, float) else str(value).strip(), scale, kind, unit)


@lru_cache(maxsize=65536)
def _parse_text(text: str, scale: int, kind: str, unit: str) -> Amount:
    if text == UNLIMITED.value:
        return UNLIMITED
    if text.startswith("-"):
        raise QuantityError(f"{text} is negative; use UNLIMITED for no limit, or 0 for none")
    try:
        value = parse_quantity(text)
    except ValueError:
        raise QuantityError(f'"{text[:64]}" is not a {kind} quantity such as {_EXAMPLES[kind]}') from None
    if kind == "GPU" and text.endswith("i"):
        raise QuantityError(f'"{text}" is a size in bytes, not a number of GPUs such as {_EXAMPLES[kind]}')
    scaled = EXACT.multiply(value, Decimal(scale))
    if scaled > MAX_AMOUNT:
        raise QuantityError(f'"{text}" exceeds the maximum of 2^63-1 {unit}; use UNLIMITED for no limit')
    amount = int(scaled)
    if amount != scaled:
        raise QuantityError(f'"{text}" is not a whole number of {unit}')
    return amount


_EXAMPLES = {
    "CPU": '64 or "500m"',
    "memory": '"2Ti" or "512Mi"',
    "GPU": '8 or "0.5"',
    "count": "4",
    "weight": '2 or "0.5"',
}
