"""A cluster behind an API server: objects are read from the cache, and written by a fenced writer."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from apportion_runtime.kube.api_writer import ApiWriter
from apportion_runtime.kube.cached_cluster import CachedCluster
from apportion_runtime.kube.cluster import Manifest
from apportion_runtime.kube.errors import Refused, Rejection, Unreachable
from apportion_runtime.kube.object_cache import ObjectCache
from apportion_runtime.kube.resources import CONFIG_MAP, POD, WATCHED

_MERGE = "application/merge-patch+json"
_COMPONENT = "apportion-scheduler"
_NAME_LENGTH = 200
_MESSAGE_LENGTH = 1024
"""The maximum length of an event's message."""
_STRATEGIC = "application/strategic-merge-patch+json"


class LiveCluster(CachedCluster):
    """A `Cluster` over the API."""

    def __init__(self, cache: ObjectCache, writer: ApiWriter) -> None:
        super().__init__(cache)
        self._writer = writer

    def create(self, manifest: Manifest, *, dry_run: bool = False) -> Manifest:
        resource = self._cache.kinds[manifest["kind"]]
        metadata = manifest["metadata"]
        namespace = metadata.get("namespace", "")
        path = resource.path(namespace)
        if dry_run:
            return self._writer.write("POST", f"{path}?dryRun=All", manifest)
        with self._cache.writing(resource.kind, namespace, metadata["name"]):
            made = self._writer.write("POST", path, manifest)
            self._cache.put_created(resource.kind, made)
        return made

    def put(self, config_map: Manifest) -> Manifest:
        metadata = config_map["metadata"]
        try:
            return self._writer.write("POST", CONFIG_MAP.path(metadata["namespace"]), config_map)
        except Refused as refused:
            if refused.rejection is not Rejection.CONFLICT:
                raise
        path = CONFIG_MAP.path(metadata["namespace"], metadata["name"])
        return self._writer.write("PATCH", path, config_map, content_type=_MERGE)

    def delete(self, pod: Manifest) -> None:
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "gracePeriodSeconds": 0,
            "preconditions": {"uid": pod["metadata"]["uid"]},
        }
        try:
            self._writer.write("DELETE", _path(pod), options)
        except Refused as refused:
            if refused.rejection not in (Rejection.GONE, Rejection.CONFLICT):
                raise
        else:
            self._cache.assume_deleted(pod)

    def merge(self, kind: str, namespace: str, name: str, patch: Manifest) -> Manifest:
        before = self._cache.get(kind, namespace, name)
        path = self._cache.kinds[kind].path(namespace, name)
        with self._cache.writing(kind, namespace, name):
            made = self._writer.write("PATCH", path, patch, content_type=_MERGE)
            self._cache.put_patched(kind, before, made)
        return made

    def merge_status(self, kind: str, namespace: str, name: str, status: Mapping[str, Any]) -> None:
        before = self._cache.get(kind, namespace, name)
        path = f"{self._cache.kinds[kind].path(namespace, name)}/status"
        with self._cache.writing(kind, namespace, name):
            try:
                made = self._writer.write("PATCH", path, {"status": status}, content_type=_MERGE)
            except Refused as refused:
                if refused.rejection is not Rejection.GONE:
                    raise
            else:
                self._cache.put_patched(kind, before, made)

    def bind(self, pod: Manifest, node: str) -> None:
        metadata = pod["metadata"]
        with self._cache.writing(POD, metadata["namespace"], metadata["name"]):
            self._bind(pod, node)

    def _bind(self, pod: Manifest, node: str) -> None:
        metadata = pod["metadata"]
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            # A pod of the same name created since then is a different pod.
            "metadata": {"name": metadata["name"], "namespace": metadata["namespace"], "uid": metadata["uid"]},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        try:
            self._write_binding(pod, node, binding)
        except Unreachable:
            self._cache.assume_bound(pod, node, is_certain=False)
            raise
        # The next cycle must not allocate the resources again before the watch delivers the change.
        self._cache.assume_bound(pod, node)

    def _write_binding(self, pod: Manifest, node: str, binding: Manifest) -> None:
        try:
            self._writer.write("POST", f"{_path(pod)}/binding", binding)
        except Refused as refused:
            # Whatever rejects this attempt, an earlier one may have bound the pod.
            is_uncertain = refused.rejection is Rejection.CONFLICT or refused.may_have_effect
            if not is_uncertain or self._cache.node_of(pod) != node:
                raise

    def evict(self, pod: Manifest, *, dry_run: bool = False) -> None:
        metadata = pod["metadata"]
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
            "deleteOptions": {
                "preconditions": {"uid": metadata["uid"]},
                **({"dryRun": ["All"]} if dry_run else {}),
            },
        }
        self._writer.write("POST", f"{_path(pod)}/eviction", eviction)
        if not dry_run:
            self._cache.assume_deleted(pod)

    def explain_eviction(self, pod: Manifest, why: str) -> None:
        # The eviction sets the condition with its own reason; a pod without a grace period is gone.
        condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
        self._condition(pod, condition, why)

    def wait(self, pod: Manifest, why: str) -> None:
        known = next((c for c in pod.get("status", {}).get("conditions") or () if c["type"] == "PodScheduled"), None)
        if known is None or known.get("message") != why:
            self._condition(pod, {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}, why)

    def _condition(self, pod: Manifest, condition: Mapping[str, str], message: str) -> None:
        changed = {**condition, "message": message, "lastTransitionTime": _now()}
        patch = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": {"conditions": [changed]}}
        try:
            self._writer.write("PATCH", f"{_path(pod)}/status", patch, content_type=_STRATEGIC)
        except Refused as refused:
            # The pod is gone, or another one has its name.
            if refused.rejection not in (Rejection.GONE, Rejection.CONFLICT):
                raise

    def record(self, about: Manifest, reason: str, message: str, *, is_warning: bool = False) -> None:
        metadata, at = about["metadata"], _now()
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": f"{metadata['name'][:_NAME_LENGTH]}.{uuid.uuid4().hex[:16]}",
                "namespace": metadata["namespace"],
            },
            "involvedObject": {
                "apiVersion": about["apiVersion"],
                "kind": about["kind"],
                **{key: metadata[key] for key in ("namespace", "name", "uid") if key in metadata},
            },
            "type": "Warning" if is_warning else "Normal",
            "reason": reason,
            # `kubectl get events` shows only the first line.
            "message": " ".join(message.split("\n"))[:_MESSAGE_LENGTH],
            "source": {"component": _COMPONENT},
            "firstTimestamp": at,
            "lastTimestamp": at,
            "count": 1,
        }
        self._writer.write("POST", f"/api/v1/namespaces/{metadata['namespace']}/events", event)


def _path(pod: Manifest) -> str:
    return WATCHED[POD].path(pod["metadata"]["namespace"], pod["metadata"]["name"])


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
