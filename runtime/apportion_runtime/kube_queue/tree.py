"""The ElasticQuotaTree: the guarantee (`min`), limit (`max`) and namespaces of each node.

Source: koordinator-sh/koord-queue at 298e9a8c, pkg/framework/plugins/elasticquota/elasticquotatree/elasticquota.go.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from apportion_api.ack.names import LEND_LIMIT_ATTRIBUTE, QUOTA_LABELS, ROOT
from apportion_api.ack.objects import ElasticQuotaTree, QuotaNode
from apportion_api.fields import Written
from apportion_api.objects import read
from apportion_runtime.admission.objects import Manifest, labels_of, nested
from apportion_runtime.kube_queue.amounts import Amounts, amounts, minus

_MAX_DEPTH = 100


class TreeError(ValueError):
    """An invalid tree; the message names the node."""


@dataclass(frozen=True, slots=True)
class Quota:
    """A node of the tree.

    Attributes:
        name: Its own name.
        path: Its path: `root/algorithm/video`.
        parent: The path of its parent; None for the root.
        minimum: Its guarantee; 0 for a resource without an entry.
        maximum: Its limit; a resource without an entry is unlimited.
        kept: The part of the guarantee that it does not lend, if it has a lend limit.
        overlent: The part of its lend limit above the guarantee.
        namespaces: The namespaces whose jobs and pods it counts.
    """

    name: str
    path: str
    parent: str | None
    minimum: Amounts
    maximum: Amounts
    kept: Amounts = field(default_factory=dict)
    overlent: Amounts = field(default_factory=dict)
    namespaces: tuple[str, ...] = ()

    @property
    def has_no_guarantee(self) -> bool:
        """Whether all its usage is borrowed."""
        return not any(self.minimum.values())

    def holds_to_min(self, amount: Amounts, used: Amounts) -> bool:
        """Return whether the quota's usage plus an amount is within its guarantee.

        A resource without `min` and `max` does not count; one with `max` only has no guarantee.
        """
        return all(
            used.get(name, 0) + asked <= self.minimum.get(name, 0)
            for name, asked in amount.items()
            if asked and (name in self.minimum or name in self.maximum)
        )


@dataclass(frozen=True, slots=True)
class Tree:
    """The nodes by full name, parents before their children.

    ACK's documentation requires unique names in the whole tree. If they are not, as in seed document 002, a label
    selects the last node of a name; namespaces select each.
    """

    quotas: Mapping[str, Quota]
    children: Mapping[str, tuple[str, ...]]
    by_name: Mapping[str, str]
    by_namespace: Mapping[str, str]

    @property
    def parents(self) -> dict[str, str | None]:
        """The parent of each node."""
        return {path: quota.parent for path, quota in self.quotas.items()}

    def shown(self) -> dict[str, str]:
        """Return the name of each node in reports: its own name, or its path if the name is not unique."""
        counts = Counter(quota.name for quota in self.quotas.values())
        return {path: quota.name if counts[quota.name] == 1 else path for path, quota in self.quotas.items()}

    @property
    def shared_namespaces(self) -> dict[str, tuple[str, ...]]:
        """The namespaces that several quotas list, with these quotas; the last one counts them."""
        listed: dict[str, list[str]] = {}
        for path, quota in self.quotas.items():
            for namespace in dict.fromkeys(quota.namespaces):
                listed.setdefault(namespace, []).append(path)
        return {namespace: tuple(paths) for namespace, paths in listed.items() if len(paths) > 1}

    def upward(self, path: str) -> Iterator[Quota]:
        """Yield a node and its ancestors."""
        at: str | None = path
        while at is not None:
            quota = self.quotas[at]
            yield quota
            at = quota.parent

    def quota_of(self, made: Manifest) -> str | None:
        """Return the path of the quota of a job or pod; None if it has none."""
        labels = labels_of(made)
        for key in QUOTA_LABELS:
            if key in labels:
                return self.by_name.get(labels[key])
        return self.by_namespace.get(str(nested(made, "metadata", "namespace") or ""))


def read_tree(made: Manifest) -> Tree:
    """Return the tree that an object describes.

    Raises:
        TreeError: If a node is invalid.
    """
    _check_depth(made)
    tree = read(ElasticQuotaTree, made)
    if tree.root is None:
        raise TreeError("spec.root: an ElasticQuotaTree must have a root")
    if tree.faults:
        raise TreeError(str(tree.faults[0]))
    quotas: dict[str, Quota] = {}
    below: dict[str, list[str]] = {}
    for path, parent, node in tree.root.walk():
        if parent is not None:
            if not node.name:
                raise TreeError(f"{node.at}.name: a node must have a name")
            below[parent].append(path)
        if path in quotas:
            raise TreeError(f"{node.at}.name: {path} is listed twice")
        below[path] = []
        minimum, maximum = _amounts(node.minimum, f"{node.at}.min"), _amounts(node.maximum, f"{node.at}.max")
        name = ROOT if parent is None else str(node.name)
        unlent = _unlent(node, minimum)
        kept = {resource: amount for resource, amount in unlent.items() if amount > 0}
        overlent = {resource: -amount for resource, amount in unlent.items() if amount <= 0}
        quotas[path] = Quota(name, path, parent, minimum, maximum, kept, overlent, node.namespaces)
    children = {path: tuple(paths) for path, paths in below.items()}
    by_namespace = {namespace: path for path, quota in quotas.items() for namespace in quota.namespaces}
    return Tree(quotas, children, dict(_by_name(ROOT, quotas, children)), by_namespace)


def _check_depth(made: Manifest) -> None:
    """Raise `TreeError` for a tree that cannot be read recursively."""
    level: list[object] = [nested(made, "spec", "root")]
    depth = 0
    while level:
        depth += 1
        if depth > _MAX_DEPTH:
            raise TreeError(f"spec.root: the tree has more than {_MAX_DEPTH} levels")
        below = [one["children"] for one in level if isinstance(one, Mapping) and isinstance(one.get("children"), list)]
        level = [child for children in below for child in children]


def _by_name(
    path: str, quotas: Mapping[str, Quota], children: Mapping[str, tuple[str, ...]]
) -> Iterator[tuple[str, str]]:
    """Yield names and paths, children before their parents; kube-queue keeps the last one of a name."""
    for child in children[path]:
        yield from _by_name(child, quotas, children)
    yield quotas[path].name, path


def _amounts(written: Mapping[str, Written], at: str) -> dict[str, int]:
    try:
        return amounts(written)
    except ValueError as wrong:
        raise TreeError(f"{at}: {wrong}") from None


def _unlent(node: QuotaNode, minimum: Amounts) -> dict[str, int]:
    """Return `min` minus the lend limit, which may be negative; a resource without a lend limit is not lent."""
    written = node.attributes.get(LEND_LIMIT_ATTRIBUTE)
    if written is None:
        return {}
    try:
        lent = amounts(json.loads(written))
    except RecursionError:
        raise TreeError(f"{node.at}.attributes[{LEND_LIMIT_ATTRIBUTE}]: the value is nested too deeply") from None
    except (ValueError, TypeError, AttributeError) as wrong:
        raise TreeError(f"{node.at}.attributes[{LEND_LIMIT_ATTRIBUTE}]: {wrong}") from None
    return minus(minimum, lent)
