"""A cache of the cluster's objects: listed once, then watched; writes go to the API server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from apportion_runtime.kube.cluster import Manifest
from apportion_runtime.kube.connection import Connection
from apportion_runtime.kube.errors import Refused, Unreachable
from apportion_runtime.kube.resources import OWNERS, POD, WATCHED, Resource

_WATCH_S = 300
_AGAIN_S = 2.0
_MERGE = "application/merge-patch+json"
_STRATEGIC = "application/strategic-merge-patch+json"
_PAGE = 500

Key = tuple[str, str]
"""Namespace, empty where there is none, and name."""


class ObjectCache:
    """A `Cluster` over the API. `changed` is set whenever a watched object changes."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._held: dict[str, dict[Key, Manifest]] = {kind: {} for kind in WATCHED}
        self._listed: dict[str, threading.Event] = {kind: threading.Event() for kind in WATCHED}
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self.changed = threading.Event()
        self.faults: dict[str, str] = {}
        """Why each kind cannot currently be watched."""

    def start(self, timeout_s: float) -> None:
        """Start the watches, and return once all kinds are listed.

        Raises:
            Unreachable: If this times out.
        """
        for resource in WATCHED.values():
            threading.Thread(target=self._follow, args=(resource,), name=resource.plural, daemon=True).start()
        for kind, listed in self._listed.items():
            if not listed.wait(timeout_s):
                raise Unreachable(
                    self.faults.get(kind, f"timed out listing {WATCHED[kind].plural} after {timeout_s:g} s")
                )

    def stop(self) -> None:
        """Stop the watches; the threads end with their next event."""
        self._ended.set()
        self.changed.set()

    def objects(self) -> Sequence[Manifest]:
        with self._lock:
            return [manifest for held in self._held.values() for manifest in held.values()]

    def get(self, kind: str, namespace: str, name: str) -> Manifest | None:
        if kind in self._held:
            with self._lock:
                return self._held[kind].get((namespace, name)) or self._held[kind].get(("", name))
        resource = OWNERS.get(kind)
        if resource is None:
            return None
        try:
            found = self._connection.request("GET", resource.path(namespace, name))
        except Refused as refused:
            if refused.status in (HTTPStatus.NOT_FOUND, HTTPStatus.FORBIDDEN):
                return None
            raise
        return found

    def has_pods(self, namespace: str, labels: Mapping[str, str]) -> bool:
        with self._lock:
            pods = [pod for (place, _), pod in self._held[POD].items() if place == namespace]
        return any(labels.items() <= (pod["metadata"].get("labels") or {}).items() for pod in pods)

    def create(self, manifest: Manifest) -> Manifest:
        resource = WATCHED[manifest["kind"]]
        made = self._connection.request("POST", resource.path(manifest["metadata"].get("namespace", "")), manifest)
        with self._lock:
            # The watch has delivered a newer version.
            self._held[resource.kind].setdefault(_key(made), made)
        return made

    def merge(self, kind: str, namespace: str, name: str, patch: Manifest) -> Manifest:
        resource = WATCHED[kind]
        with self._lock:
            before = self._held[kind].get((namespace, name))
        made = self._connection.request("PATCH", resource.path(namespace, name), patch, content_type=_MERGE)
        with self._lock:
            # What the watch told meanwhile stands, be it that the object is gone.
            if before is not None and self._held[kind].get((namespace, name)) is before:
                self._held[kind][namespace, name] = made
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
        path = WATCHED[POD].path(metadata["namespace"], metadata["name"])
        self._connection.request("POST", f"{path}/binding", binding)
        # The next cycle must not allocate the resources again before the watch delivers the change.
        self._assume(pod, lambda held: {**held, "spec": {**held["spec"], "nodeName": node}})

    def evict(self, pod: Manifest, why: str) -> None:
        metadata = pod["metadata"]
        path = WATCHED[POD].path(metadata["namespace"], metadata["name"])
        self._condition(pod, {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}, why)
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": metadata["uid"]}}
        self._connection.request("DELETE", path, options)
        ends = {"deletionTimestamp": _now()}
        self._assume(pod, lambda held: {**held, "metadata": {**held["metadata"], **ends}})

    def wait(self, pod: Manifest, why: str) -> None:
        known = next((c for c in pod.get("status", {}).get("conditions") or () if c["type"] == "PodScheduled"), None)
        if known is None or known.get("message") != why:
            self._condition(pod, {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}, why)

    def _condition(self, pod: Manifest, condition: Mapping[str, str], message: str) -> None:
        path = WATCHED[POD].path(pod["metadata"]["namespace"], pod["metadata"]["name"])
        told = {**condition, "message": message, "lastTransitionTime": _now()}
        patch = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": {"conditions": [told]}}
        self._connection.request("PATCH", f"{path}/status", patch, content_type=_STRATEGIC)

    def _assume(self, pod: Manifest, changed: Callable[[Manifest], Manifest]) -> None:
        """Hold a pod as it will be, until the watch tells of it. A pod of which it told that it is gone stays gone."""
        key = _key(pod)
        with self._lock:
            pods = self._held[POD]
            held = pods.get(key)
            if held is not None and held["metadata"]["uid"] == pod["metadata"]["uid"]:
                pods[key] = changed(held)

    def _follow(self, resource: Resource) -> None:
        version = ""
        while not self._ended.is_set():
            try:
                if not version:
                    version = self._list(resource)
                version = self._watch(resource, version)
                self.faults.pop(resource.kind, None)
            except (Refused, Unreachable) as failed:
                # An expired resource version requires a new list; other errors may be temporary.
                version = ""
                if isinstance(failed, Refused) and failed.status == HTTPStatus.NOT_FOUND and not resource.is_needed:
                    self._listed[resource.kind].set()
                else:
                    self.faults[resource.kind] = f"{resource.plural}: {failed}"
                self._ended.wait(_AGAIN_S)

    def _list(self, resource: Resource) -> str:
        found: dict[Key, Manifest] = {}
        path = f"{resource.everywhere}?limit={_PAGE}"
        answer = self._connection.request("GET", path)
        while True:
            for one in answer["items"]:
                # Items of a list have no apiVersion and kind.
                found[_key(one)] = {"apiVersion": resource.api_version, "kind": resource.kind, **one}
            more = answer["metadata"].get("continue")
            if not more:
                break
            answer = self._connection.request("GET", f"{path}&continue={more}")
        with self._lock:
            self._held[resource.kind] = found
        self._listed[resource.kind].set()
        self.changed.set()
        return str(answer["metadata"]["resourceVersion"])

    def _watch(self, resource: Resource, version: str) -> str:
        path = f"{resource.everywhere}?watch=1&allowWatchBookmarks=true&resourceVersion={version}"
        for event in self._connection.lines(path, _WATCH_S):
            one: dict[str, Any] = event["object"]
            if event["type"] == "ERROR":
                raise Refused(int(one.get("code", 0)), str(one.get("message", "watch closed")))
            version = str(one["metadata"]["resourceVersion"])
            if event["type"] == "BOOKMARK":
                continue
            with self._lock:
                if event["type"] == "DELETED":
                    self._held[resource.kind].pop(_key(one), None)
                else:
                    self._held[resource.kind][_key(one)] = one
            self.changed.set()
            if self._ended.is_set():
                break
        return version


def _key(manifest: Manifest) -> Key:
    return manifest["metadata"].get("namespace", ""), manifest["metadata"]["name"]


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
