"""Resource lists of manifests as integers in the engines' units: thousandths of a core, bytes, devices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apportion_compiler.engine_rules.verdict import Effect, Verdict
from apportion_policy.errors import QuantityError
from apportion_policy.quantity import kubernetes_units

NANO = 10**9
"""Quantities are compared exactly, at the finest precision of Kubernetes."""


@dataclass(frozen=True, slots=True)
class Amounts:
    """The values of a list in billionths of a unit, and the errors of invalid ones."""

    values: Mapping[str, int]
    verdicts: tuple[Verdict, ...]


def read_amounts(index: int, written: Mapping[str, object], at: str, *, signed: bool = False) -> Amounts:
    """Return the amounts of a resource list; `at` is its path.

    With `signed`, negative amounts are valid.
    """
    values: dict[str, int] = {}
    verdicts: list[Verdict] = []
    for key, value in written.items():
        field = f"{at}.{key}"
        try:
            if isinstance(value, bool) or not isinstance(value, int | float | str):
                raise QuantityError(f"{value!r} is not a quantity")
            values[key] = kubernetes_units(value, NANO)
        except QuantityError as fault:
            cure = 'use a quantity such as 4, "500m" or "2Ti"'
            verdicts.append(Verdict(Effect.REJECTED, index, field, "Invalid", str(fault), cure))
            continue
        if values[key] < 0 and not signed:
            message = f"{value} is negative"
            verdicts.append(Verdict(Effect.REJECTED, index, field, "Invalid", message, "use 0 or more"))
    return Amounts(values, tuple(verdicts))
