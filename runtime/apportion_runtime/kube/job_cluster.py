"""A cluster whose jobs are admitted: what job admission writes besides creating and patching objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from apportion_runtime.kube.api_writer import ApiWriter
from apportion_runtime.kube.cluster import Change, Manifest
from apportion_runtime.kube.dry_run import DryRunCluster
from apportion_runtime.kube.errors import Refused, Rejection
from apportion_runtime.kube.job_resources import UNIT
from apportion_runtime.kube.live_cluster import LiveCluster
from apportion_runtime.kube.object_cache import ObjectCache

_MERGE = "application/merge-patch+json"


class JobCluster(Protocol):
    """Reads and writes of job admission, with the errors of `kube.cluster`."""

    def objects(self, *kinds: str) -> Sequence[Manifest]:
        """Return the objects of some kinds."""

    def changes(self, consumer: object) -> Sequence[Change]:
        """Return the changes since the consumer's last call; all objects in its first call."""

    def get(self, kind: str, namespace: str, name: str) -> Manifest | None:
        """Return an object; None if it does not exist."""

    def create(self, manifest: Manifest, *, dry_run: bool = False) -> Manifest:
        """Create an object, and return it as stored."""

    def merge(self, kind: str, namespace: str, name: str, patch: Manifest) -> Manifest:
        """Patch an object, and return it as stored."""

    def set_phase(self, namespace: str, unit: str, status: Mapping[str, Any]) -> None:
        """Patch the status of a QueueUnit, if it still exists."""

    def remove_unit(self, namespace: str, unit: str) -> None:
        """Delete a QueueUnit, if it still exists."""

    def record(self, about: Manifest, reason: str, message: str, *, is_warning: bool = False) -> None:
        """Record an event about an object."""


class LiveJobCluster(LiveCluster):
    """A `JobCluster` over the API."""

    def __init__(self, cache: ObjectCache, writer: ApiWriter) -> None:
        super().__init__(cache, writer)
        self._has_subresource = True

    def set_phase(self, namespace: str, unit: str, status: Mapping[str, Any]) -> None:
        before = self._cache.get(UNIT, namespace, unit)
        path = self._cache.kinds[UNIT].path(namespace, unit)
        with self._cache.writing(UNIT, namespace, unit):
            try:
                made = self._patch_status(path, status)
            except Refused as refused:
                if refused.rejection is not Rejection.GONE:
                    raise
            else:
                self._cache.put_patched(UNIT, before, made)

    def _patch_status(self, path: str, status: Mapping[str, Any]) -> dict[str, Any]:
        """Patch the status; the definition of 2023 has no subresource for it, others ignore it without one."""
        if self._has_subresource:
            try:
                return self._writer.write("PATCH", f"{path}/status", {"status": status}, content_type=_MERGE)
            except Refused as refused:
                if refused.rejection is not Rejection.GONE:
                    raise
        made = self._writer.write("PATCH", path, {"status": status}, content_type=_MERGE)
        # The object exists, so its subresource does not.
        self._has_subresource = False
        return made

    def remove_unit(self, namespace: str, unit: str) -> None:
        try:
            self._writer.write("DELETE", self._cache.kinds[UNIT].path(namespace, unit))
        except Refused as refused:
            if refused.rejection is not Rejection.GONE:
                raise


class DryRunJobCluster(DryRunCluster):
    """A `JobCluster` that is not written; released jobs are kept as such in the cache."""

    def set_phase(self, namespace: str, unit: str, status: Mapping[str, Any]) -> None:
        """Write nothing."""

    def remove_unit(self, namespace: str, unit: str) -> None:
        """Write nothing."""
