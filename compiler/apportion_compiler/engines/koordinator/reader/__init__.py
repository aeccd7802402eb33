"""Koordinator's objects: ElasticQuota of every tree folded back to one queue, ElasticQuotaProfile, ClusterNetworkTopology.

A tree over the nodes of a profile is read as a GPU model, and the quotas of a queue as its amounts of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from apportion_api.koordinator.names import (
    ALLOW_LENT_LABEL,
    DEFAULT_QUOTA,
    GROUP,
    IS_ROOT_LABEL,
    NAMESPACES_ANNOTATION,
    NODE_LAYER,
    PARENT_LABEL,
    PROFILE_GROUP,
    QUOTA_PREFIX,
    ROOT_QUOTA,
    SHARED_WEIGHT_ANNOTATION,
    SYSTEM_QUOTA,
    TOPOLOGY_GROUP,
    TREE_ID_LABEL,
)
from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_compiler.backends.metadata import QUEUE_ID_LABEL
from apportion_compiler.backends.quota_tree import stands_for_no_size
from apportion_compiler.embedded_text import json_value
from apportion_compiler.engines.koordinator.names import (
    STAND_IN_ANNOTATION,
    TOPOLOGY_ANNOTATION,
    WEIGHT_UNIT_ANNOTATION,
)
from apportion_compiler.plain_objects import (
    annotations_of,
    described,
    items,
    labels_of,
    mapping,
    name_of,
    of_kind,
    parents_first,
    text,
)
from apportion_compiler.pool_label_keys import GPU_MODEL_LABEL
from apportion_compiler.readers.admission import admission_facts
from apportion_compiler.readers.classes import priority_classes
from apportion_compiler.readers.namespaces import with_namespaces
from apportion_compiler.readers.objects import own_labels, owner_of, queue_id
from apportion_compiler.readers.quota_numbers import amounts_of, bounds, promises, size_pools
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
class _Tree:
    """The quotas of one tree by name, and its GPU model; None for the tree of all other nodes."""

    model: str | None
    quotas: Mapping[str, Manifest]

    def parent(self, name: str) -> str | None:
        """Return the parent's name, if it is a queue's."""
        found = labels_of(self.quotas[name]).get(PARENT_LABEL)
        return found if found in self.quotas and found != name else None

    def least(self, name: str) -> Mapping[str, int]:
        """Return a quota's `min`."""
        quota = self.quotas[name]
        return amounts_of(mapping(quota, "spec", "min"), f"{described(quota)}: spec.min")

    def most(self, name: str) -> Mapping[str, int]:
        """Return a quota's `max`."""
        quota = self.quotas[name]
        return amounts_of(mapping(quota, "spec", "max"), f"{described(quota)}: spec.max")


def read(manifests: Sequence[Manifest]) -> ImportRecord:
    """Return what Koordinator's objects among the manifests say. Raises `ValueError` for an amount that is none."""
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
        notes.append(Note(by_id[id_].object, "is its own ancestor, which Koordinator rejects: skipped"))
    facts = admission_facts(manifests)
    said: Mapping[str, bool] = {} if facts is None else facts.preemptible
    return with_namespaces(
        ImportRecord(
            queues=tuple(by_id[id_] for id_ in ordered),
            priority_classes=tuple(priority_classes(manifests, lambda name, _: said.get(name))),
            pools=tuple(pool for tree in trees for pool in _pools(tree)) if _sized(trees) else (),
            topologies=tuple(_topologies(manifests)),
            notes=tuple(dict.fromkeys(notes)),
        ),
        manifests,
    )


READER = Reader("koordinator", read)


def _trees(manifests: Sequence[Manifest]) -> list[_Tree]:
    """Return the trees, the one without a model first."""
    profiles = of_kind(manifests, PROFILE_GROUP, "ElasticQuotaProfile")
    roots = {text(profile, "spec", "quotaName") for profile in profiles}
    models = {
        labels_of(profile).get(TREE_ID_LABEL, ""): text(profile, "spec", "nodeSelector", "matchLabels", GPU_MODEL_LABEL)
        for profile in profiles
    }
    held: dict[str, dict[str, Manifest]] = {"": {}, **{tree_id: {} for tree_id in sorted(models) if tree_id}}
    for quota in of_kind(manifests, GROUP, "ElasticQuota"):
        labels, name = labels_of(quota), name_of(quota)
        if name and name not in _OWN and name not in roots and labels.get(IS_ROOT_LABEL) != "true":
            held.setdefault(labels.get(TREE_ID_LABEL, ""), {})[name] = quota
    return [_Tree(None if not id_ else models.get(id_) or id_.lower(), quotas) for id_, quotas in held.items()]


