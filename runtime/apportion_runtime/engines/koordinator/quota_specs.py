"""ElasticQuotas as the scheduler reads them: quota trees, and the quota of each pod.

Source: pkg/scheduler/plugins/elasticquota (plugin_helper.go, quota_handler.go), apis/extension/elastic_quota.go;
pkg/quota-controller/profile (the root of a tree) at a7a1b76b.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from apportion_api.fields import Written
from apportion_api.koordinator.names import (
    DEFAULT_QUOTA,
    QUEUE_LABEL,
    ROOT_QUOTA,
    SYSTEM_QUOTA,
)
from apportion_api.koordinator.objects import ElasticQuota, ElasticQuotaProfile
from apportion_api.objects import is_a, read
from apportion_runtime.admission.objects import labels_of, name_of, namespace_of
from apportion_runtime.sim.engine import UnreadableError, reading
from apportion_runtime.sim.scenario.format import Manifest
from apportion_runtime.snapshots.pod_requests import Amounts, amounts

OWN_MAXIMUM: Amounts = {"cpu": (2**63 - 1) // 5 * 1000, "memory": (2**63 - 1) // 5}
"""The `max` of the default and system quotas, unless the configuration sets it (defaultDefaultQuotaGroupMax)."""
_TREE_MAXIMUM = (2**63 - 1) // 2000
_OWN = frozenset((ROOT_QUOTA, SYSTEM_QUOTA, DEFAULT_QUOTA))


@dataclass(frozen=True, slots=True)
class QuotaSpec:
    """A quota: `minimum`, `maximum` and `weights` are millicores, bytes and plain counts.

    Attributes:
        name: Its name.
        parent: The name of its parent; None for a quota at the root of its tree.
        tree: The id of its tree; empty for the default one.
        is_parent: Whether it may have children.
        lends: Whether others may use its guarantee while it does not request it.
    """

    name: str
    parent: str | None
    tree: str = ""
    is_parent: bool = False
    lends: bool = True
    minimum: Amounts = field(default_factory=dict[str, int])
    maximum: Amounts = field(default_factory=dict[str, int])
    weights: Amounts = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class TreeProfile:
    """The nodes of a quota tree, by labels; the name of its root, and the resources that the root counts."""

    tree: str
    root: str
    selector: Mapping[str, str]
    resources: frozenset[str]

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Return whether a node belongs to the tree."""
        return all(labels.get(key) == value for key, value in self.selector.items())


@dataclass(frozen=True, slots=True)
class Quotas:
    """The quotas of a cluster by name, parents first; the quotas of namespaces, and the profiles of trees."""

    specs: Mapping[str, QuotaSpec]
    by_namespace: Mapping[str, str]
    profiles: tuple[TreeProfile, ...] = ()

    def quota_of(self, pod: Manifest) -> str:
        """Return the quota that counts a pod: that of its label, else that of its namespace, else the default quota."""
        name = labels_of(pod).get(QUEUE_LABEL) or self.by_namespace.get(namespace_of(pod), DEFAULT_QUOTA)
        return name if name in self.specs else DEFAULT_QUOTA

    def profile_of(self, quota: str) -> TreeProfile | None:
        """Return the profile of a quota's tree; None for the default tree."""
        tree = self.specs[quota].tree
        return next((profile for profile in self.profiles if profile.tree == tree), None) if tree else None


