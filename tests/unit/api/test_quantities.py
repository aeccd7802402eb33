"""Kubernetes' quantities and their canonical text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion_api.quantities import canonical_text, scaled_quantity

NANO = 10**9


@pytest.mark.parametrize(
    ("nanos", "is_binary", "text"),
    [
        (0, True, "0"),
        (1, False, "1n"),
        (1_500_000, False, "1500u"),
        (12_000 * NANO, False, "12k"),
        (12_000 * NANO, True, "12000"),
        (1000 * NANO, True, "1k"),
        (3 * 2**30 * NANO, True, "3Gi"),
        (-2048 * NANO, True, "-2Ki"),
        (2048 * NANO + NANO // 2, True, "2048500m"),
    ],
)
def test_canonical_text_is_that_of_kubernetes(nanos: int, is_binary: bool, text: str) -> None:
    assert canonical_text(nanos, is_binary=is_binary) == text


@given(st.integers(-(10**30), 10**30), st.booleans())
def test_canonical_text_is_exact(nanos: int, is_binary: bool) -> None:
    assert scaled_quantity(canonical_text(nanos, is_binary=is_binary), NANO) == nanos
