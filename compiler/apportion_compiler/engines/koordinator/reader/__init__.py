"""Koordinator's objects: ElasticQuotas of all trees as queues, ElasticQuotaProfile, ClusterNetworkTopology.

A tree for the nodes of a profile is imported as a GPU model, and the quotas of a queue as its amounts of each model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from apportion_api.koordinator.names import (
    DEFAULT_QUOTA,
    NAMESPACES_ANNOTATION,
    NODE_LAYER,
    QUOTA_PREFIX,
    ROOT_QUOTA,
    SYSTEM_QUOTA,
)
from apportion_api.koordinator.objects import ClusterNetworkTopology, ElasticQuota, ElasticQuotaProfile
from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_api.objects import is_a, read_all
from apportion_api.objects import read as read_object
from apportion_compiler.backends.metadata import QUEUE_ID_LABEL
from apportion_compiler.backends.quota_tree import stands_for_no_size
from apportion_compiler.engines.koordinator.names import (
    STAND_IN_ANNOTATION,
    TOPOLOGY_ANNOTATION,
    WEIGHT_UNIT_ANNOTATION,
)
from apportion_compiler.plain_objects import described, parents_first
from apportion_compiler.pool_label_keys import GPU_MODEL_LABEL
from apportion_compiler.readers.admission import admission_facts
from apportion_compiler.readers.classes import priority_classes
from apportion_compiler.readers.namespaces import with_namespaces
from apportion_compiler.readers.objects import own_labels, owner_of, queue_id
from apportion_compiler.readers.quota_numbers import amounts_of, bounds, guaranteed_amounts, size_pools
from apportion_compiler.readers.record import (
    ImportRecord,
    Manifest,
    Note,
    PoolRecord,
    QueueRecord,
    Reader,
    TopologyRecord,
)
from apportion_policy.errors import QuantityError
from apportion_policy.quantity import Amount, Unlimited, add, kubernetes_units
from apportion_policy.resources import CPU, GPU, MEMORY, gpu_resource

_OWN = (ROOT_QUOTA, SYSTEM_QUOTA, DEFAULT_QUOTA)
_WEIGHTED = {"cpu": CPU, "memory": MEMORY, GPU_RESOURCE: GPU}


@dataclass(frozen=True, slots=True)
class _Object:
    """An ElasticQuota manifest, and its typed reading."""

    manifest: Manifest
    quota: ElasticQuota


@dataclass(frozen=True, slots=True)
class _Tree:
    """The quotas of one tree by name, and its GPU model; None for the tree of all other nodes."""

    model: str | None
    quotas: Mapping[str, _Object]

    def parent(self, name: str) -> str | None:
        """Return the parent's name, if the parent is a queue."""
        found = self.quotas[name].quota.parent
        return found if found in self.quotas and found != name else None

    def least(self, name: str) -> Mapping[str, int]:
        """Return a quota's `min`."""
        held = self.quotas[name]
        return amounts_of(held.quota.minimum, f"{described(held.manifest)}: spec.min")

    def most(self, name: str) -> Mapping[str, int]:
        """Return a quota's `max`."""
        held = self.quotas[name]
        return amounts_of(held.quota.maximum, f"{described(held.manifest)}: spec.max")


def read(manifests: Sequence[Manifest]) -> ImportRecord:
    """Import Koordinator's objects among the manifests. Raises `ValueError` for an invalid amount."""
    notes: list[Note] = []
    trees = _trees(manifests)
    ids = _ids(trees)
    groups: dict[str, list[tuple[_Tree, str]]] = {}
    for tree, named in zip(trees, ids, strict=True):
        for name in tree.quotas:
            groups.setdefault(named[name], []).append((tree, name))
    by_id = {id_: _queue(id_, held, trees, ids, notes) for id_, held in groups.items()}
    ordered = tuple(parents_first({id_: queue.parent for id_, queue in by_id.items()}))
    for id_ in sorted(by_id.keys() - set(ordered)):
        notes.append(Note(by_id[id_].object, "is its own ancestor, which Koordinator rejects, so it is not imported"))
    facts = admission_facts(manifests)
    preemptible: Mapping[str, bool] = {} if facts is None else facts.preemptible
    return with_namespaces(
        ImportRecord(
            queues=tuple(by_id[id_] for id_ in ordered),
            priority_classes=tuple(priority_classes(manifests, lambda name, _: preemptible.get(name))),
            pools=tuple(pool for tree in trees for pool in _pools(tree)) if _sized(trees) else (),
            topologies=tuple(_topologies(manifests)),
            notes=tuple(dict.fromkeys(notes)),
        ),
        manifests,
    )


