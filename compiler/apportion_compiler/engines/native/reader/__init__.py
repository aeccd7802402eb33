"""Plain Kubernetes: Namespace and ResourceQuota as queues, PriorityClass.

A quota limits one namespace, so each namespace is imported as a separate queue unless it has Apportion's labels. Limits
of ancestors that were merged into quotas cannot be restored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_api.kubernetes.objects import PriorityClass, ResourceQuota
from apportion_api.objects import read as read_object
from apportion_api.objects import read_all
from apportion_compiler.backends.admission.namespace_metadata import QUEUE_LABEL
from apportion_compiler.backends.metadata import TOP_QUEUE_LABEL
from apportion_compiler.plain_objects import described, labels_of, name_of, of_kind, text
from apportion_compiler.readers.classes import priority_classes
from apportion_compiler.readers.limit_ranges import with_limit_ranges
from apportion_compiler.readers.namespaces import with_namespaces
from apportion_compiler.readers.objects import own_labels, owner_of, queue_id
from apportion_compiler.readers.record import ImportRecord, Manifest, Note, PriorityClassRecord, QueueRecord, Reader
from apportion_policy.errors import QuantityError
from apportion_policy.quantity import Amount, parse_count, parse_cpu, parse_gpu, parse_memory, smaller
from apportion_policy.resources import CPU, GPU, MEMORY

_SYSTEM = ("kube-system", "kube-public", "kube-node-lease", "default")
_COUNTED = {"cpu": (CPU, parse_cpu), "memory": (MEMORY, parse_memory), GPU_RESOURCE: (GPU, parse_gpu)}
_NEVER = "Never"


def read(manifests: Sequence[Manifest]) -> ImportRecord:
    """Import the plain objects among the manifests.

    Raises:
        ValueError: If an amount of a quota is not a quantity.
    """
    notes: list[Note] = []
    quotas: dict[str, list[Manifest]] = {}
    for quota in of_kind(manifests, "", "ResourceQuota"):
        quotas.setdefault(text(quota, "metadata", "namespace") or "default", []).append(quota)
    namespaces = {name_of(m): m for m in of_kind(manifests, "", "Namespace") if name_of(m)}
    queues: dict[str, QueueRecord] = {}
    for name in dict.fromkeys((*namespaces, *quotas)):
        namespace = namespaces.get(name)
        labelled = namespace is not None and QUEUE_LABEL in labels_of(namespace)
        if not labelled and (name not in quotas or name in _SYSTEM):
            continue
        limit = _limit(quotas.get(name, ()), notes)
        record = _queue(name, namespace, limit)
        known = queues.get(record.id)
        if known is not None and known.limit != record.limit:
            notes.append(
                Note(
                    f"Namespace {name}",
                    f"its limits are dropped: they differ from the limits of other namespaces in {record.id}",
                )
            )
        queues.setdefault(record.id, record)
        queues[record.id] = _with_namespace(queues[record.id], name)
    tops = {top.id: top for top in _tops(manifests, queues)}
    found = ImportRecord(
        (*tops.values(), *queues.values()), tuple(_classes(manifests, notes)), notes=tuple(dict.fromkeys(notes))
    )
    return with_limit_ranges(with_namespaces(found, manifests), manifests, foreign=True)


READER = Reader("native", read)


def _queue(name: str, namespace: Manifest | None, limit: Mapping[str, Amount]) -> QueueRecord:
    if namespace is None or QUEUE_LABEL not in labels_of(namespace):
        labels = {} if namespace is None else own_labels(namespace)
        return QueueRecord(name, f"Namespace {name}", limit=limit, labels=labels)
    id_ = labels_of(namespace)[QUEUE_LABEL]
    top = labels_of(namespace).get(TOP_QUEUE_LABEL, id_)
    return QueueRecord(
        id_,
        described(namespace),
        parent=None if top == id_ else top,
        owner=owner_of(namespace),
        limit=limit,
        labels=own_labels(namespace),
    )


def _with_namespace(queue: QueueRecord, namespace: str) -> QueueRecord:
    return replace(queue, namespaces=tuple(sorted({*queue.namespaces, namespace})))


def _tops(manifests: Sequence[Manifest], queues: Mapping[str, QueueRecord]) -> Iterator[QueueRecord]:
    """Yield the top-level ancestors of queues with namespaces, from the bindings of the reader role."""
    named = {queue.parent for queue in queues.values() if queue.parent is not None} - queues.keys()
    bindings = {queue_id(m): m for m in of_kind(manifests, "rbac.authorization.k8s.io", "ClusterRoleBinding")}
    by_top = {labels_of(m).get(TOP_QUEUE_LABEL): m for m in bindings.values()}
    for top in sorted(named):
        binding = by_top.get(top)
        yield QueueRecord(
            top,
            f"Queue {top}",
            owner=None if binding is None else owner_of(binding),
            labels={} if binding is None else own_labels(binding),
        )


def _limit(quotas: Sequence[Manifest], notes: list[Note]) -> dict[str, Amount]:
    """Return the limits of a namespace: the smallest of its quotas."""
    limit: dict[str, Amount] = {}
    for manifest in quotas:
        quota = read_object(ResourceQuota, manifest)
        if quota.all_scopes:
            if not _is_of_classes(quota):
                notes.append(Note(described(manifest), "quotas with a scope are dropped"))
            continue
        for key, value in quota.hard.items():
            resource = key.removeprefix("requests.")
            if key in ("cpu", "memory") or (key.startswith("requests.") and "storage" not in key):
                kept, parse = _COUNTED.get(resource, (resource, parse_count))
                try:
                    amount = parse(value)
                except QuantityError as refused:
                    raise ValueError(f"{described(manifest)}: spec.hard[{key}]: {refused}") from None
                limit[kept] = smaller(amount, limit[kept]) if kept in limit else amount
            else:
                notes.append(Note(described(manifest), f"`{key}` is dropped: a policy limits only requests"))
    return limit


def _is_of_classes(quota: ResourceQuota) -> bool:
    """Return whether a quota only restricts the classes of the namespace, as Apportion's do."""
    return all(scope.name == "PriorityClass" and scope.operator == "In" for scope in quota.all_scopes)


def _classes(manifests: Sequence[Manifest], notes: list[Note]) -> Iterator[PriorityClassRecord]:
    """Yield the classes, with preemptibility derived from their preemption policies.

    kube-scheduler preempts any pod of lower priority, so classes that never preempt are above a non-preemptible one:
    the highest of those that do preempt.
    """
    never = {cls.name for cls in read_all(PriorityClass, manifests) if cls.preemption_policy == _NEVER}
    found = list(priority_classes(manifests, lambda _, __: True))
    lowest = min((cls.value for cls in found if cls.name in never), default=None)
    below = [cls for cls in found if lowest is not None and cls.value < lowest]
    protected = max((cls.value for cls in below), default=lowest)
    for cls in found:
        if lowest is not None and cls.value >= lowest and cls.name not in never:
            notes.append(
                Note(
                    f"PriorityClass {cls.name}",
                    "its workloads can preempt, although a lower class never preempts",
                )
            )
        preemptible = protected is None or cls.value < protected
        yield PriorityClassRecord(cls.name, cls.value, preemptible, cls.global_default, cls.description)
