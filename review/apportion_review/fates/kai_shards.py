"""The parts of a KAI cluster, each read as its scheduler reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apportion_api.fields import Manifest
from apportion_api.kai.objects import SchedulingShard
from apportion_api.objects import read_all
from apportion_runtime.core.snapshot import Settings, Snapshot
from apportion_runtime.snapshots.document_loader import LocatedObject
from apportion_runtime.snapshots.faults import Fault, ObjectLocation, has_errors
from apportion_runtime.snapshots.kubernetes.reader import read_cluster

_SCALARS = frozenset((str, int, float, bool, type(None)))


def kai_shards(objects: Sequence[Manifest], now: float | None) -> Iterator[tuple[str | None, Snapshot, Settings]]:
    """Yield the part of the cluster of each SchedulingShard, with its label's value; all of it without shards.

    Raises:
        ValueError: If an object cannot be read.
    """
    located = [LocatedObject(_plain(each), ObjectLocation(0, 0)) for each in objects]
    named = {shard.name: shard.partition or None for shard in read_all(SchedulingShard, objects)}
    shards: list[str | None] = [*sorted(named)] if named else [None]
    for shard in shards:
        faults: list[Fault] = []
        cluster = read_cluster(located, faults, now=now, shard=shard)
        if has_errors(faults):
            first = faults[0]
            raise ValueError(f"{first.address}: {first.message}")
        yield named.get(shard or ""), cluster.snapshot, cluster.settings


def _plain(value: Any) -> Any:
    """Return an object in plain dictionaries and lists, as the reader of snapshots takes them; compiled ones are frozen."""
    if isinstance(value, Mapping):
        is_plain = type(value) is dict and all(map(_is_plain, value.values()))
        return value if is_plain else {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, tuple | list) else value


def _is_plain(value: object) -> bool:
    # Scalars are most of an object, and a check against `Mapping` is slow.
    if type(value) in _SCALARS:
        return True
    if type(value) is dict:
        return all(map(_is_plain, value.values()))
    return all(map(_is_plain, value)) if type(value) is list else not isinstance(value, Mapping | tuple | list)
