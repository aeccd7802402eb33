"""What a store of objects reports as changed."""

from __future__ import annotations

import random
import weakref
from collections.abc import Iterable
from typing import Any

import pytest

from apportion_runtime.kube.cluster import Change, Key
from apportion_runtime.kube.object_store import ObjectStore

STEPS = 200
Objects = dict[tuple[str, Key], Any]


class _Consumer:
    """What a consumer knows of a store from its changes."""

    def __init__(self) -> None:
        self.known: Objects = {}

    def follow(self, changes: Iterable[Change]) -> None:
        for kind, key, before, after in changes:
            assert self.known.pop((kind, key), None) is before
            assert after is not before
            if after is not None:
                self.known[kind, key] = after


def _held(store: ObjectStore) -> Objects:
    return {(kind, key): one for kind in ("Pod", "Node") for key, one in store.of(kind).items()}


def _change(store: ObjectStore, draw: random.Random) -> None:
    kind, key = draw.choice(("Pod", "Node")), ("", str(draw.randrange(5)))
    match draw.randrange(8):
        case 0:
            store.replace(kind, {("", str(draw.randrange(5))): {} for _ in range(3)})
        case 1 | 2 | 3:
            store.drop(kind, key)
        case _:
            store.put(kind, key, {})


@pytest.mark.parametrize("seed", range(10))
def test_each_consumer_that_follows_the_changes_knows_all_objects(seed: int) -> None:
    store, draw = ObjectStore(("Pod", "Node")), random.Random(seed)
    consumers = [_Consumer(), _Consumer(), _Consumer()]
    for _ in range(STEPS):
        _change(store, draw)
        consumer = draw.choice(consumers)
        consumer.follow(store.changes(consumer))
        assert consumer.known.keys() == _held(store).keys()
        assert all(consumer.known[key] is one for key, one in _held(store).items())


class _Object(dict[str, Any]):
    """An object whose end can be observed."""


def test_an_object_that_came_and_went_since_a_consumer_asked_is_not_kept() -> None:
    store, consumer = ObjectStore(("Pod",)), _Consumer()
    consumer.follow(store.changes(consumer))
    made = _Object()
    kept = weakref.ref(made)
    store.put("Pod", ("", "a"), made)
    store.drop("Pod", ("", "a"))
    del made
    assert kept() is None
    assert store.changes(consumer) == []


def test_the_former_version_of_an_object_is_kept_until_its_consumer_ends() -> None:
    store, consumer = ObjectStore(("Pod",)), _Consumer()
    made = _Object()
    kept = weakref.ref(made)
    store.put("Pod", ("", "a"), made)
    store.changes(consumer)
    store.put("Pod", ("", "a"), {})
    del made
    assert kept() is not None
    del consumer
    assert kept() is None
