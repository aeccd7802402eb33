"""YuniKorn's quantities and the comparisons of its checks (pkg/common/resources at be3bb487).

Values are signed 64-bit numbers; sums saturate.
"""

from __future__ import annotations

from collections.abc import Mapping

from apportion_api.yunikorn.quantities import MAX_QUANTITY, parse_quantity
from apportion_compiler.engines.yunikorn.rules.errors import ConfigRefusedError

Amounts = Mapping[str, int]
"""Quantities by resource. A missing resource is unlimited, not zero."""


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
