"""The ElasticQuotaTree: what each node is promised (`min`), what it may use at most (`max`), and whose namespaces it has.

Source: koordinator-sh/koord-queue at 298e9a8c, pkg/framework/plugins/elasticquota/elasticquotatree/elasticquota.go.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from apportion_runtime.admission.objects import Manifest, labels_of, nested
from apportion_runtime.engines.ack import api_names
from apportion_runtime.engines.ack.amounts import Amounts, amounts, minus


class TreeError(ValueError):
    """A tree that cannot be read, with the node at fault."""


@dataclass(frozen=True, slots=True)
class Quota:
    """A node of the tree.

    Attributes:
        name: Its own name.
        path: Its full name: `root/algorithm/video`.
        parent: The full name of the one above; None for the root.
        minimum: What it is promised; a resource that is left out is promised nothing.
        maximum: What it may use; a resource that is left out has no bound.
        kept: What it is promised and does not lend, where it says so.
        namespaces: Whose jobs and pods count here.
    """

    name: str
    path: str
    parent: str | None
    minimum: Amounts
    maximum: Amounts
    kept: Amounts = field(default_factory=dict)
    namespaces: tuple[str, ...] = ()

    @property
    def has_no_guarantee(self) -> bool:
        """Whether everything that it uses is lent."""
        return not any(self.minimum.values())

    def holds_to_min(self, amount: Amounts, used: Amounts) -> bool:
        """Tell whether it has no more than it is promised once it has some amount, too.

        A resource that it says nothing of does not count; one that it only bounds is promised nothing.
        """
        return all(
            used.get(name, 0) + asked <= self.minimum.get(name, 0)
            for name, asked in amount.items()
            if asked and (name in self.minimum or name in self.maximum)
        )


@dataclass(frozen=True, slots=True)
class Tree:
    """The nodes by full name, parents before their children.

    ACK's documentation wants names to be unique in the whole tree. Where they are not, as in seed document 002's own, a
    label names the last node of a name; namespaces name each.
    """

    quotas: Mapping[str, Quota]
    children: Mapping[str, tuple[str, ...]]
    by_name: Mapping[str, str]
    by_namespace: Mapping[str, str]

    @property
    def parents(self) -> dict[str, str | None]:
        """Of each node the one above."""
        return {path: quota.parent for path, quota in self.quotas.items()}

    def shown(self) -> dict[str, str]:
        """Return what each node is called in reports: its own name, or its full name where another one has that, too."""
        counts = Counter(quota.name for quota in self.quotas.values())
        return {path: quota.name if counts[quota.name] == 1 else path for path, quota in self.quotas.items()}

    @property
    def has_unlent(self) -> bool:
        """Whether some node lends less than it is promised."""
        return any(quota.kept for quota in self.quotas.values())

    def upward(self, path: str) -> Iterator[Quota]:
        """Yield a node and those above it."""
        at: str | None = path
        while at is not None:
            quota = self.quotas[at]
            yield quota
            at = quota.parent

    def quota_of(self, made: Manifest) -> str | None:
        """Return the full name of the node that a job or a pod counts at; None where it counts nowhere."""
        labels = labels_of(made)
        for key in api_names.QUOTA_LABELS:
            if key in labels:
                return self.by_name.get(labels[key])
        return self.by_namespace.get(str(nested(made, "metadata", "namespace") or ""))


def read_tree(made: Manifest) -> Tree:
    """Return the tree that an object describes.

    Raises:
        TreeError: If a node cannot be read.
    """
    root = nested(made, "spec", "root")
    if not isinstance(root, Mapping):
        raise TreeError("spec.root: an ElasticQuotaTree has a root")
    quotas: dict[str, Quota] = {}
    children: dict[str, tuple[str, ...]] = {}
    _read(root, None, "spec.root", quotas, children)
    by_namespace = {namespace: path for path, quota in quotas.items() for namespace in quota.namespaces}
    return Tree(quotas, children, dict(_by_name(api_names.ROOT, quotas, children)), by_namespace)


def _by_name(
    path: str, quotas: Mapping[str, Quota], children: Mapping[str, tuple[str, ...]]
) -> Iterator[tuple[str, str]]:
    """Yield names and what they are of, children before their parents; kube-queue keeps the last one of a name."""
    for child in children[path]:
        yield from _by_name(child, quotas, children)
    yield quotas[path].name, path


def _read(
    node: Mapping[str, Any],
    parent: str | None,
    at: str,
    quotas: dict[str, Quota],
    children: dict[str, tuple[str, ...]],
) -> str:
    if not isinstance(node, Mapping):
        raise TreeError(f"{at}: a node is a mapping")
    name = api_names.ROOT if parent is None else str(node.get("name") or "")
    if not name:
        raise TreeError(f"{at}.name: a node has a name")
    path = name if parent is None else f"{parent}/{name}"
    minimum, maximum = _amounts(node, "min", at), _amounts(node, "max", at)
    if path in quotas:
        raise TreeError(f"{at}.name: {path} is listed twice")
    namespaces, below = _listed(node, "namespaces", at), _listed(node, "children", at)
    quotas[path] = Quota(
        name, path, parent, minimum, maximum, _kept(node, minimum, at), tuple(str(each) for each in namespaces)
    )
    children[path] = tuple(
        _read(child, path, f"{at}.children[{number}]", quotas, children) for number, child in enumerate(below)
    )
    return path


def _listed(node: Mapping[str, Any], key: str, at: str) -> list[Any]:
    found = node.get(key) or []
    if not isinstance(found, list):
        raise TreeError(f"{at}.{key}: it is not a list")
    return found


def _amounts(node: Mapping[str, Any], key: str, at: str) -> dict[str, int]:
    found = node.get(key) or {}
    if not isinstance(found, Mapping):
        raise TreeError(f"{at}.{key}: it is not a mapping of resources")
    try:
        return amounts(found)
    except ValueError as wrong:
        raise TreeError(f"{at}.{key}: {wrong}") from None


def _kept(node: Mapping[str, Any], minimum: Amounts, at: str) -> dict[str, int]:
    """Return what a node does not lend: its `min` less its lend limit, which lends nothing of what it leaves out."""
    attributes = node.get("attributes") or {}
    if not isinstance(attributes, Mapping):
        raise TreeError(f"{at}.attributes: it is not a mapping")
    written = attributes.get(api_names.LEND_LIMIT)
    if written is None:
        return {}
    try:
        lent = amounts(json.loads(written))
    except (ValueError, TypeError, AttributeError) as wrong:
        raise TreeError(f"{at}.attributes[{api_names.LEND_LIMIT}]: {wrong}") from None
    return {name: amount for name, amount in minus(minimum, lent).items() if amount > 0}
