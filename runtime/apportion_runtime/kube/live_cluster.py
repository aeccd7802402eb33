"""A cluster behind an API server: objects are read from the cache, and written by a fenced writer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from apportion_runtime.kube.api_writer import ApiWriter
from apportion_runtime.kube.cluster import Manifest
from apportion_runtime.kube.object_cache import ObjectCache
from apportion_runtime.kube.resources import POD, WATCHED

_MERGE = "application/merge-patch+json"
_STRATEGIC = "application/strategic-merge-patch+json"


class LiveCluster:
    """A `Cluster` over the API."""

    def __init__(self, cache: ObjectCache, writer: ApiWriter) -> None:
        self._cache = cache
        self._writer = writer

    def objects(self) -> Sequence[Manifest]:
        return self._cache.objects()

    def get(self, kind: str, namespace: str, name: str) -> Manifest | None:
        return self._cache.get(kind, namespace, name)

    def read(self, api_version: str, kind: str, namespace: str, name: str) -> Manifest | None:
        return self._cache.read(api_version, kind, namespace, name)

    def pods(self, namespace: str, labels: Mapping[str, str]) -> Sequence[Manifest]:
        return self._cache.pods(namespace, labels)

    def create(self, manifest: Manifest) -> Manifest:
        resource = WATCHED[manifest["kind"]]
        made = self._writer.write("POST", resource.path(manifest["metadata"].get("namespace", "")), manifest)
        self._cache.put_created(resource.kind, made)
        return made

    def merge(self, kind: str, namespace: str, name: str, patch: Manifest) -> Manifest:
        before = self._cache.get(kind, namespace, name)
        path = WATCHED[kind].path(namespace, name)
        made = self._writer.write("PATCH", path, patch, content_type=_MERGE)
        self._cache.put_patched(kind, before, made)
        return made

    def bind(self, pod: Manifest, node: str) -> None:
        metadata = pod["metadata"]
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            # A pod of the same name created since then is a different pod.
            "metadata": {"name": metadata["name"], "namespace": metadata["namespace"], "uid": metadata["uid"]},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        self._writer.write("POST", f"{_path(pod)}/binding", binding)
        # The next cycle must not allocate the resources again before the watch delivers the change.
        self._cache.assume_bound(pod, node)

    def evict(self, pod: Manifest, why: str) -> None:
        self._condition(pod, {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}, why)
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": pod["metadata"]["uid"]}}
        self._writer.write("DELETE", _path(pod), options)
        self._cache.assume_deleted(pod)

    def wait(self, pod: Manifest, why: str) -> None:
        known = next((c for c in pod.get("status", {}).get("conditions") or () if c["type"] == "PodScheduled"), None)
        if known is None or known.get("message") != why:
            self._condition(pod, {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}, why)

    def _condition(self, pod: Manifest, condition: Mapping[str, str], message: str) -> None:
        told = {**condition, "message": message, "lastTransitionTime": _now()}
        patch = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": {"conditions": [told]}}
        self._writer.write("PATCH", f"{_path(pod)}/status", patch, content_type=_STRATEGIC)


def _path(pod: Manifest) -> str:
    return WATCHED[POD].path(pod["metadata"]["namespace"], pod["metadata"]["name"])


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
