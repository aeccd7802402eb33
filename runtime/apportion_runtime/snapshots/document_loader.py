"""Loads objects from JSON or YAML: one or several documents, with lists expanded."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import yaml

from apportion_api.json_texts import json_fault, json_spans
from apportion_api.kai.names import BIND_REQUEST_API, POD_GROUP_API, QUEUE_API, TOPOLOGY_API
from apportion_api.kubernetes.names import PRIORITY_CLASS_API
from apportion_runtime.snapshots.codec import described_value
from apportion_runtime.snapshots.faults import UNREADABLE, Fault, ObjectLocation, Path
from apportion_runtime.snapshots.yaml_bounds import BoundsError, check_bounds

_LIST = "List"
ENGINE_CONFIGURATION = "EngineConfiguration"
"""The kind under which the engine's own dump contains its configuration."""
_RENDER = "pass the output of `kubectl get -o json` or `-o yaml`, or a document of kind Snapshot"
_DUMPED = {
    "pods": ("v1", "Pod"),
    "nodes": ("v1", "Node"),
    "queues": (QUEUE_API, "Queue"),
    "podGroups": (POD_GROUP_API, "PodGroup"),
    "bindRequests": (BIND_REQUEST_API, "BindRequest"),
    "priorityClasses": (PRIORITY_CLASS_API, "PriorityClass"),
    "configMaps": ("v1", "ConfigMap"),
    "persistentVolumeClaims": ("v1", "PersistentVolumeClaim"),
    "resourceClaims": ("resource.k8s.io/v1", "ResourceClaim"),
    "resourceSlices": ("resource.k8s.io/v1", "ResourceSlice"),
    "deviceClasses": ("resource.k8s.io/v1", "DeviceClass"),
    "topologies": (TOPOLOGY_API, "Topology"),
    "nodeResourceTopologies": ("topology.node.k8s.io/v1alpha2", "NodeResourceTopology"),
}
"""The lists that the engine's own snapshot plugin writes as `rawObjects` (pkg/scheduler/plugins/snapshot)."""


@dataclass(frozen=True, slots=True)
class Source:
    """A text and its name in findings."""

    name: str
    text: str


class LocatedObject(NamedTuple):
    """An object and its location."""

    data: dict[str, Any]
    place: ObjectLocation


def load(sources: Sequence[Source]) -> tuple[list[LocatedObject], list[Fault]]:
    """Return every object of some texts, and the faults of unreadable ones."""
    objects: list[LocatedObject] = []
    faults: list[Fault] = []
    for number, source in enumerate(sources):
        try:
            documents = list(documents_of(source.text))
        except NotText as wrong:
            hint = wrong.hint or _RENDER
            faults.append(Fault(UNREADABLE, source.name, wrong.message, hint, None, source.name, wrong.line))
            continue
        taking = _ObjectCollector(source.name, objects, faults)
        for at, document in enumerate(documents):
            if document is not None:
                taking.document(document, ObjectLocation(number, at))
    return objects, faults


class NotText(Exception):
    """A text is neither JSON nor YAML: the error, its line (0 if unknown), and the remedy (empty if unknown)."""

    def __init__(self, message: str, line: int, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.hint = hint


class Loader(yaml.CSafeLoader):
    """Reads YAML like Kubernetes: a time is text."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def documents_of(text: str) -> Iterator[Any]:
    """Yield the documents of a text: JSON, one after the other, or YAML. Raises `NotText`."""
    if text.lstrip()[:1] in ("{", "["):
        try:
            yield from _json_documents(text)
        except json.JSONDecodeError:
            try:
                documents = list(_yaml_documents(text))
            except NotText:
                fault = json_fault(text)
                if fault is None:
                    raise
                raise NotText(f"{fault.message} (column {fault.column})", fault.line, fault.hint) from None
            yield from documents
        except RecursionError:
            raise NotText("invalid JSON: too many levels of nesting", 0) from None
        except ValueError:
            raise NotText("invalid JSON: a number has too many digits", 0) from None
        return
    yield from _yaml_documents(text)


def _json_documents(text: str) -> Iterator[Any]:
    # All or nothing: a text that is JSON only at its beginning may be YAML.
    yield from [value for _, _, value in json_spans(text)]


def _yaml_documents(text: str) -> Iterator[Any]:
    try:
        check_bounds(text)
        yield from yaml.load_all(text, Loader=Loader)
    except BoundsError as wrong:
        raise NotText(f"invalid YAML: {wrong.message}", wrong.line) from None
    except yaml.MarkedYAMLError as wrong:
        mark = wrong.problem_mark or wrong.context_mark
        raise NotText(f"invalid YAML: {wrong.problem or wrong.context}", mark.line + 1 if mark else 0) from None
    except (yaml.YAMLError, ValueError, RecursionError) as wrong:
        raise NotText(f"invalid YAML: {str(wrong).splitlines()[0]}", 0) from None


@dataclass(frozen=True, slots=True)
class _ObjectCollector:
    """Collects the objects of all documents of a text."""

    name: str
    objects: list[LocatedObject]
    faults: list[Fault]

    def document(self, document: object, place: ObjectLocation) -> None:
        if isinstance(document, list):
            self._items(document, place, (), ("", ""))
        elif not isinstance(document, dict):
            self._refuse(f"expected an object, found {described_value(document)}", place)
        elif isinstance(raw := document.get("rawObjects"), dict):
            self._dump(document, raw, place)
        else:
            kind, items = document.get("kind"), document.get("items")
            if isinstance(kind, str) and kind.endswith(_LIST) and isinstance(items, list | None):
                of = (str(document.get("apiVersion", "")), kind.removesuffix(_LIST))
                self._items(items or [], place, ("items",), of)
            elif not isinstance(kind, str) or not kind:
                self._refuse("an object has no kind", place)
            else:
                self.objects.append(LocatedObject(document, place))

    def _dump(self, document: Mapping[str, Any], raw: Mapping[str, Any], place: ObjectLocation) -> None:
        for key, of in _DUMPED.items():
            items = raw.get(key) or []
            if isinstance(items, list):
                self._items(items, place, ("rawObjects", key), of)
        configured = {key: document.get(key) for key in ("config", "schedulerParams") if document.get(key)}
        if configured:
            made = {"apiVersion": "", "kind": ENGINE_CONFIGURATION, "metadata": {"name": "scheduler"}, **configured}
            self.objects.append(LocatedObject(made, place))

    def _items(self, items: Iterable[object], place: ObjectLocation, path: Path, of: tuple[str, str]) -> None:
        version, kind = of
        for number, item in enumerate(items):
            at = ObjectLocation(place.source, place.document, (*path, number))
            if not isinstance(item, dict):
                self._refuse(f"expected an object, found {described_value(item)}", at)
            elif item.get("kind"):
                self.objects.append(LocatedObject(item, at))
            elif kind:
                # The items of a typed list need not repeat their kind.
                self.objects.append(LocatedObject({**item, "apiVersion": version, "kind": kind}, at))
            else:
                self._refuse("an object has no kind", at)

    def _refuse(self, message: str, place: ObjectLocation) -> None:
        self.faults.append(Fault(UNREADABLE, self.name, message, _RENDER, place))
