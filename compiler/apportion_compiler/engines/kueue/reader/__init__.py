"""Kueue's objects: Cohorts and ClusterQueues as inner queues and leaves, with additive quotas converted to totals.

The root cohort that Apportion emits is not a queue of the policy; its quota is the capacity beyond all guarantees. A
cohort that is referenced but not defined has, as in Kueue, no quotas and no limits.

Supports v1beta1 and v1beta2, at ff69552e79.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from apportion_api.durations import whole_seconds
from apportion_api.kubernetes.names import NAMESPACE_LABEL
from apportion_api.kueue.names import CONFIGURATION_GROUP, DEFAULT_QUEUE, GROUP, NEVER
from apportion_api.kueue.objects import ClusterQueue, Cohort, LocalQueue, QuotaHolder, WorkloadPriorityClass
from apportion_api.objects import LabelSelector, read_all
from apportion_api.objects import read as read_object
from apportion_compiler.backends.metadata import QUEUE_ID_LABEL
from apportion_compiler.engines.kueue.emit.queues import TITLE_ANNOTATION
from apportion_compiler.engines.kueue.names import PREEMPTIBLE_ANNOTATION
from apportion_compiler.engines.kueue.reader.adoption import (
    current_spec,
    free_id,
    with_declared_fields,
    with_one_queue_a_namespace,
)
from apportion_compiler.engines.kueue.reader.flavors import (
    ORDINARY,
    Capacities,
    FlavorFacts,
    flavor_facts,
    flavor_notes,
    lifted_topologies,
    pools_of,
)
from apportion_compiler.engines.kueue.reader.plans import check_notes, plan_of_flavor, plans_of
from apportion_compiler.engines.kueue.reader.quotas import (
    FlavorResource,
    Quotas,
    flavor_resource_totals,
    quotas_of,
    totals,
)
from apportion_compiler.plain_objects import annotations_of, labels_of, mapping, name_of, of_kind, parents_first, text
from apportion_compiler.readers.classes import priority_classes
from apportion_compiler.readers.namespaces import with_namespaces
from apportion_compiler.readers.objects import is_ours, own_labels, owner_of, queue_id
from apportion_compiler.readers.record import (
    ClusterRecord,
    ImportRecord,
    Manifest,
    Note,
    PoolRecord,
    PriorityClassRecord,
    QueueRecord,
    Reader,
)
from apportion_policy.duration import duration_text
from apportion_policy.engine_settings import KueueSettings
from apportion_policy.errors import QuantityError
from apportion_policy.kueue_objects import KueueQueue
from apportion_policy.quantity import UNLIMITED, Amount, add, kubernetes_value
from apportion_policy.resources import CPU, GPU, MEMORY

_NAMESPACE_NAME = NAMESPACE_LABEL
_STRATEGIES = {
    name: KueueSettings.model_validate({"queueing_strategy": name}) for name in ("BestEffortFIFO", "StrictFIFO")
}


@dataclass(frozen=True, slots=True)
class _Node:
    """A ClusterQueue or Cohort. `manifest` is None for a cohort that is referenced but not defined."""

    id: str
    manifest: Manifest | None
    holder: ClusterQueue | Cohort
    quotas: Quotas

    @property
    def name(self) -> str:
        return self.holder.name

    @property
    def is_leaf(self) -> bool:
        return isinstance(self.holder, ClusterQueue)


def read(manifests: Sequence[Manifest]) -> ImportRecord:
    """Import Kueue's objects among the manifests. Raises `ValueError` if an amount is not a quantity."""
    notes: list[Note] = []
    cohorts, leaves = _cohorts(manifests), of_kind(manifests, GROUP, "ClusterQueue")
    nodes = _nodes(cohorts, leaves, notes)
    foreign = not any(is_ours(one) for one in (*leaves, *cohorts.values()) if one is not None)
    root = None if foreign else _root(nodes, cohorts, notes)
    above = {node.name: node.id for node in nodes.values() if not node.is_leaf and node.id != root}
    parents = {node.id: above.get(node.holder.parent or "") for node in nodes.values() if node.id != root}
    ordered = tuple(parents_first(parents))
    for id_ in sorted(parents.keys() - set(ordered)):
        notes.append(
            Note(
                str(nodes[id_].holder),
                "is in or below a cohort cycle, where Kueue admits no workloads, so it is not imported",
            )
        )
    on_gpus = sorted({f for node in nodes.values() for f, resource in node.quotas.nominal if resource == GPU})
    facts = flavor_facts(manifests, on_gpus)
    flavor_resources = _flavor_resources(nodes, parents, ordered)
    unmanaged = _unmanaged([node for node in nodes.values() if node.is_leaf])
    local_queues = read_all(LocalQueue, manifests)
    local_namespaces: dict[str, set[str]] = {}
    for local in local_queues:
        if local.cluster_queue is not None and local.namespace:
            local_namespaces.setdefault(local.cluster_queue, set()).add(local.namespace)
    classes = tuple(_classes(manifests, notes))
    queues = tuple(
        _queue(
            nodes[id_],
            parents[id_],
            flavor_resources[id_],
            facts=facts,
            unmanaged=unmanaged,
            local_namespaces=local_namespaces,
            classes=classes,
        )
        for id_ in ordered
    )
    if foreign:
        queues = with_one_queue_a_namespace(queues)
    else:
        default = {f"ClusterQueue {local.cluster_queue}" for local in local_queues if local.name == DEFAULT_QUEUE}
        queues = tuple(replace(queue, default=queue.object in default) for queue in queues)
    topologies = lifted_topologies(manifests)
    notes.extend(flavor_notes(manifests))
    plans = plans_of(manifests)
    pools = tuple(
        pools_of(
            manifests,
            facts,
            {name: t.name for name, t in topologies.items()},
            plan_of_flavor(manifests, plans),
            capacities=_capacities(nodes),
            beyond={} if root is None else {f for (f, _), amount in nodes[root].quotas.nominal.items() if amount},
        )
    )
    used = {pool.plan for pool in pools if pool.plan is not None}
    if foreign and used and all(pool.plan is not None or pool.taints for pool in pools):
        # Provisioned machines alone leave no room for the cluster's own workloads.
        pools = (*pools, PoolRecord(free_id(ORDINARY, {pool.id for pool in pools})))
    notes.extend(check_notes(manifests, plans, used))
    return with_namespaces(
        ImportRecord(
            queues=queues,
            priority_classes=classes,
            pools=pools,
            topologies=tuple(topologies.values()),
            plans=tuple(plans[name] for name in sorted(used)),
            notes=tuple(dict.fromkeys(notes)),
            cluster=ClusterRecord(
                kueue=_settings(manifests, read_all(ClusterQueue, manifests), root_cohort=not foreign),
            ),
        ),
        manifests,
    )


