"""Sums of Kubernetes quantities, and their canonical text.

Source: k8s.io/apimachinery/pkg/api/resource (quantity.go, suffix.go), v0.35.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from apportion_runtime.snapshots.quantities import parse_quantity

_UNIT = 10**9
_DECIMAL = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


@dataclass(frozen=True, slots=True)
class Quantity:
    """An amount in billionths, and whether it is written with binary suffixes."""

    nanos: int
    is_binary: bool = False

    def __add__(self, other: Quantity) -> Quantity:
        return Quantity(self.nanos + other.nanos, self.is_binary if self.nanos else other.is_binary)

    def times(self, count: int) -> Quantity:
        """Return a multiple of it."""
        return Quantity(self.nanos * count, self.is_binary)

    @property
    def text(self) -> str:
        """The canonical text, without a fraction."""
        if self.is_binary and self.nanos % _UNIT == 0 and abs(self.nanos) >= 1024 * _UNIT:
            return _with_suffix(self.nanos // _UNIT, 1024, _BINARY)
        return _with_suffix(self.nanos, 1000, _DECIMAL) if self.nanos else "0"


Amounts = Mapping[str, Quantity]
"""Quantities by the name of the resource."""


def read_quantity(written: str) -> Quantity:
    """Return the quantity of a text. Raises `ValueError`."""
    return Quantity(parse_quantity(written), written.endswith("i"))


def read_amounts(written: Mapping[str, str | int | float]) -> dict[str, Quantity]:
    """Return the quantities of a list of resources as the API writes it. Raises `ValueError`."""
    return {name: read_quantity(str(value)) for name, value in written.items()}


def total(all_of: Iterable[Amounts]) -> dict[str, Quantity]:
    """Return the sum of lists of resources."""
    found: dict[str, Quantity] = {}
    for amounts in all_of:
        for name, amount in amounts.items():
            found[name] = found[name] + amount if name in found else amount
    return found


def texts(amounts: Amounts) -> dict[str, str]:
    """Return a list of resources as the API writes it."""
    return {name: amounts[name].text for name in sorted(amounts)}


def _with_suffix(number: int, base: int, suffixes: tuple[str, ...]) -> str:
    at = 0
    while number % base == 0 and at + 1 < len(suffixes):
        number, at = number // base, at + 1
    return f"{number}{suffixes[at]}"
