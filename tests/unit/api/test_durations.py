"""Durations are those of Go: exact, signed, bounded."""

from __future__ import annotations

from fractions import Fraction

import pytest

from apportion_api.durations import duration_text, parse_duration, whole_seconds


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


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("90s", "1m30s"), ("1h", "1h0m0s"), ("26h3m4.5s", "26h3m4.5s"), ("100ms", "100ms"), ("1.5ms", "1.5ms"), ("1us", "1µs"),
        ("7ns", "7ns"), ("0.1ns", "0s"), ("0", "0s"), ("-0s", "0s"), ("-1500ms", "-1.5s"), ("1.000000001s", "1.000000001s"),
    ],
)  # fmt: skip
def test_durations_are_written_as_go_writes_them(written: str, text: str) -> None:
    assert duration_text(parse_duration(written)) == text