READER = Reader("kueue", read, with_declared=with_declared_fields, current_spec=current_spec)


def _cohorts(manifests: Sequence[Manifest]) -> Mapping[str, Manifest | None]:
    """Return the cohorts by name, including those that are only referenced."""
    found: dict[str, Manifest | None] = {name_of(m): m for m in of_kind(manifests, GROUP, "Cohort") if name_of(m)}
    for holder in (*read_all(Cohort, manifests), *read_all(ClusterQueue, manifests)):
        if holder.parent is not None:
            found.setdefault(holder.parent, None)
    return found


def _nodes(cohorts: Mapping[str, Manifest | None], leaves: Sequence[Manifest], notes: list[Note]) -> dict[str, _Node]:
    nodes: dict[str, _Node] = {}
    for manifest in leaves:
        id_ = free_id(queue_id(manifest), nodes)
        queue = read_object(ClusterQueue, manifest)
        nodes[id_] = _Node(id_, manifest, queue, quotas_of(queue))
    for name, written in cohorts.items():
        id_ = name if written is None else queue_id(written)
        if id_ in nodes and nodes[id_].is_leaf:
            notes.append(Note(f"Cohort {name}", f"a ClusterQueue has the same name: imported as {id_}-cohort"))
            id_ = f"{id_}-cohort"
        id_ = free_id(id_, nodes)
        cohort = Cohort(name=name) if written is None else read_object(Cohort, written)
        nodes[id_] = _Node(id_, written, cohort, quotas_of(cohort))
    return nodes


