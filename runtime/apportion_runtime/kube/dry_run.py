"""A cluster on which every write succeeds without being sent, for `--dry-run`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apportion_api.kai.names import RESERVED_DEVICE_ANNOTATION
from apportion_runtime.kube.cached_cluster import CachedCluster
from apportion_runtime.kube.cluster import Manifest
from apportion_runtime.kube.resources import POD


class DryRunCluster(CachedCluster):
    """A `Cluster` that is read from the cache and never written.

    Pod groups and labels that a cycle writes are kept in the cache, because its decisions need them. Binds and
    evictions are not: each cycle decides on the unchanged cluster. Disruption budgets, which only the API server
    checks, are not taken into account.
    """

    def create(self, manifest: Manifest, *, dry_run: bool = False) -> Manifest:
        metadata = manifest["metadata"]
        if manifest["kind"] == POD:
            # A reservation pod: no process runs in it, so the device that it would report is assumed.
            return {**manifest, "metadata": {**metadata, "annotations": {RESERVED_DEVICE_ANNOTATION: "dry-run"}}}
        uid = f"dry-run/{manifest['kind']}/{metadata.get('namespace', '')}/{metadata['name']}"
        made = {**manifest, "metadata": {"uid": uid, **metadata}}
        self._cache.put_created(manifest["kind"], made)
        return made

    def put(self, config_map: Manifest) -> Manifest:
        return config_map

    def delete(self, pod: Manifest) -> None:
        """Write nothing."""

    def merge(self, kind: str, namespace: str, name: str, patch: Manifest) -> Manifest:
        before = self._cache.get(kind, namespace, name)
        made = merged(before or {}, patch)
        self._cache.put_patched(kind, before, made)
        return made

    def merge_status(self, kind: str, namespace: str, name: str, status: Mapping[str, Any]) -> None:
        """Write nothing."""

    def bind(self, pod: Manifest, node: str) -> None:
        """Write nothing."""

    def evict(self, pod: Manifest, *, dry_run: bool = False) -> None:
        """Write nothing."""

    def explain_eviction(self, pod: Manifest, why: str) -> None:
        """Write nothing."""

    def wait(self, pod: Manifest, why: str) -> None:
        """Write nothing."""

    def record(self, about: Manifest, reason: str, message: str, *, is_warning: bool = False) -> None:
        """Write nothing."""


def merged(before: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object after a JSON merge patch (RFC 7386)."""
    made = dict(before)
    for key, value in patch.items():
        if value is None:
            made.pop(key, None)
        elif isinstance(value, Mapping):
            inner = made.get(key)
            made[key] = merged(inner if isinstance(inner, Mapping) else {}, value)
        else:
            made[key] = value
    return made
