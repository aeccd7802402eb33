"""Numbers in the engine's format, and amounts of a resource in readable units.

Source: pkg/scheduler/api/resource_info (HumanizeResource) with go-humanize's FtoaWithDigits.
"""

from __future__ import annotations

from apportion_runtime.core.resources import UNLIMITED

MILLICORES = 1000.0
GIGABYTE = 1e9
UNITS = (MILLICORES, GIGABYTE, 1.0)
"""Vector units per displayed unit: cores, GB, GPUs."""


def decimals(value: float) -> str:
    """Return a number with at most three decimal places, truncated and not rounded."""
    whole, _, fraction = f"{value:.6f}".partition(".")
    fraction = fraction[:3].rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole


def amount(value: float, unit: float = 1.0) -> str:
    """Return an amount in a unit; -1 is unlimited."""
    return "Unlimited" if value == UNLIMITED else decimals(value / unit)


def shortest(value: float) -> str:
    """Return the shortest text that identifies a number."""
    return str(int(value)) if value == int(value) and abs(value) < 1e16 else repr(value)


_HUGE = 1e15


def quantity(value: float, r: int) -> str:
    """Return an amount of cpu (0), memory (1) or gpu (2) with its unit; -1 is unlimited."""
    if value == UNLIMITED:
        return "unlimited"
    amount = value / UNITS[r]
    # All digits of a huge amount would hide the rest of the line.
    shown = decimals(amount) if abs(amount) < _HUGE else f"{amount:.3g}"
    return f"{shown} {('core', 'GB', 'GPU')[r]}{'s' if r != 1 and shown != '1' else ''}"
