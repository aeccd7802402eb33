"""Fields of Kueue's objects without an equivalent in the policy, kept under `kueue` of a queue and of the cluster.

The imported policy is compiled, and each object is compared with the original: a field that differs is declared with
its original value. Equal fields are not declared.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from apportion_api.kubernetes.names import LAST_APPLIED_ANNOTATION
from apportion_api.kueue.names import GROUP
from apportion_compiler.engines.kueue.emit.queues import further
from apportion_compiler.kubernetes_names import is_label, object_name, suggested_name
from apportion_compiler.plain_objects import annotations_of, labels_of, mapping, name_of, of_kind, text
from apportion_compiler.readers.objects import is_ours
from apportion_compiler.readers.record import ImportRecord, Manifest, QueueRecord
from apportion_policy.engine_settings import KueueSettings
from apportion_policy.kueue_objects import ClusterObjectKind, KueueLocalQueue, KueueObject, KueuePreemption, KueueQueue

_CLUSTER_KINDS: tuple[ClusterObjectKind, ...] = (
    "Topology",
    "ResourceFlavor",
    "ProvisioningRequestConfig",
    "AdmissionCheck",
    "WorkloadPriorityClass",
)
_NOT_FIELDS = frozenset(("apiVersion", "kind", "metadata", "status"))
_PREEMPTION = {
    "reclaimWithinCohort": "reclaim_within_cohort",
    "withinClusterQueue": "within_cluster_queue",
}
_FORMER_FUNGIBILITY = {"Borrow": "MayStopSearch", "Preempt": "MayStopSearch"}
"""Fields of v1beta1 and their names in v1beta2 (apis/kueue/v1beta1/clusterqueue_conversion.go)."""


def free_id(name: str, taken: Collection[str]) -> str:
    """Return a valid and free id for an object, whose name is unchanged."""
    wanted = name if is_label(name) else suggested_name(name) or "queue"
    free, number = wanted, 1
    while free in taken:
        number += 1
        free = f"{wanted}-{number}"
    return free


def with_one_queue_a_namespace(queues: Sequence[QueueRecord]) -> tuple[QueueRecord, ...]:
    """Return queues with disjoint namespaces.

    A namespace with LocalQueues of several queues belongs to the first by id; the others keep their LocalQueues.
    """
    owner: dict[str, str] = {}
    for queue in sorted(queues, key=lambda queue: queue.id):
        for namespace in queue.namespaces:
            owner.setdefault(namespace, queue.id)
    return tuple(replace(q, namespaces=tuple(n for n in q.namespaces if owner[n] == q.id)) for q in queues)


def with_declared_fields(record: ImportRecord, manifests: Sequence[Manifest], made: Sequence[Manifest]) -> ImportRecord:
    """Return the record with the fields that emitted objects lack, or have with a different value."""
    specs = {(kind, name_of(m)): mapping(m, "spec") for kind in _QUEUES for m in of_kind(made, GROUP, kind)}
    own = {_key(m): m for kind in _QUEUES for m in of_kind(manifests, GROUP, kind)}
    locals_made = of_kind(made, GROUP, "LocalQueue")
    local_queues: dict[str, list[Manifest]] = {}
    for local in of_kind(manifests, GROUP, "LocalQueue"):
        local_queues.setdefault(text(local, "spec", "clusterQueue") or "", []).append(local)
    queues = tuple(
        queue if queue.object not in own else _queue(queue, own[queue.object], specs, local_queues, locals_made)
        for queue in record.queues
    )
    objects = tuple(_objects(manifests, made))
    settings = record.cluster.kueue
    if objects:
        settings = (settings or KueueSettings()).model_copy(update={"objects": objects})
    return replace(record, queues=queues, cluster=replace(record.cluster, kueue=settings))


_QUEUES = ("Cohort", "ClusterQueue")


def _key(manifest: Manifest) -> str:
    return f"{manifest.get('kind')} {name_of(manifest)}"


def _queue(
    queue: QueueRecord,
    manifest: Manifest,
    made: Mapping[tuple[str, str], Mapping[str, object]],
    local_queues: Mapping[str, Sequence[Manifest]],
    locals_made: Sequence[Manifest],
) -> QueueRecord:
    name, kind = name_of(manifest), str(manifest["kind"])
    declared: dict[str, Any] = {} if object_name(queue.id) == name else {"name": name}
    spec = current_spec(manifest)
    # Objects of an imported queue whose name differs from the id cannot be matched, so the whole spec is kept.
    other = made.get((kind, name), made.get((kind, object_name(queue.id)), {}))
    fields: dict[str, Any] = {key: value for key, value in spec.items() if key not in other or other[key] != value}
    fields.update(dict.fromkeys(key for key in other if key not in spec))
    for parent in ("cohortName", "parentName"):
        if spec.get(parent) is not None:
            # The policy determines the parent of a queue.
            fields.pop(parent, None)
    if isinstance(strategy := fields.get("queueingStrategy"), str):
        declared["queueing_strategy"] = strategy
        del fields["queueingStrategy"]
    preemption = _preemption(fields.get("preemption"))
    if preemption is not None:
        declared["preemption"] = preemption
        del fields["preemption"]
    if fields:
        declared["spec"] = fields
    if not is_ours(manifest):
        declared.update(_marks(manifest))
    own_locals = _local_queues(queue, local_queues.get(name, ()), locals_made) if kind == "ClusterQueue" else None
    if own_locals is not None:
        declared["local_queues"] = own_locals
    labels = queue.labels if is_ours(manifest) else {}
    return replace(queue, labels=labels, kueue=KueueQueue(**declared) if declared else None)


def _preemption(written: object) -> KueuePreemption | None:
    """Return the preset that is emitted as exactly this preemption, if there is one."""
    if not isinstance(written, Mapping) or not _PREEMPTION.keys() <= written.keys():
        return None
    borrow = mapping(written, "borrowWithinCohort")
    if written.keys() - {*_PREEMPTION, "borrowWithinCohort"} or borrow.keys() - {"policy", "maxPriorityThreshold"}:
        return None
    if "borrowWithinCohort" in written and not borrow:
        return None
    declared: dict[str, Any] = {field: written[key] for key, field in _PREEMPTION.items()}
    if "policy" in borrow:
        declared["borrow_within_cohort"] = borrow["policy"]
    if "maxPriorityThreshold" in borrow:
        declared["borrow_max_priority"] = borrow["maxPriorityThreshold"]
    return KueuePreemption(**declared)


def _local_queues(
    queue: QueueRecord, local_queues: Sequence[Manifest], made: Sequence[Manifest]
) -> tuple[KueueLocalQueue, ...] | None:
    """Return the LocalQueues of a queue; None if they equal the generated ones."""
    wanted = tuple(_local_queue(local) for local in sorted(local_queues, key=_place))
    plain = tuple(
        KueueLocalQueue(name=object_name(queue.id), namespace=namespace) for namespace in sorted(queue.namespaces)
    )
    if wanted == plain and {_place(m) for m in local_queues} <= {_place(m) for m in made}:
        return None
    return wanted


def _local_queue(manifest: Manifest) -> KueueLocalQueue:
    namespace, _ = _place(manifest)
    declared: dict[str, Any] = {} if is_ours(manifest) else _marks(manifest)
    spec: dict[str, Any] = {key: value for key, value in mapping(manifest, "spec").items() if key != "clusterQueue"}
    if spec:
        declared["spec"] = spec
    return KueueLocalQueue(name=name_of(manifest), namespace=namespace, **declared)


def _place(manifest: Manifest) -> tuple[str, str]:
    return text(manifest, "metadata", "namespace") or "default", name_of(manifest)


def _objects(manifests: Sequence[Manifest], made: Sequence[Manifest]) -> Iterable[KueueObject]:
    """Yield the objects of each kind that would not be generated as imported."""
    for kind in _CLUSTER_KINDS:
        read = sorted(of_kind(manifests, GROUP, kind), key=name_of)
        found = {name_of(m): _fields(m) for m in of_kind(made, GROUP, kind)}
        values_of = any(not is_ours(m) and _marks(m) for m in read)
        if read and (values_of or {name_of(m): _fields(m) for m in read} != found):
            for manifest in read:
                declared = _marks(manifest)
                fields = _fields(manifest)
                yield KueueObject(
                    kind=kind,
                    name=name_of(manifest),
                    **declared,
                    **({"fields": fields} if fields else {}),
                )


def _fields(manifest: Manifest) -> dict[str, Any]:
    return {key: value for key, value in manifest.items() if key not in _NOT_FIELDS}


def _marks(manifest: Manifest) -> dict[str, Any]:
    labels = further(labels_of(manifest))
    annotations = {k: v for k, v in further(annotations_of(manifest)).items() if k != LAST_APPLIED_ANNOTATION}
    return {key: held for key, held in (("labels", labels), ("annotations", annotations)) if held}


def current_spec(manifest: Manifest) -> dict[str, Any]:
    """Return a spec with the field names of v1beta2."""
    spec: dict[str, Any] = dict(mapping(manifest, "spec"))
    if not str(manifest.get("apiVersion", "")).endswith("v1beta1"):
        return spec
    if "cohort" in spec:
        spec["cohortName"] = spec.pop("cohort")
    if checks := spec.pop("admissionChecks", None):
        spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": name} for name in checks]}
    if isinstance(fungibility := spec.get("flavorFungibility"), Mapping):
        spec["flavorFungibility"] = {
            key: _FORMER_FUNGIBILITY.get(value, value) if isinstance(value, str) else value
            for key, value in fungibility.items()
        }
    return spec
