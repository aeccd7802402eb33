"""Durations are those of Go: exact, signed, bounded."""

from __future__ import annotations

from fractions import Fraction

import pytest

from apportion_api.durations import parse_duration, whole_seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("1h30m", 5400), ("-1s", -1), ("+2m", 120), ("0", 0), ("-0", 0), ("1.5h", 5400), ("1ns", Fraction(1, 10**9))],
)  # fmt: skip
def test_durations_are_exact(text: str, seconds: Fraction) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "-", "90", "1d", "1h 30m", "h", "-+1s", "\u0661s", "2562048h", "9" * 400 + "h"])
def test_invalid_go_durations_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration such as 90s or 1h30m"):
        parse_duration(text)


def test_whole_seconds_are_rounded_up() -> None:
    assert (whole_seconds("1500ms"), whole_seconds("2s")) == ((2, False), (2, True))


def test_negative_seconds_are_refused() -> None:
    with pytest.raises(ValueError, match="is negative"):
        whole_seconds("-1s")
