"""Sums of Kubernetes quantities, and their canonical text.

Source: k8s.io/apimachinery/pkg/api/resource (quantity.go, suffix.go), v0.35.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from apportion_api.quantities import canonical_text
from apportion_runtime.snapshots.quantities import parse_quantity


@dataclass(frozen=True, slots=True)
class Quantity:
    """An amount in billionths, and whether it is written with binary suffixes."""

    nanos: int
    is_binary: bool = False

    def __add__(self, other: Quantity) -> Quantity:
        return Quantity(self.nanos + other.nanos, self.is_binary if self.nanos else other.is_binary)

    def times(self, count: int) -> Quantity:
        """Return a multiple of the quantity."""
        return Quantity(self.nanos * count, self.is_binary)

    @property
    def text(self) -> str:
        """The canonical text."""
        return canonical_text(self.nanos, is_binary=self.is_binary)


class RunningQuantity:
    """The sum of quantities that are added and removed one at a time."""

    __slots__ = ("_n", "_n_binary", "_n_decimal", "_n_negative", "_nanos")

    def __init__(self) -> None:
        self._nanos = self._n = self._n_binary = self._n_decimal = self._n_negative = 0

    def count(self, quantity: Quantity, by: int) -> None:
        """Add a quantity (1) or remove it (-1)."""
        self._n += by
        self._nanos += by * quantity.nanos
        if quantity.nanos < 0:
            self._n_negative += by
        elif quantity.nanos and quantity.is_binary:
            self._n_binary += by
        elif quantity.nanos:
            self._n_decimal += by

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left of it."""
        return not self._n

    @property
    def is_mixed(self) -> bool:
        """Whether the suffixes of the sum depend on the order of the quantities."""
        return bool(self._n_negative or (self._n_binary and self._n_decimal))

    @property
    def total(self) -> Quantity:
        """The sum, unless it is mixed."""
        return Quantity(self._nanos, bool(self._n_binary))


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