def _root(nodes: Mapping[str, _Node], cohorts: Mapping[str, Manifest | None], notes: list[Note]) -> str | None:
    """Return the id of the root cohort if it is not a queue."""
    tops = [node for node in nodes.values() if node.holder.parent is None]
    roots = [node for node in tops if not node.is_leaf]
    if len(roots) > 1:
        names = ", ".join(sorted(node.name for node in roots))
        notes.append(Note("Cohort", f"{names} do not lend to each other, but queues in the same policy do"))
    if len(tops) != 1 or not roots:
        return None
    manifest = cohorts[roots[0].name]
    made_by_us = manifest is not None and is_ours(manifest) and QUEUE_ID_LABEL not in labels_of(manifest)
    return roots[0].id if made_by_us or not any(roots[0].quotas.nominal.values()) else None


def _flavor_resources(
    nodes: Mapping[str, _Node], parents: Mapping[str, str | None], ordered: Sequence[str]
) -> Mapping[str, Mapping[FlavorResource, Amount]]:
    """Return the total of each queue on each flavor, including descendants."""
    below: dict[str, list[Mapping[FlavorResource, Amount]]] = {}
    flavor_resources: dict[str, Mapping[FlavorResource, Amount]] = {}
    for id_ in reversed(ordered):
        flavor_resources[id_] = flavor_resource_totals(nodes[id_].quotas, below.get(id_, ()))
        parent = parents[id_]
        if parent is not None:
            below.setdefault(parent, []).append(flavor_resources[id_])
    return flavor_resources


def _capacities(nodes: Mapping[str, _Node]) -> Capacities:
    """Return the sum of all quotas on each flavor: the capacity that Kueue assumes."""
    found: dict[str, dict[str, Amount]] = {}
    for node in nodes.values():
        for (flavor, resource), amount in node.quotas.nominal.items():
            held = found.setdefault(flavor, {})
            held[resource] = add(held.get(resource, 0), amount)
    return {
        flavor: {resource: amount for resource, amount in held.items() if isinstance(amount, int)}
        for flavor, held in found.items()
    }


def _unmanaged(leaves: Sequence[_Node]) -> frozenset[str]:
    """Return the resources that are unlimited in every leaf, and so are not managed."""
    found = {resource for leaf in leaves for _, resource in leaf.quotas.nominal}
    return frozenset(
        resource
        for resource in found & {CPU, MEMORY, GPU}
        if all(
            amount is UNLIMITED and (flavor, r) not in leaf.quotas.borrowing
            for leaf in leaves
            for (flavor, r), amount in leaf.quotas.nominal.items()
            if r == resource
        )
    )


def _queue(
    node: _Node,
    parent: str | None,
    total: Mapping[FlavorResource, Amount],
    *,
    facts: Mapping[str, FlavorFacts],
    unmanaged: frozenset[str],
    local_namespaces: Mapping[str, set[str]],
    classes: Sequence[PriorityClassRecord],
) -> QueueRecord:
    found = totals(node.quotas, total, facts, may_borrow=node.holder.parent is not None or not node.is_leaf)
    manifest = node.manifest
    if manifest is None:
        return QueueRecord(
            node.id,
            str(node.holder),
            parent,
            guaranteed=found.guaranteed,
            kueue=KueueQueue(without_object=True, name=node.name),
        )
    queue = node.holder if isinstance(node.holder, ClusterQueue) else None
    namespaces = () if queue is None else _namespaces(queue, local_namespaces.get(node.name, set()))
    return QueueRecord(
        id=node.id,
        object=str(node.holder),
        parent=parent,
        title=annotations_of(manifest).get(TITLE_ANNOTATION),
        owner=owner_of(manifest),
        namespaces=namespaces,
        guaranteed={r: a for r, a in found.guaranteed.items() if r not in unmanaged},
        limit=found.limit,
        lending_limit=found.lending_limit,
        weight=dict.fromkeys((CPU, MEMORY, GPU), _weight(node.holder)),
        pools=None if queue is None else _usable(node, facts),
        labels=own_labels(manifest),
        priority_classes=None
        if queue is None or namespaces or not is_ours(manifest)
        else _classes_without_namespaces(queue, classes),
    )


