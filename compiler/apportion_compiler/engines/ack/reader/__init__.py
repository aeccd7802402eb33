"""ACK's objects: ElasticQuotaTree, kube-queue's Queue, PriorityClass.

The root of an emitted tree is the cluster's size and not a queue, unless marked otherwise; the root of any other tree
is imported as a queue, so that its numbers are emitted unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from apportion_api.ack.names import FULL_NAME_ANNOTATION, GENERATED_LABEL, LEND_LIMIT_ATTRIBUTE, ROOT, TREE_NAMESPACE
from apportion_api.ack.objects import ElasticQuotaTree, Queue, QuotaNode
from apportion_api.embedded_json import json_value
from apportion_api.objects import read as read_object
from apportion_compiler.backends.metadata import QUEUE_ID_LABEL
from apportion_compiler.backends.quota_tree import stands_for_no_size
from apportion_compiler.engines.ack.names import OWNER_ATTRIBUTE, QUEUE_ID_ATTRIBUTE, STAND_IN_ATTRIBUTE
from apportion_compiler.kubernetes_names import label_value
from apportion_compiler.plain_objects import (
    annotations_of,
    described,
    labels_of,
    mapping,
    of_kind,
    text,
)
from apportion_compiler.readers.admission import admission_facts
from apportion_compiler.readers.classes import priority_classes
from apportion_compiler.readers.namespaces import with_namespaces
from apportion_compiler.readers.objects import is_ours, own_labels, owner_of
from apportion_compiler.readers.quota_numbers import amounts_of, bounds, guaranteed_amounts, jobs_at_once, size_pools
from apportion_compiler.readers.record import (
    ClusterRecord,
    ImportRecord,
    Manifest,
    Note,
    PoolRecord,
    QueueRecord,
    Reader,
)
from apportion_policy.engine_settings import AckQueue, AckSettings, QueuePolicy
from apportion_policy.quantity import Amount
from apportion_policy.resources import GPU

_POLICIES: tuple[QueuePolicy, ...] = ("Round", "Block", "Priority")
_ATTRIBUTES = frozenset((LEND_LIMIT_ATTRIBUTE, OWNER_ATTRIBUTE, QUEUE_ID_ATTRIBUTE, STAND_IN_ATTRIBUTE))


def read(manifests: Sequence[Manifest]) -> ImportRecord:
    """Import ACK's objects among the manifests. Raises `ValueError` for an invalid amount."""
    notes: list[Note] = []
    tree = _tree(manifests, notes)
    pools: tuple[PoolRecord, ...] = ()
    queue_objects = _queue_objects(manifests)
    beside = {labels_of(m)[QUEUE_ID_LABEL]: m for m in manifests if is_ours(m) and QUEUE_ID_LABEL in labels_of(m)}
    reading = _ReadQueues(queue_objects, beside, notes)
    if tree is not None:
        root = read_object(ElasticQuotaTree, tree).root or QuotaNode()
        own = root.attributes.get(QUEUE_ID_ATTRIBUTE) == ROOT
        if is_ours(tree) and not own:
            total = amounts_of(root.maximum, f"{described(tree)}: root.max")
            # A cluster with pools always has a known number of GPUs, so an unknown number means zero.
            known = GPU not in total or not stands_for_no_size(GPU, total[GPU])
            pools = tuple(size_pools(total, "cluster", "gpu")) if known else ()
            for child in root.children:
                reading.walk(child, None, (ROOT,), total if known else {})
        else:
            reading.walk(replace(root, name=ROOT), None, (), {})
    facts = admission_facts(manifests)
    preemptible: Mapping[str, bool] = {} if facts is None else facts.preemptible
    return with_namespaces(
        ImportRecord(
            queues=tuple(reading.queues.values()),
            priority_classes=tuple(priority_classes(manifests, lambda name, _: preemptible.get(name))),
            pools=pools,
            notes=tuple(dict.fromkeys(notes)),
            cluster=ClusterRecord(ack=_settings(queue_objects)),
        ),
        manifests,
    )


READER = Reader("ack", read)


