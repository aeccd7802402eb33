"""Strategies that are built once: Hypothesis spends more time on a new strategy than on a draw from it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeVar

from hypothesis import strategies as st

_Value = TypeVar("_Value")
_N_KEPT = 1 << 12


def sampled_from(values: Sequence[_Value]) -> st.SearchStrategy[_Value]:
    """Return `st.sampled_from` of hashable values."""
    # The types of arguments tell 1 from 1.0 and True, but not those of the items of one argument.
    return _sampled_from(*values)


@lru_cache(_N_KEPT, typed=True)
def integers(least: int, most: int) -> st.SearchStrategy[int]:
    """Return `st.integers`."""
    return st.integers(least, most)


@lru_cache(_N_KEPT)
def permutations(values: tuple[_Value, ...]) -> st.SearchStrategy[list[_Value]]:
    """Return `st.permutations` of hashable values of one type."""
    return st.permutations(values)


booleans = st.booleans()


@lru_cache(_N_KEPT, typed=True)
def _sampled_from(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)