READER = Reader("koordinator", read)


def _trees(manifests: Sequence[Manifest]) -> list[_Tree]:
    """Return the trees, starting with the one without a model."""
    profiles = read_all(ElasticQuotaProfile, manifests)
    roots = {profile.quota for profile in profiles}
    models = {profile.tree_id: profile.nodes.get(GPU_MODEL_LABEL) for profile in profiles}
    held: dict[str, dict[str, _Object]] = {"": {}, **{tree_id: {} for tree_id in sorted(models) if tree_id}}
    for manifest in manifests:
        if is_a(ElasticQuota, manifest):
            quota = read_object(ElasticQuota, manifest)
            if quota.name and quota.name not in _OWN and quota.name not in roots and not quota.is_root:
                held.setdefault(quota.tree_id, {})[quota.name] = _Object(manifest, quota)
    return [_Tree(None if not id_ else models.get(id_) or id_.lower(), quotas) for id_, quotas in held.items()]


def _ids(trees: Sequence[_Tree]) -> list[Mapping[str, str]]:
    """Return, for each tree, the queue of a quota's name: by the label that its quotas share, or by name."""
    plain = {name: queue_id(held.manifest) for name, held in trees[0].quotas.items()}
    labelled = {trees[0].quotas[name].quota.labels.get(QUEUE_ID_LABEL): id_ for name, id_ in plain.items()}
    found: list[Mapping[str, str]] = [plain]
    for tree in trees[1:]:
        named: dict[str, str] = {}
        for name, held in tree.quotas.items():
            label, bare = held.quota.labels.get(QUEUE_ID_LABEL), name.removesuffix(f"-{tree.model}")
            named[name] = labelled.get(label, label) if label is not None else bare if bare in plain else name
        found.append(named)
    return found


def _queue(
    id_: str,
    held: Sequence[tuple[_Tree, str]],
    trees: Sequence[_Tree],
    ids: Sequence[Mapping[str, str]],
    notes: list[Note],
) -> QueueRecord:
    first, name = held[0]
    quota, manifest = first.quotas[name].quota, first.quotas[name].manifest
    parents = [
        ids[trees.index(tree)][above] for tree, quota_name in held if (above := tree.parent(quota_name)) is not None
    ]
    guaranteed: dict[str, Amount] = {}
    limit: dict[str, Amount] = {}
    divided = len(trees) > 1
    for tree, quota_name in held:
        guarantees, bound = _amounts(tree, quota_name)
        if divided and tree.model is None:
            # Resources without a model are in this tree, and GPUs are not.
            guarantees.pop(GPU, None)
            bound.pop(GPU, None)
        for amounts, kept in ((guarantees, guaranteed), (bound, limit)):
            of_model = {
                gpu_resource(tree.model) if r == GPU and tree.model is not None else r: a for r, a in amounts.items()
            }
            kept.update(of_model)
    _add_total(guaranteed)
    notes.extend(Note(described(manifest), f"`spec.{field}` is dropped") for field in quota.unknown)
    models = {tree.model for tree, _ in held if tree.model is not None}
    every = {tree.model for tree in trees if tree.model is not None}
    return QueueRecord(
        id_,
        described(manifest),
        parent=parents[0] if parents else None,
        owner=owner_of(manifest),
        namespaces=tuple(sorted({space for tree, n in held for space in _namespaces(tree.quotas[n], notes)})),
        guaranteed=guaranteed,
        limit=limit,
        lending_limit=_lending(quota, guaranteed),
        weight=_weights(held),
        pools=None if models == every or not _sized(trees) else tuple(sorted(models)),
        labels={k: v for k, v in own_labels(manifest).items() if not k.startswith(f"{QUOTA_PREFIX}/")},
    )