def _classes_without_namespaces(queue: ClusterQueue, classes: Sequence[PriorityClassRecord]) -> tuple[str, ...] | None:
    """Return the classes of a queue without namespaces: if it preempts nothing, they are non-preemptible."""
    protected = tuple(cls.name for cls in classes if cls.preemptible is False)
    if not protected:
        return None
    if queue.preemption.within_queue == NEVER:
        return None if len(protected) == len(classes) else protected
    return () if len(protected) == len(classes) else None


def _weight(holder: QuotaHolder) -> int:
    try:
        weight = kubernetes_value(1 if holder.weight is None else holder.weight)
    except QuantityError as fault:
        raise ValueError(f"{holder}: spec.fairSharing.weight: {fault}") from fault
    return max(round(weight * 1000), 1 if weight > 0 else 0)


def _namespaces(queue: ClusterQueue, local_namespaces: set[str]) -> tuple[str, ...]:
    """Return the namespaces with a LocalQueue for it, and those in its selector."""
    found, selector = set(local_namespaces), queue.selector or LabelSelector()
    for expression in selector.expressions:
        if expression.key == _NAMESPACE_NAME and expression.operator == "In":
            found.update(expression.values)
    if one := selector.labels.get(_NAMESPACE_NAME):
        found.add(one)
    return tuple(sorted(found))


def _usable(node: _Node, facts: Mapping[str, FlavorFacts]) -> tuple[str, ...] | None:
    """Return the pools of a leaf's flavors, if it does not have all of them."""
    has = {flavor for flavor, _ in node.quotas.nominal}
    if has >= facts.keys():
        return None
    return tuple(sorted({pool for flavor in has if flavor in facts for pool, _ in facts[flavor].pools}))


def _classes(manifests: Sequence[Manifest], notes: list[Note]) -> Iterator[PriorityClassRecord]:
    """Yield the classes of workloads, and those of pods."""
    found = {record.name: record for record in priority_classes(manifests, lambda name, value: None)}
    for manifest in of_kind(manifests, GROUP, "WorkloadPriorityClass"):
        cls = read_object(WorkloadPriorityClass, manifest)
        name, value = cls.name, cls.value or 0
        of_pods = found.get(name)
        if of_pods is not None and of_pods.value != value:
            notes.append(
                Note(
                    str(cls),
                    f"PriorityClass {name} has a different value, {of_pods.value}: imported with value {value}",
                )
            )
        is_default = of_pods is not None and of_pods.global_default
        description = cls.description or (None if of_pods is None else of_pods.description)
        annotation = annotations_of(manifest).get(PREEMPTIBLE_ANNOTATION)
        found[name] = PriorityClassRecord(
            free_id(name, {other.name for other in found.values() if other is not of_pods}),
            value,
            None if annotation is None else annotation == "true",
            is_default,
            description,
        )
    yield from sorted(found.values(), key=lambda record: (record.value, record.name))


def _settings(
    manifests: Sequence[Manifest], leaves: Sequence[ClusterQueue], *, root_cohort: bool
) -> KueueSettings | None:
    strategies = {leaf.strategy for leaf in leaves}
    settings = _STRATEGIES.get(strategies.pop()) if len(strategies) == 1 else None
    for manifest in of_kind(manifests, CONFIGURATION_GROUP, "Configuration"):
        timeout = text(manifest, "waitForPodsReady", "timeout")
        if timeout is not None and mapping(manifest, "waitForPodsReady").get("enable", True):
            seconds, _ = whole_seconds(timeout)
            base = settings or KueueSettings()
            settings = base.model_copy(update={"wait_for_pods_ready": duration_text(seconds)})
    if not root_cohort:
        settings = (settings or KueueSettings()).model_copy(update={"root_cohort": False})
    return settings
