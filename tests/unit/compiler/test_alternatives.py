"""The valid names at the end of a message."""

from __future__ import annotations

import pytest

from apportion_compiler.alternatives import alternatives


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ([], "none is defined"),
        (["dev"], "choose dev"),
        (["dev", "prod"], "choose one of dev or prod"),
        (["a", "b", "c"], "choose one of a, b or c"),
        ([f"n{n}" for n in range(10)], "choose one of n0, n1, n2, n3, n4, n5, n6, n7 or 2 more"),
    ],
)
def test_names_are_joined_with_commas_and_or(known: list[str], said: str) -> None:
    assert alternatives(known) == said
