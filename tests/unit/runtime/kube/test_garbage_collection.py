"""When all generations are collected: at a quiet time, or at the latest after a while, and not without a cycle."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from apportion_runtime.kube import garbage_collection
from apportion_runtime.kube.garbage_collection import collected_between_cycles


@dataclass
class Collections:
    """The time, in seconds, and the oldest generation of each collection."""

    now_s: float = 0.0
    generations: list[int] = field(default_factory=list)

    def record(self, phase: str, details: dict[str, int]) -> None:
        """Record a collection, as `gc.callbacks` reports it."""
        if phase == "start":
            self.generations.append(details["generation"])

    def take(self) -> list[int]:
        """Return the collections since the last call."""
        taken, self.generations = self.generations, []
        return taken


@pytest.fixture
def collections(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collections]:
    made = Collections()
    monkeypatch.setattr(garbage_collection.time, "monotonic", lambda: made.now_s)
    gc.callbacks.append(made.record)
    yield made
    gc.callbacks.remove(made.record)


def test_all_generations_are_collected_at_a_quiet_time(collections: Collections) -> None:
    with collected_between_cycles() as collect:
        collections.take()
        for now_s in (1.0, 119.0, 121.0, 122.0):
            collections.now_s = now_s
            collect(0.0)
            collect(0.3)
        assert collections.take() == [0, 0, 0, 0]
        collect(1.5)
        assert collections.take() == [2]


def test_all_generations_are_collected_at_the_latest_after_six_minutes(collections: Collections) -> None:
    with collected_between_cycles() as collect:
        collections.take()
        for collections.now_s in (359.0, 361.0, 362.0):
            collect(0.0)
        assert collections.take() == [0, 2, 0]


def test_nothing_is_collected_if_no_cycle_ran(collections: Collections) -> None:
    with collected_between_cycles() as collect:
        collect(0.0)
        collections.now_s = 200.0
        collect(2.0)
        collections.take()
        collections.now_s = 10_000.0
        collect(2.0)
        assert collections.take() == []
