"""A cluster whose jobs are admitted: what job admission writes besides creating and patching objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Protocol

from apportion_api.ack.names import DEQUEUED_AT_ANNOTATION
from apportion_runtime.admission.expansion import is_suspended
from apportion_runtime.admission.objects import annotations_of, uid_of
from apportion_runtime.kube.api_writer import ApiWriter
from apportion_runtime.kube.cluster import Change, Manifest, ObjectKey, key_of
from apportion_runtime.kube.dry_run import DryRunCluster, merged
from apportion_runtime.kube.errors import Refused, Rejection, Unreachable
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

    def release(self, kind: str, namespace: str, name: str, patch: Manifest) -> Manifest:
        """Patch a job so that it is not suspended, and return it as it is stored.

        Raises:
            Refused: If it was not released.
            Unreachable: If this is not known.
        """

    def set_phase(self, namespace: str, unit: str, status: Mapping[str, Any]) -> None:
        """Patch the status of a QueueUnit, if it still exists."""

    def remove_unit(self, unit: Manifest) -> None:
        """Delete a QueueUnit, if it still exists; not another one of its name."""

    def record(self, about: Manifest, reason: str, message: str, *, is_warning: bool = False) -> None:
        """Record an event about an object."""


class LiveJobCluster(LiveCluster):
    """A `JobCluster` over the API."""

    def __init__(self, cache: ObjectCache, writer: ApiWriter) -> None:
        super().__init__(cache, writer)
        self._has_subresource = True

    def release(self, kind: str, namespace: str, name: str, patch: Manifest) -> Manifest:
        try:
            return self.merge(kind, namespace, name, patch)
        except Refused as refused:
            if refused.rejection is not Rejection.CONFLICT and not refused.may_have_effect:
                raise
            try:
                stored = self._cache.read_again(kind, namespace, name)
            except Refused as unread:
                raise Unreachable(f"{refused}; the job cannot be read: {unread}") from None
            if stored is None or not _is_released(stored, patch):
                raise
            return stored

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

    def remove_unit(self, unit: Manifest) -> None:
        metadata = unit["metadata"]
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": metadata["uid"]}}
        try:
            self._writer.write("DELETE", self._cache.kinds[UNIT].path(metadata["namespace"], metadata["name"]), options)
        except Refused as refused:
            if refused.rejection not in (Rejection.GONE, Rejection.CONFLICT):
                raise


def _is_released(job: Manifest, patch: Manifest) -> bool:
    """Return whether a job has been released by a patch."""
    made, written = annotations_of(job), annotations_of(patch)
    is_written = made.get(DEQUEUED_AT_ANNOTATION) == written[DEQUEUED_AT_ANNOTATION]
    return uid_of(job) == uid_of(patch) and is_written and not is_suspended(job)


class DryRunJobCluster(DryRunCluster):
    """A `JobCluster` that is not written; jobs have what was patched, also after they have changed."""

    def __init__(self, cache: ObjectCache) -> None:
        super().__init__(cache)
        self._patches: dict[ObjectKey, Manifest] = {}

    def objects(self, *kinds: str) -> Sequence[Manifest]:
        return [self._patched(one) for one in super().objects(*kinds)]

    def get(self, kind: str, namespace: str, name: str) -> Manifest | None:
        found = super().get(kind, namespace, name)
        return None if found is None else self._patched(found)

    def merge(self, kind: str, namespace: str, name: str, patch: Manifest) -> Manifest:
        found = self._cache.get(kind, namespace, name)
        if found is None:
            raise Refused(HTTPStatus.NOT_FOUND, f"{kind} {namespace}/{name} does not exist")
        key = kind, (namespace, name)
        kept = {field: value for field, value in patch["metadata"].items() if field != "resourceVersion"}
        before = self._patches.get(key, {})
        is_same = not before or uid_of(before) == uid_of(patch)
        self._patches[key] = merged(before if is_same else {}, {**patch, "metadata": kept})
        return self._patched(found)

    def release(self, kind: str, namespace: str, name: str, patch: Manifest) -> Manifest:
        return self.merge(kind, namespace, name, patch)

    def _patched(self, one: Manifest) -> Manifest:
        patch = self._patches.get((one["kind"], key_of(one)))
        return one if patch is None or uid_of(patch) != uid_of(one) else merged(one, patch)

    def set_phase(self, namespace: str, unit: str, status: Mapping[str, Any]) -> None:
        """Write nothing."""

    def remove_unit(self, unit: Manifest) -> None:
        """Write nothing."""
