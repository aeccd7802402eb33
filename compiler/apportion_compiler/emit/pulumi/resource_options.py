"""Resource options by kind: protection, ignored fields, immutable fields."""

from __future__ import annotations

from collections.abc import Mapping

from apportion_api.kubernetes.names import SCHEDULING_GROUP
from apportion_api.kueue.names import GROUP
from apportion_compiler.backends.metadata import MANAGER, QUEUE_ID_LABEL
from apportion_compiler.ir.program import Program
from apportion_compiler.kubernetes_names import label_value
from apportion_compiler.plain_objects import Manifest, group_of, labels_of, mapping

FIELD_MANAGER_ANNOTATION = "pulumi.com/patchFieldManager"
_KUEUE = GROUP

IMMUTABLE: Mapping[tuple[str, str], tuple[str, ...]] = {
    (SCHEDULING_GROUP, "PriorityClass"): ("value", "preemptionPolicy"),
    (_KUEUE, "LocalQueue"): ("spec.clusterQueue",),
    (_KUEUE, "AdmissionCheck"): ("spec.controllerName",),
    (_KUEUE, "Topology"): ("spec.levels",),
}
"""Fields that the API server or a webhook refuses to change: the object is deleted and recreated."""

_ROLE_BINDINGS = frozenset(("rbac.authorization.k8s.io", kind) for kind in ("RoleBinding", "ClusterRoleBinding"))
_HOLDS_A_PROMISE = frozenset({"Namespace", "Queue", "ClusterQueue", "Cohort", "ElasticQuota", "ResourceQuota"})
_HOLDS_ALL_PROMISES = frozenset({"ElasticQuotaTree"})


def immutable_fields(manifest: Manifest) -> list[str]:
    """Return the fields whose change replaces an object."""
    return list(IMMUTABLE.get((group_of(manifest), str(manifest["kind"])), ()))


def is_importable(manifest: Manifest) -> bool:
    """Return whether an existing object can be imported; any other is adopted by applying it.

    Pulumi's provider reads no inputs of objects that it did not write, and so considers the role of a binding changed,
    which would replace it. It is applied instead, which adopts it.
    """
    return (group_of(manifest), str(manifest["kind"])) not in _ROLE_BINDINGS


def fields_of_controllers(manifest: Manifest) -> list[str]:
    """Return the fields that controllers write: differences in them are ignored."""
    return ["status"] if "." in group_of(manifest) else []


def guaranteed_queues(program: Program) -> frozenset[str]:
    """Return the label values of queues with a guarantee."""
    return frozenset(label_value(queue.id) for queue in program.queues if any(queue.guaranteed.values()))


def holds_guarantee(manifest: Manifest, promised_queues: frozenset[str]) -> bool:
    """Return whether deleting an object removes the guarantee of a queue, or its workloads."""
    if manifest["kind"] in _HOLDS_ALL_PROMISES:
        return True
    return manifest["kind"] in _HOLDS_A_PROMISE and labels_of(manifest).get(QUEUE_ID_LABEL) in promised_queues


def owned(manifest: Manifest) -> Manifest:
    """Return an object with the annotation that makes Pulumi apply it with this project's field manager."""
    metadata = mapping(manifest, "metadata")
    notes = {**mapping(metadata, "annotations"), FIELD_MANAGER_ANNOTATION: MANAGER}
    return {**manifest, "metadata": {**metadata, "annotations": notes}}


def plain(inputs: Manifest) -> Manifest:
    """Return an object as compiled, from the inputs in Pulumi's state."""
    metadata = dict(mapping(inputs, "metadata"))
    notes = {k: v for k, v in mapping(metadata, "annotations").items() if k != FIELD_MANAGER_ANNOTATION}
    metadata.pop("annotations", None)
    if notes:
        metadata["annotations"] = notes
    return {
        **{key: value for key, value in inputs.items() if not key.startswith("__")},
        "metadata": metadata,
    }
