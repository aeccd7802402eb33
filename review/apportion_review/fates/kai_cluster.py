"""A KAI cluster under one policy: each shard as its scheduler sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apportion_api.fields import Manifest
from apportion_api.kai.objects import PodGroup, Queue, SchedulingShard
from apportion_api.objects import is_a, read, read_all
from apportion_compiler.backends.metadata import QUEUE_ID_LABEL
from apportion_runtime.core.session import Session
from apportion_runtime.core.snapshot import Settings, Snapshot
from apportion_runtime.snapshots.document_loader import LocatedObject
from apportion_runtime.snapshots.faults import Fault, ObjectLocation, has_errors
from apportion_runtime.snapshots.kubernetes.read_objects import ReadObjects
from apportion_runtime.snapshots.kubernetes.reader import read_cluster

_SCALARS = frozenset((str, int, float, bool, type(None)))
_NOWHERE = ObjectLocation(0, 0)


@dataclass(frozen=True, slots=True)
class KaiShard:
    """A shard: the objects of one scheduler.

    Attributes:
        model: Value of the label of its nodes; None for the default shard.
        snapshot: Its records.
        settings: Settings of its scheduler.
        opened: A session for the records, without actions.
    """

    model: str | None
    snapshot: Snapshot
    settings: Settings
    opened: Session


@dataclass(frozen=True, slots=True)
class KaiCluster:
    """A valid cluster. `queue_ids` are the ids of its queues in the policy, by name."""

    shards: tuple[KaiShard, ...]
    queue_ids: Mapping[str, str]


def kai_cluster(objects: Sequence[Manifest], now: float | None, known: ReadObjects) -> KaiCluster:
    """Return the shards of a cluster, or the whole cluster without shards.

    Args:
        objects: All objects of the cluster.
        now: Time of the snapshot in seconds since the epoch; None for the newest time in it.
        known: Cache of parsed objects, also those of the cluster under another policy.

    Raises:
        ValueError: If an object cannot be read.
    """
    located = [_located(each, known) for each in objects]
    named = {shard.name: shard.partition or None for shard in read_all(SchedulingShard, objects)}
    shards: list[KaiShard] = []
    for name in [*sorted(named)] if named else [None]:
        faults: list[Fault] = []
        cluster = read_cluster(located, faults, now=now, shard=name, known=known)
        if has_errors(faults):
            first = faults[0]
            raise ValueError(f"{first.address}: {first.message}")
        opened = Session(cluster.snapshot, cluster.settings)
        shards.append(KaiShard(named.get(name or ""), cluster.snapshot, cluster.settings, opened))
    queue_ids = {queue.name: queue.labels.get(QUEUE_ID_LABEL, queue.name) for queue in read_all(Queue, objects)}
    return KaiCluster(tuple(shards), queue_ids)


def _located(manifest: Any, known: ReadObjects) -> LocatedObject:
    return LocatedObject(_plain(manifest) if known.get(manifest) is None else manifest, _NOWHERE)


def pod_groups(objects: Sequence[Manifest], known: ReadObjects) -> list[PodGroup]:
    """Return the pod groups of a cluster, including invalid ones."""
    found: list[PodGroup] = []
    for each in objects:
        if is_a(PodGroup, each):
            made = known.get(each)
            found.append(read(PodGroup, each) if made is None else made.read_as(PodGroup))
    return found


def _plain(value: Any) -> Any:
    """Return an object as plain dictionaries and lists, for the reader of snapshots; compiled ones are frozen."""
    if isinstance(value, Mapping):
        is_plain = type(value) is dict and all(map(_is_plain, value.values()))
        return value if is_plain else {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, tuple | list) else value


def _is_plain(value: object) -> bool:
    # Most values are scalars, and a check against `Mapping` is slow.
    if type(value) in _SCALARS:
        return True
    if type(value) is dict:
        return all(map(_is_plain, value.values()))
    return all(map(_is_plain, value)) if type(value) is list else not isinstance(value, Mapping | tuple | list)
