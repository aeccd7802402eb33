"""Quantities are exact, and unset, zero and unlimited are distinct."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion_policy.errors import QuantityError
from apportion_policy.quantity import (
    UNLIMITED,
    add,
    cpu_text,
    gpu_text,
    is_over,
    kubernetes_text,
    kubernetes_units,
    memory_text,
    parse_cpu,
    parse_gpu,
    parse_memory,
    parse_weight,
    smaller,
)


@pytest.mark.parametrize(
    ("text", "millicores"),
    [
        (64, 64_000),
        ("500m", 500),
        ("1.5", 1500),
        (0.1, 100),
        ("1e3", 1_000_000),
        ("2k", 2_000_000),
        (0, 0),
        (Decimal("0.25"), 250),
        ("+4", 4000),
        (".5", 500),
        ("unlimited", UNLIMITED),
        (UNLIMITED, UNLIMITED),
    ],
)
def test_cpu_quantities_match_kubernetes(text: object, millicores: object) -> None:
    assert parse_cpu(text) == millicores


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [("2Ti", 2 * 2**40), ("512Mi", 512 * 2**20), ("1.5Gi", 1610612736), ("1G", 10**9), (64, 64), ("1E", 10**18)],
)
def test_memory_quantities_match_kubernetes(text: object, n_bytes: int) -> None:
    assert parse_memory(text) == n_bytes


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-1",
        "1.0001",
        "1x",
        "abc",
        "1 Gi",
        "1ki",
        "NaN",
        "inf",
        "0x10",
        "1_000",
        "9" * 60,
        "1e999",
        True,
        "--1",
        "1Gii",
    ],
)
def test_inexact_amounts_are_refused(text: object) -> None:
    with pytest.raises(QuantityError):
        parse_cpu(text)


def test_fractional_byte_is_refused() -> None:
    with pytest.raises(QuantityError, match="whole number of bytes"):
        parse_memory("500m")


def test_weight_cannot_be_unlimited() -> None:
    with pytest.raises(QuantityError, match="cannot be unlimited"):
        parse_weight(UNLIMITED)


@given(st.integers(0, 2**63 - 1))
def test_amount_text_round_trips(amount: int) -> None:
    assert parse_cpu(cpu_text(amount)) == amount
    assert parse_memory(memory_text(amount)) == amount
    assert parse_gpu(gpu_text(amount)) == amount


@given(st.integers(0, 10**9), st.sampled_from(["", "k", "M", "Ki", "Mi", "Gi", "m"]))
def test_suffixes_are_exact(number: int, suffix: str) -> None:
    factor = {"": 1, "k": 10**3, "M": 10**6, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "m": Fraction(1, 1000)}[suffix]
    expected = Fraction(number) * factor * 1000
    if expected > 2**63 - 1:
        return
    assert parse_cpu(f"{number}{suffix}") == expected


def test_comparison_with_unlimited() -> None:
    assert not is_over(UNLIMITED, UNLIMITED)
    assert is_over(UNLIMITED, 10**18)
    assert not is_over(10**18, UNLIMITED)
    assert add(1, UNLIMITED) is UNLIMITED
    assert smaller(UNLIMITED, 3) == smaller(3, UNLIMITED) == 3


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        (12, "12"),
        ("12000", "12k"),
        ("1048576", "1048576"),
        ("10485760", "10485760"),
        ("1.5Gi", "1536Mi"),
        ("100Ki", "100Ki"),
        ("1e3", "1e3"),
        ("0.5", "500m"),
        (0.25, "250m"),
        ("-1", "-1"),
        ("0", "0"),
    ],
)
def test_quantities_have_a_canonical_form(written: object, canonical: str) -> None:
    assert kubernetes_text(written) == canonical
    assert kubernetes_units(canonical, 1000) == kubernetes_units(written, 1000)


def test_quantities_are_rounded_away_from_zero() -> None:
    assert [kubernetes_units(text, 1) for text in ("0.1", "2.5", "-2.5", "3")] == [1, 3, -3, 3]


@pytest.mark.parametrize("text", ["", "x", "1 Gi", "unlimited", "--1"])
def test_invalid_quantity_is_refused(text: str) -> None:
    with pytest.raises(QuantityError):
        kubernetes_units(text, 1)


def test_size_in_bytes_is_not_a_gpu_count() -> None:
    with pytest.raises(QuantityError, match='"16Gi" is a size in bytes, not a number of GPUs such as 8'):
        parse_gpu("16Gi")