def read_quotas(
    elastic_quotas: Iterable[Manifest], profiles: Iterable[Manifest], own_maxima: Mapping[str, Amounts] | None = None
) -> Quotas:
    """Return the quotas of a cluster.

    Args:
        elastic_quotas: The ElasticQuotas; objects of the same kind in other groups are skipped.
        profiles: The ElasticQuotaProfiles, which define the trees beside the default one.
        own_maxima: The `max` of the default and system quotas if they are not among the ElasticQuotas, by name.

    Raises:
        UnreadableError: For a quota that cannot be read, with the name of another one, whose parent does not exist, or
            with other resources in `max` than its parent.
    """
    trees = tuple(_profile(made) for made in profiles)
    found = {tree.root: _tree_root(tree) for tree in trees}
    by_namespace: dict[str, str] = {}
    own_namespace: dict[str, str] = {}
    namespaces: dict[str, str | None] = {}
    own = {name: _own(name, (own_maxima or {}).get(name, OWN_MAXIMUM)) for name in (DEFAULT_QUOTA, SYSTEM_QUOTA)}
    for made in elastic_quotas:
        if not is_a(ElasticQuota, made):
            continue
        with reading(f"ElasticQuota {name_of(made)}"):
            quota = read(ElasticQuota, made)
            if quota.faults:
                raise UnreadableError(f"ElasticQuota {quota.name}: {quota.faults[0]}")
            if quota.is_root:
                continue
            if namespaces.setdefault(quota.name, quota.namespace) != quota.namespace:
                raise UnreadableError(
                    f"ElasticQuota {quota.name} exists in the namespaces {namespaces[quota.name]} and {quota.namespace}; "
                    "Koordinator's webhook rejects a name that another quota has"
                )
            if quota.name not in _OWN:
                found[quota.name] = _spec(quota)
            elif quota.name in own:
                own[quota.name] = replace(_spec(quota), parent=None)
            by_namespace.update(dict.fromkeys(quota.namespaces, quota.name))
            if quota.namespace == quota.name:
                own_namespace[quota.name] = quota.name
    ordered = dict(_parents_first(found))
    _check(ordered, trees)
    return Quotas({**ordered, **own}, {**by_namespace, **own_namespace}, trees)


def _own(name: str, maximum: Amounts) -> QuotaSpec:
    return QuotaSpec(name, None, maximum=maximum, weights=_in_64_bits(maximum))


def _in_64_bits(weights: Amounts) -> dict[str, int]:
    """Return weights as the engine reads them: in millicores, the `max` of the default quota overflows to -600."""
    return {name: (amount + 2**63) % 2**64 - 2**63 for name, amount in weights.items()}


def _spec(quota: ElasticQuota) -> QuotaSpec:
    return QuotaSpec(
        quota.name,
        None if quota.parent == ROOT_QUOTA else quota.parent,
        quota.tree_id,
        is_parent=quota.is_parent,
        lends=quota.lends,
        minimum=amounts(quota.minimum),
        maximum=amounts(quota.maximum),
        weights=_in_64_bits(amounts({key: _written(value) for key, value in quota.weights.items()})),
    )


def _written(value: object) -> Written:
    return value if isinstance(value, int | float) else str(value)


def _profile(made: Manifest) -> TreeProfile:
    with reading(f"ElasticQuotaProfile {name_of(made)}"):
        profile = read(ElasticQuotaProfile, made)
        if not profile.tree_id or not profile.quota or not profile.nodes:
            raise ValueError("a tree ID, spec.quotaName and node matchLabels are required")
        return TreeProfile(profile.tree_id, profile.quota, profile.nodes, profile.resources)


def _tree_root(tree: TreeProfile) -> QuotaSpec:
    maximum = {name: _TREE_MAXIMUM * (1000 if name == "cpu" else 1) for name in sorted(tree.resources)}
    return QuotaSpec(tree.root, None, tree.tree, is_parent=True, maximum=maximum, weights=maximum)


def _parents_first(specs: Mapping[str, QuotaSpec]) -> Iterator[tuple[str, QuotaSpec]]:
    """Yield the quotas, each after its parent. Raises `UnreadableError` for a missing parent or a cycle."""
    done: set[str] = set()
    for spec in specs.values():
        path: list[QuotaSpec] = []
        at: QuotaSpec | None = spec
        while at is not None and at.name not in done:
            if at in path:
                raise UnreadableError(f"ElasticQuota {at.name} is its own ancestor")
            path.append(at)
            if at.parent is not None and at.parent not in specs:
                raise UnreadableError(f"ElasticQuota {at.name}: parent {at.parent} does not exist")
            at = None if at.parent is None else specs[at.parent]
        for each in reversed(path):
            done.add(each.name)
            yield each.name, each


def _check(specs: Mapping[str, QuotaSpec], trees: tuple[TreeProfile, ...]) -> None:
    known = {tree.tree for tree in trees}
    for spec in specs.values():
        if spec.tree and spec.tree not in known:
            raise UnreadableError(f"ElasticQuota {spec.name}: tree {spec.tree} has no ElasticQuotaProfile")
        if spec.parent is None:
            continue
        parent = specs[spec.parent]
        if parent.tree != spec.tree:
            raise UnreadableError(f"ElasticQuota {spec.name} is not in the tree of its parent {parent.name}")
        if spec.maximum.keys() != parent.maximum.keys():
            raise UnreadableError(
                f"ElasticQuota {spec.name}: max must list the same resources as parent {parent.name}; otherwise, "
                "Koordinator's webhook rejects it"
            )
