"""Go's durations, as far as the question goes whether one is above zero (time.ParseDuration)."""

from __future__ import annotations

import re
from fractions import Fraction

_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_NANOSECONDS = {
    "ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9,
}  # fmt: skip


def is_positive_duration(text: str) -> bool:
    """Tell whether text is a duration above zero that fits 64 bits of nanoseconds."""
    written = text.removeprefix("+")
    parts = _PART.findall(written) if len(written) < 400 else []
    if not parts or "".join(number + unit for number, unit in parts) != written:
        return False
    return 1 <= sum(Fraction(number) * _NANOSECONDS[unit] for number, unit in parts) < 2**63