def _amounts(tree: _Tree, name: str) -> tuple[dict[str, Amount], dict[str, Amount]]:
    above = tree.parent(name)
    guarantees = guaranteed_amounts(tree.least(name), tree.quotas[name].quota.annotations.get(STAND_IN_ANNOTATION))
    return guarantees, bounds(tree.most(name), {} if above is None else tree.most(above))


def _add_total(guaranteed: dict[str, Amount]) -> None:
    models = [amount for resource, amount in guaranteed.items() if resource.startswith(f"{GPU}/")]
    if models and GPU not in guaranteed:
        total: Amount = 0
        for amount in models:
            total = add(total, amount)
        guaranteed[GPU] = total


def _lending(quota: ElasticQuota, guaranteed: Mapping[str, Amount]) -> Mapping[str, Amount]:
    if quota.lends:
        return {}
    return {resource: 0 for resource, amount in guaranteed.items() if amount != 0}


def _weights(held: Sequence[tuple[_Tree, str]]) -> Mapping[str, int]:
    """Return the weights in thousandths, from the first tree that has them.

    Koordinator's default weight is the maximum.
    """
    weights: dict[str, int] = {}
    for tree, name in held:
        quota = tree.quotas[name].quota
        unit = quota.annotations.get(WEIGHT_UNIT_ANNOTATION, "1")
        for key, value in quota.weights.items():
            resource = _WEIGHTED.get(key)
            if resource is not None and resource not in weights:
                weights[resource] = _thousandths(
                    value, unit, f"{described(tree.quotas[name].manifest)}: weight of {key}"
                )
    return weights


def _thousandths(value: object, unit: str, where: str) -> int:
    try:
        return kubernetes_units(value if isinstance(value, int | float) else str(value), 1) * kubernetes_units(
            unit, 1000
        )
    except QuantityError as fault:
        raise ValueError(f"{where}: {fault}") from fault


def _namespaces(held: _Object, notes: list[Note]) -> tuple[str, ...]:
    if held.quota.has_malformed_namespaces:
        message = f"annotation {NAMESPACES_ANNOTATION} is not a JSON array: no namespace is bound"
        notes.append(Note(described(held.manifest), message))
    return held.quota.namespaces


def _sized(trees: Sequence[_Tree]) -> bool:
    """Return whether the trees have pools: without pools, a model has the substitute for an unknown size."""
    return not any(
        stands_for_no_size(GPU, tree.most(name).get(GPU, 0)) for tree in trees if tree.model for name in tree.quotas
    )


def _pools(tree: _Tree) -> Iterator[PoolRecord]:
    """Yield the pools of a tree: the nodes of a model, with the guarantees of queues that are UNLIMITED."""
    tops = [name for name in tree.quotas if tree.parent(name) is None]
    whole = {
        resource
        for name in tops
        for resource, amount in _amounts(tree, name)[0].items()
        if isinstance(amount, Unlimited)
    }
    size = {r: sum(tree.least(name).get(r, 0) for name in tops) for r in sorted(whole)}
    if tree.model is None:
        yield from size_pools(size, "cluster", "gpu")
    elif size.get(GPU):
        yield PoolRecord(tree.model, tree.model, machine={GPU: 1000}, n_machines=size[GPU] // 1000)
    else:
        yield PoolRecord(tree.model, tree.model)


def _topologies(manifests: Sequence[Manifest]) -> Iterator[TopologyRecord]:
    for topology in read_all(ClusterNetworkTopology, manifests):
        layers = {layer.name: layer for layer in topology.layers}
        chain: list[str] = []
        at: str | None = NODE_LAYER
        while at is not None and at in layers and at not in chain:
            chain.append(at)
            at = layers[at].parent
        keys = tuple(key for name in reversed(chain) for key in layers[name].labels[:1])
        if keys:
            yield TopologyRecord(topology.annotations.get(TOPOLOGY_ANNOTATION, topology.name), keys)
