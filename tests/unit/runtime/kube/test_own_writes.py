"""Versions that own writes produced are remembered until a watch delivers them, and no longer."""

from __future__ import annotations

from typing import Any

import pytest

from apportion_runtime.kube.cluster import ObjectKey
from apportion_runtime.kube.own_writes import OwnWrites

KEY: ObjectKey = ("PodGroup", ("team", "gang"))


def _group(version: str) -> dict[str, Any]:
    return {"metadata": {"resourceVersion": version}}


def _written(held: dict[str, Any] | None) -> OwnWrites:
    """Return the writes after one that produced version 2."""
    writes = OwnWrites()
    writes.begin(KEY)
    writes.stored(KEY, _group("2"), held)
    assert not writes.end(KEY)
    return writes


def test_event_of_own_write_is_known_once() -> None:
    writes = _written(_group("1"))
    assert [writes.is_own(KEY, _group(version)) for version in ("1", "2", "2")] == [False, True, False]


@pytest.mark.parametrize("case", ["delivered or unchanged", "deleted", "listed"])
def test_version_without_further_event_is_not_kept(case: str) -> None:
    writes = _written(_group("2" if case == "delivered or unchanged" else "1"))
    if case == "deleted":
        writes.forget(KEY)
    elif case == "listed":
        writes.forget_kind("PodGroup")
    assert not writes.is_own(KEY, _group("2"))