@dataclass(slots=True)
class _ReadQueues:
    """The queues imported so far, by id, parents first."""

    queue_objects: Mapping[str, Manifest]
    beside: Mapping[str, Manifest]
    notes: list[Note]
    queues: dict[str, QueueRecord] = field(default_factory=dict)

    def walk(self, node: QuotaNode, parent: str | None, above: tuple[str, ...], parents: Mapping[str, int]) -> None:
        """Import a node and its descendants; `parents` is the parent's maximum."""
        name = node.name or ""
        path = "/".join((*above, name))
        where = f"ElasticQuotaTree node {path}"
        attributes = node.attributes
        id_ = attributes.get(QUEUE_ID_ATTRIBUTE, name)
        if id_ in self.queues:
            self.notes.append(Note(where, f"another node is also named {name}: imported as {path.replace('/', '-')}"))
            id_ = path.replace("/", "-")
        least = amounts_of(node.minimum, f"{where}: min")
        most = amounts_of(node.maximum, f"{where}: max")
        queue, over = self.queue_objects.get(path), None if parent is None else self.queues[parent]
        namespaces = tuple(sorted(node.namespaces))
        # A node has no labels; objects emitted for the same queue have them.
        carrier = queue or self.beside.get(label_value(id_)) or {}
        self.queues[id_] = QueueRecord(
            id_,
            where,
            parent=parent,
            owner=attributes.get(OWNER_ATTRIBUTE) or owner_of(carrier) or (None if over is None else over.owner),
            namespaces=namespaces,
            guaranteed=guaranteed_amounts(least, attributes.get(STAND_IN_ATTRIBUTE)),
            limit=_limit(most, parents, attributes if parent is None else {}, is_root=not above),
            lending_limit=_lending(attributes, least, where),
            priority=None if queue is None else read_object(Queue, queue).priority,
            ack=None if queue is None else self._own_policy(queue),
            labels=own_labels(carrier, GENERATED_LABEL),
        )
        self.notes.extend(_unknown(node, attributes, where))
        for child in node.children:
            self.walk(child, id_, (*above, name), most)

    def _own_policy(self, queue: Manifest) -> AckQueue | None:
        """Return a queue's policy if it differs from the cluster's."""
        written = read_object(Queue, queue).policy
        if _settings(self.queue_objects) is not None or written is None:
            return None
        for policy in _POLICIES:
            if written == policy:
                return AckQueue(queue_policy=policy)
        self.notes.append(Note(described(queue), f"`spec.queuePolicy: {written}` is dropped", lost=True))
        return None


def _limit(
    most: Mapping[str, int], parents: Mapping[str, int], attributes: Mapping[str, str], *, is_root: bool
) -> Mapping[str, Amount]:
    """Return a node's limit; for the root, its guarantee, even if it is a substitute."""
    return guaranteed_amounts(most, attributes.get(STAND_IN_ATTRIBUTE)) if is_root else bounds(most, parents)


def _tree(manifests: Sequence[Manifest], notes: list[Note]) -> Manifest | None:
    trees = of_kind(manifests, ElasticQuotaTree.group, "ElasticQuotaTree")
    # ACK reads only trees of this namespace, and expects a single one.
    trees.sort(key=lambda tree: text(tree, "metadata", "namespace") != TREE_NAMESPACE)
    for other in trees[1:]:
        notes.append(Note(described(other), "ACK supports only one tree: skipped"))
    return trees[0] if trees else None


def _queue_objects(manifests: Sequence[Manifest]) -> Mapping[str, Manifest]:
    """Return kube-queue's queues by the path of their quota, without those that it creates itself."""
    return {
        path: queue
        for queue in of_kind(manifests, Queue.group, "Queue")
        if labels_of(queue).get(GENERATED_LABEL) != "true"
        and (path := annotations_of(queue).get(FULL_NAME_ANNOTATION)) is not None
    }


def _settings(queue_objects: Mapping[str, Manifest]) -> AckSettings | None:
    """Return the cluster's policy, if all queues have the same."""
    policies = {read_object(Queue, queue).policy for queue in queue_objects.values()}
    only = policies.pop() if len(policies) == 1 else None
    for policy in _POLICIES:
        if only == policy:
            return AckSettings(queue_policy=policy)
    return None


def _lending(attributes: Mapping[str, str], least: Mapping[str, int], where: str) -> Mapping[str, Amount]:
    """Return the lending limits below the full guarantee; omitted resources are not lent."""
    written = attributes.get(LEND_LIMIT_ATTRIBUTE)
    if written is None:
        return {}
    try:
        listed = json_value(written)
    except ValueError as fault:
        raise ValueError(f"{where}: attribute {LEND_LIMIT_ATTRIBUTE} is not JSON: {fault}") from fault
    lending_limits = amounts_of(mapping({"listed": listed}, "listed"), f"{where}: attribute {LEND_LIMIT_ATTRIBUTE}")
    return {r: lending_limits.get(r, 0) for r, amount in least.items() if lending_limits.get(r, 0) < amount}


def _unknown(node: QuotaNode, attributes: Mapping[str, str], where: str) -> Iterator[Note]:
    for name in node.unknown:
        yield Note(where, f"`{name}` is dropped")
    for name in attributes.keys() - _ATTRIBUTES:
        yield Note(where, f"attribute `{name}` is dropped")
    for key in jobs_at_once(node.minimum, node.maximum):
        yield Note(where, f"`{key}` is dropped")
