"""Where something holds, in words."""

from __future__ import annotations

import pytest

from apportion_review.cluster_names import place_text

EVERY = ("dev/a", "prod/a", "prod/b", "prod/c")


@pytest.mark.parametrize(
    ("clusters", "text"),
    [
        ((), ""),
        (("",), ""),
        (EVERY, ""),
        (("dev/a",), " in dev"),
        (("prod/b",), " on prod/b"),
        (("dev/a", "prod/a", "prod/b"), " in dev, on 2 of 3 clusters in prod"),
        (("old/z",), " on old/z"),
        (("dev/a", "old/y", "old/z"), " in dev, on 2 removed clusters"),
    ],
)
def test_place(clusters: tuple[str, ...], text: str) -> None:
    assert place_text(clusters, EVERY) == text
