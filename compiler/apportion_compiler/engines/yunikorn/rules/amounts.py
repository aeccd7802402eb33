"""YuniKorn's quantities and the comparisons of its checks (pkg/common/resources at be3bb487).

Integers with a Kubernetes suffix: no fractions, exponents or signs. `vcore` is counted in thousandths, and only it
supports `m`. Values are signed 64-bit numbers; sums saturate.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from apportion_compiler.engines.yunikorn.rules.errors import ConfigRefusedError

VCORE = "vcore"
MAX_QUANTITY = 2**63 - 1

Amounts = Mapping[str, int]
"""Quantities by resource. A missing resource is unlimited, not zero."""

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


def parse_amounts(written: Mapping[str, str] | None, path: str) -> dict[str, int]:
    """Return the quantities of a mapping of text. Raises `ConfigRefusedError` for the first invalid one."""
    amounts: dict[str, int] = {}
    for resource, value in (written or {}).items():
        try:
            amounts[resource] = parse_quantity(resource, value)
        except ValueError as refused:
            raise ConfigRefusedError(str(refused), f"{path}.{resource}") from None
    return amounts


def fits(larger: Amounts, smaller: Amounts) -> bool:
    """Return whether no resource exceeds the larger's amount; a resource missing from the larger is unlimited."""
    return all(amount <= max(larger[name], 0) for name, amount in smaller.items() if name in larger)


def least(first: Amounts, second: Amounts) -> dict[str, int]:
    """Return the smaller amount of each resource in either list."""
    both = {name: min(first[name], second[name]) for name in first if name in second}
    return {**first, **second, **both}


def total(first: Amounts, second: Amounts) -> dict[str, int]:
    """Return the sum of each resource, which saturates at 64 bits."""
    return {name: min(first.get(name, 0) + second.get(name, 0), MAX_QUANTITY) for name in {**first, **second}}


def is_zero(amounts: Amounts) -> bool:
    """Return whether all resources are zero."""
    return not any(amounts.values())


def amounts_text(amounts: Amounts) -> str:
    """Return amounts in the format of a Go map."""
    return f"map[{' '.join(f'{name}:{amounts[name]}' for name in sorted(amounts))}]"
