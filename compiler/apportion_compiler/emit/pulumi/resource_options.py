"""How objects of a kind are treated: what is protected, what others write into them, what cannot be changed in place."""

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
"""Fields that the API server or a webhook refuses to change: the object is deleted and made anew."""

_ROLE_BINDINGS = frozenset(("rbac.authorization.k8s.io", kind) for kind in ("RoleBinding", "ClusterRoleBinding"))
_HOLDS_A_PROMISE = frozenset({"Namespace", "Queue", "ClusterQueue", "Cohort", "ElasticQuota", "ResourceQuota"})
_HOLDS_ALL_PROMISES = frozenset({"ElasticQuotaTree"})


def immutable_fields(manifest: Manifest) -> list[str]:
    """Return the fields whose change replaces an object."""
    return list(IMMUTABLE.get((group_of(manifest), str(manifest["kind"])), ()))


def is_importable(manifest: Manifest) -> bool:
    """Tell whether an object that is there can be imported; any other is adopted by being applied.

    Pulumi's provider reads no inputs of what it did not write itself, and so takes the role of a binding for changed,
    which would have it made anew. It is applied instead, and so taken over.
    """
    return (group_of(manifest), str(manifest["kind"])) not in _ROLE_BINDINGS


def fields_of_controllers(manifest: Manifest) -> list[str]:
    """Return the fields that controllers write: what they say there is no difference."""
    return ["status"] if "." in group_of(manifest) else []


def promised(program: Program) -> frozenset[str]:
    """Return the labels' values of the queues that are promised anything."""
    return frozenset(label_value(queue.id) for queue in program.queues if any(queue.guaranteed.values()))


def holds_guarantee(manifest: Manifest, promised_queues: frozenset[str]) -> bool:
    """Tell whether deleting an object takes from a queue what it is promised, or its work with it."""
    if manifest["kind"] in _HOLDS_ALL_PROMISES:
        return True
    return manifest["kind"] in _HOLDS_A_PROMISE and labels_of(manifest).get(QUEUE_ID_LABEL) in promised_queues


def owned(manifest: Manifest) -> Manifest:
    """Return an object with the mark that makes Pulumi apply it as this project's own field manager."""
    metadata = mapping(manifest, "metadata")
    notes = {**mapping(metadata, "annotations"), FIELD_MANAGER_ANNOTATION: MANAGER}
    return {**manifest, "metadata": {**metadata, "annotations": notes}}


def plain(inputs: Manifest) -> Manifest:
    """Return an object as it was compiled, from the inputs that Pulumi keeps of its resource."""
    metadata = dict(mapping(inputs, "metadata"))
    notes = {k: v for k, v in mapping(metadata, "annotations").items() if k != FIELD_MANAGER_ANNOTATION}
    metadata.pop("annotations", None)
    if notes:
        metadata["annotations"] = notes
    return {
        **{key: value for key, value in inputs.items() if not key.startswith("__")},
        "metadata": metadata,
    }
