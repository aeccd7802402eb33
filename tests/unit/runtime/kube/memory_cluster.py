"""A cluster in memory that does at once what it is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apportion_runtime.admission.objects import Unreadable
from apportion_runtime.kube.cluster import Manifest
from apportion_runtime.kube.errors import Refused

from .api_server import merged


class Memory:
    """A cluster that does at once what it is asked."""

    def __init__(self, *manifests: dict[str, Any]) -> None:
        self.held = {self._key(m): m for m in manifests}
        self.evicted: dict[str, str] = {}
        self.told: dict[str, str] = {}
        self.refuses: set[str] = set()
        self.unreadable: set[str] = set()

    def objects(self) -> Sequence[Manifest]:
        return list(self.held.values())

    def get(self, kind: str, namespace: str, name: str) -> Manifest | None:
        return self.held.get((kind, namespace, name))

    def read(self, api_version: str, kind: str, namespace: str, name: str) -> Manifest | None:
        if f"{api_version}/{kind}" in self.unreadable:
            raise Unreadable(kind)
        found = self.held.get((kind, namespace, name))
        return found if found is not None and found["apiVersion"] == api_version else None

    def pods(self, namespace: str, labels: Mapping[str, str]) -> Sequence[Manifest]:
        pods = [made for (kind, place, _), made in self.held.items() if (kind, place) == ("Pod", namespace)]
        return [pod for pod in pods if labels.items() <= pod["metadata"].get("labels", {}).items()]

    def create(self, manifest: Manifest) -> Manifest:
        made = dict(manifest)
        made["metadata"] = {"uid": f"uid-{manifest['metadata']['name']}", **manifest["metadata"]}
        self.held[self._key(made)] = made
        return made

    def merge(self, kind: str, namespace: str, name: str, patch: Manifest) -> Manifest:
        made = merged(self.held[kind, namespace, name], patch)
        self.held[kind, namespace, name] = made
        return made

    def bind(self, pod: Manifest, node: str) -> None:
        name = pod["metadata"]["name"]
        if name in self.refuses:
            raise Refused(409, "the pod was changed")
        self.held["Pod", "team", name] = {**pod, "spec": {**pod["spec"], "nodeName": node}}

    def evict(self, pod: Manifest, why: str) -> None:
        self.evicted[pod["metadata"]["name"]] = why

    def wait(self, pod: Manifest, why: str) -> None:
        self.told[pod["metadata"]["name"]] = why

    def node_of(self, name: str) -> str | None:
        node: str | None = self.held["Pod", "team", name]["spec"].get("nodeName")
        return node

    @staticmethod
    def _key(manifest: Manifest) -> tuple[str, str, str]:
        return manifest["kind"], manifest["metadata"].get("namespace", ""), manifest["metadata"]["name"]
