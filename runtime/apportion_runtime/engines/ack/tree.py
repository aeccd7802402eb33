"""The ElasticQuotaTree: what each node is promised (`min`), what it may use at most (`max`), and whose namespaces it has.

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
        for key in QUOTA_LABELS:
            if key in labels:
                return self.by_name.get(labels[key])
        return self.by_namespace.get(str(nested(made, "metadata", "namespace") or ""))


def read_tree(made: Manifest) -> Tree:
    """Return the tree that an object describes.

    Raises:
        TreeError: If a node cannot be read.
    """
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
        quotas[path] = Quota(name, path, parent, minimum, maximum, _kept(node, minimum), node.namespaces)
    children = {path: tuple(paths) for path, paths in below.items()}
    by_namespace = {namespace: path for path, quota in quotas.items() for namespace in quota.namespaces}
    return Tree(quotas, children, dict(_by_name(ROOT, quotas, children)), by_namespace)


def _by_name(
    path: str, quotas: Mapping[str, Quota], children: Mapping[str, tuple[str, ...]]
) -> Iterator[tuple[str, str]]:
    """Yield names and what they are of, children before their parents; kube-queue keeps the last one of a name."""
    for child in children[path]:
        yield from _by_name(child, quotas, children)
    yield quotas[path].name, path


def _amounts(written: Mapping[str, Written], at: str) -> dict[str, int]:
    try:
        return amounts(written)
    except ValueError as wrong:
        raise TreeError(f"{at}: {wrong}") from None


def _kept(node: QuotaNode, minimum: Amounts) -> dict[str, int]:
    """Return what a node does not lend: its `min` less its lend limit, which lends nothing of what it leaves out."""
    written = node.attributes.get(LEND_LIMIT_ATTRIBUTE)
    if written is None:
        return {}
    try:
        lent = amounts(json.loads(written))
    except (ValueError, TypeError, AttributeError) as wrong:
        raise TreeError(f"{node.at}.attributes[{LEND_LIMIT_ATTRIBUTE}]: {wrong}") from None
    return {name: amount for name, amount in minus(minimum, lent).items() if amount > 0}
