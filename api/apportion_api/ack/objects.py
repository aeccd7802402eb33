"""ElasticQuotaTree and Queue, by the paths of their fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from apportion_api.ack.names import FULL_NAME_ANNOTATION, QUEUE_GROUP, ROOT, TREE_GROUP
from apportion_api.fields import Fields, Written
from apportion_api.objects import (
    ApiObject,
    derived,
    integer,
    optional_part,
    quantities,
    read_fields,
    text,
    text_map,
    texts,
)

_FIELDS = frozenset(("name", "namespaces", "attributes", "children", "min", "max"))


def _children(node: Fields) -> tuple[QuotaNode, ...]:
    return tuple(read_fields(QuotaNode, child) for child in node.each("children"))


@dataclass(frozen=True, slots=True)
class QuotaNode:
    """A node of the tree, and its path; `unknown` are names of unknown fields."""

    at: str = derived(lambda node: node.path, "")
    name: str | None = text("name")
    minimum: Mapping[str, Written] = quantities("min")
    maximum: Mapping[str, Written] = quantities("max")
    namespaces: tuple[str, ...] = texts("namespaces")
    attributes: Mapping[str, str] = text_map("attributes")
    children: tuple[QuotaNode, ...] = derived(_children, ())
    unknown: tuple[str, ...] = derived(lambda node: tuple(key for key in node.written if key not in _FIELDS), ())

    def walk(self, parent: str | None = None) -> Iterator[tuple[str, str | None, QuotaNode]]:
        """Yield the full name of each node, that of its parent, and the node; parents before their children."""
        path = ROOT if parent is None else f"{parent}/{self.name}"
        yield path, parent, self
        for child in self.children:
            yield from child.walk(path)


@dataclass(frozen=True, slots=True)
class ElasticQuotaTree(ApiObject):
    """An ElasticQuotaTree."""

    group = TREE_GROUP
    namespace: str | None = text("metadata.namespace")
    root: QuotaNode | None = optional_part("spec.root", QuotaNode)


@dataclass(frozen=True, slots=True)
class Queue(ApiObject):
    """A Queue of kube-queue."""

    group = QUEUE_GROUP
    namespace: str | None = text("metadata.namespace")
    annotations: Mapping[str, str] = text_map("metadata.annotations")
    policy: str | None = text("spec.queuePolicy")
    priority: int | None = integer("spec.priority")

    @property
    def quota(self) -> str | None:
        """The full name of its node."""
        return self.annotations.get(FULL_NAME_ANNOTATION)
