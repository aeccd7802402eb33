"""The reads of a `Cluster`, which are served by the cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from apportion_runtime.kube.cluster import Change, Manifest
from apportion_runtime.kube.object_cache import ObjectCache


class CachedCluster:
    """Reads of a cluster; subclasses write."""

    def __init__(self, cache: ObjectCache) -> None:
        self._cache = cache

    def objects(self, *kinds: str) -> Sequence[Manifest]:
        return self._cache.objects(*kinds)

    def changes(self, consumer: object) -> Sequence[Change]:
        return self._cache.changes(consumer)

    def get(self, kind: str, namespace: str, name: str) -> Manifest | None:
        return self._cache.get(kind, namespace, name)

    def read(self, api_version: str, kind: str, namespace: str, name: str) -> Manifest | None:
        return self._cache.read(api_version, kind, namespace, name)

    def is_stored(self, kind: str, namespace: str, name: str) -> bool:
        return self._cache.is_stored(kind, namespace, name)

    def pods(self, namespace: str, labels: Mapping[str, str]) -> Sequence[Manifest]:
        return self._cache.pods(namespace, labels)