def _ids(trees: Sequence[_Tree]) -> list[Mapping[str, str]]:
    """Return, for each tree, the queue that a quota's name stands for: by the label that its quotas share, or by name."""
    plain = {name: queue_id(quota) for name, quota in trees[0].quotas.items()}
    labelled = {labels_of(trees[0].quotas[name]).get(QUEUE_ID_LABEL): id_ for name, id_ in plain.items()}
    found: list[Mapping[str, str]] = [plain]
    for tree in trees[1:]:
        named: dict[str, str] = {}
        for name, quota in tree.quotas.items():
            label, bare = labels_of(quota).get(QUEUE_ID_LABEL), name.removesuffix(f"-{tree.model}")
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
    quota = first.quotas[name]
    parents = [
        ids[trees.index(tree)][above] for tree, quota_name in held if (above := tree.parent(quota_name)) is not None
    ]
    guaranteed: dict[str, Amount] = {}
    limit: dict[str, Amount] = {}
    divided = len(trees) > 1
    for tree, quota_name in held:
        promised, bound = _amounts(tree, quota_name)
        if divided and tree.model is None:
            # What has no model of its own is in this tree, and GPUs are not.
            promised.pop(GPU, None)
            bound.pop(GPU, None)
        for amounts, kept in ((promised, guaranteed), (bound, limit)):
            of_model = {
                gpu_resource(tree.model) if r == GPU and tree.model is not None else r: a for r, a in amounts.items()
            }
            kept.update(of_model)
    _add_total(guaranteed)
    notes.extend(_notes(quota))
    models = {tree.model for tree, _ in held if tree.model is not None}
    every = {tree.model for tree in trees if tree.model is not None}
    return QueueRecord(
        id_,
        described(quota),
        parent=parents[0] if parents else None,
        owner=owner_of(quota),
        namespaces=tuple(sorted({space for tree, n in held for space in _namespaces(tree.quotas[n], notes)})),
        guaranteed=guaranteed,
        limit=limit,
        lending_limit=_lending(quota, guaranteed),
        weight=_weights(held),
        pools=None if models == every or not _sized(trees) else tuple(sorted(models)),
        labels={k: v for k, v in own_labels(quota).items() if not k.startswith(f"{QUOTA_PREFIX}/")},
    )


def _amounts(tree: _Tree, name: str) -> tuple[dict[str, Amount], dict[str, Amount]]:
    above = tree.parent(name)
    promised = promises(tree.least(name), annotations_of(tree.quotas[name]).get(STAND_IN_ANNOTATION))
    return promised, bounds(tree.most(name), {} if above is None else tree.most(above))


def _add_total(guaranteed: dict[str, Amount]) -> None:
    models = [amount for resource, amount in guaranteed.items() if resource.startswith(f"{GPU}/")]
    if models and GPU not in guaranteed:
        total: Amount = 0
        for amount in models:
            total = add(total, amount)
        guaranteed[GPU] = total


def _lending(quota: Manifest, guaranteed: Mapping[str, Amount]) -> Mapping[str, Amount]:
    if labels_of(quota).get(ALLOW_LENT_LABEL) != "false":
        return {}
    return {resource: 0 for resource, amount in guaranteed.items() if amount != 0}


def _weights(held: Sequence[tuple[_Tree, str]]) -> Mapping[str, int]:
    """Return the weights in thousandths, those of the first tree that has them.

    Where none is given, Koordinator's default is the maximum: that is a weight too.
    """
    weights: dict[str, int] = {}
    for tree, name in held:
        notes = annotations_of(tree.quotas[name])
        listed = _json(notes.get(SHARED_WEIGHT_ANNOTATION))
        source = listed if isinstance(listed, dict) and listed else mapping(tree.quotas[name], "spec", "max")
        unit = notes.get(WEIGHT_UNIT_ANNOTATION, "1")
        for key, value in source.items():
            resource = _WEIGHTED.get(str(key))
            if resource is not None and resource not in weights:
                weights[resource] = _thousandths(value, unit, f"{described(tree.quotas[name])}: weight of {key}")
    return weights


def _thousandths(value: object, unit: str, where: str) -> int:
    try:
        return kubernetes_units(value if isinstance(value, int | float) else str(value), 1) * kubernetes_units(
            unit, 1000
        )
    except QuantityError as fault:
        raise ValueError(f"{where}: {fault}") from fault


def _namespaces(quota: Manifest, notes: list[Note]) -> list[str]:
    written = annotations_of(quota).get(NAMESPACES_ANNOTATION)
    found = _json(written)
    if isinstance(found, list) and all(isinstance(name, str) for name in found):
        return found
    if written:
        notes.append(
            Note(described(quota), f"annotation {NAMESPACES_ANNOTATION} is not a JSON list: no namespace is bound")
        )
    return []


def _notes(quota: Manifest) -> Iterator[Note]:
    for field in mapping(quota, "spec"):
        if field not in ("min", "max"):
            yield Note(described(quota), f"`spec.{field}` is dropped")


def _sized(trees: Sequence[_Tree]) -> bool:
    """Tell whether the trees are over pools: a model without one has the number that stands for no size."""
    return not any(
        stands_for_no_size(GPU, tree.most(name).get(GPU, 0)) for tree in trees if tree.model for name in tree.quotas
    )


def _pools(tree: _Tree) -> Iterator[PoolRecord]:
    """Yield the pools of a tree: a model's nodes, and guarantees to queues that are promised everything."""
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
    for manifest in of_kind(manifests, TOPOLOGY_GROUP, "ClusterNetworkTopology"):
        layers = {text(layer, "topologyLayer") or "": layer for layer in items(manifest, "spec", "networkTopologySpec")}
        chain: list[str] = []
        at: str | None = NODE_LAYER
        while at is not None and at in layers and at not in chain:
            chain.append(at)
            at = text(layers[at], "parentTopologyLayer")
        keys = [key for name in reversed(chain) for key in items(layers[name], "labelKey")[:1] if isinstance(key, str)]
        if keys:
            yield TopologyRecord(annotations_of(manifest).get(TOPOLOGY_ANNOTATION, name_of(manifest)), tuple(keys))


def _json(written: str | None) -> object:
    try:
        return json_value(written) if written else None
    except ValueError:
        return None
