"""Anonymised snapshots: the input of a scheduling cycle, without the names of people, workloads and machines.

Only listed fields are kept, so that unknown ones are never included: no environment variables, commands, images,
volumes, messages, addresses. Names, namespaces, uids, and the keys and values of labels are replaced by numbers, in
their order, and consistently, so that selectors still match and ties are broken in the same way.

Kept unchanged: queues, priority classes, shards, topologies, resources, and labels of Kubernetes, of KAI, of NVIDIA
and of the operators of workloads that do not identify their owners.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from apportion_api.kai.names import (
    CONFIGURATION_GROUP,
    GPU_GROUP_LABEL,
    GPU_SHARING_ANNOTATIONS,
    MPS_ANNOTATION,
    POD_GROUP_ANNOTATION,
    PRIORITY_CLASS_LABEL,
    SUB_GROUP_LABEL,
    TOP_OWNER_ANNOTATION,
)
from apportion_api.kubernetes.names import HOSTNAME_LABEL
from apportion_api.kubernetes.operators import (
    JOBSET_INDEX_LABEL,
    LWS_GROUP_LABEL,
    LWS_WORKER_LABEL,
    RAY_NODE_TYPE_LABEL,
)

Object = Mapping[str, Any]
_KEPT_LABELS = (
    f"{CONFIGURATION_GROUP}/",
    "nvidia.com/",
    "node-role.kubernetes.io/",
    "kubernetes.io/arch",
    "kubernetes.io/os",
    GPU_GROUP_LABEL,
    PRIORITY_CLASS_LABEL,
    RAY_NODE_TYPE_LABEL,
    "training.kubeflow.org/replica-",
    JOBSET_INDEX_LABEL,
    LWS_WORKER_LABEL,
    LWS_GROUP_LABEL,
)
"""The prefixes of the keys whose values are kept."""
_KNOWN_DOMAINS = ("kubernetes.io", "k8s.io", "ray.io", "kubeflow.org")
"""Labels of these domains keep their keys."""
_KEPT_ANNOTATIONS = (*GPU_SHARING_ANNOTATIONS, MPS_ANNOTATION, f"{CONFIGURATION_GROUP}/")
_POD_SPEC = (
    "schedulerName", "priorityClassName", "priority", "preemptionPolicy", "terminationGracePeriodSeconds", "overhead",
    "restartPolicy",
)  # fmt: skip
_CONDITION = ("type", "status", "reason", "lastTransitionTime")
_METADATA = ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
_CONDITION_TYPES = frozenset((
    "Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable", "PodScheduled", "Initialized",
    "ContainersReady", "PodReadyToStartContainers", "DisruptionTarget",
))  # fmt: skip
_WHOLE = frozenset(("PriorityClass", "Queue", "SchedulingShard"))
"""Kinds whose names and specifications are kept."""


def anonymised(objects: Iterable[Object]) -> list[dict[str, Any]]:
    """Return the objects without data that identifies an organisation, its people or its workloads.

    Objects of unknown kinds are left out, and so is the configuration of KAI's services.
    """
    found = [one for one in objects if one["kind"] in _WRITERS or one["kind"] in _WHOLE]
    names = _Names(found)
    return [_whole(one) if one["kind"] in _WHOLE else _written(one, names) for one in found]


class _Names:
    """A number for each name, in the order of the names."""

    def __init__(self, objects: Sequence[Object]) -> None:
        words = sorted({word for one in objects for word in _words(one)})
        width = len(str(len(words)))
        self._numbers = {word: f"{number:0{width}d}" for number, word in enumerate(words)}

    def of(self, prefix: str, word: str) -> str:
        """Return the replacement of a word; an empty one stays empty."""
        return f"{prefix}-{self._numbers[word]}" if word else word

    def label(self, key: str, value: str) -> tuple[str, str]:
        """Return a label."""
        return self.key(key), self.value(key, value)

    def key(self, key: str) -> str:
        """Return the key of a label."""
        domain, slash, _ = key.partition("/")
        is_known = bool(slash) and any(domain == each or domain.endswith(f".{each}") for each in _KNOWN_DOMAINS)
        return key if is_known or key.startswith(_KEPT_LABELS) else self.of("label", key)

    def value(self, key: str, value: str) -> str:
        """Return the value of a label. The name of a machine is that of its node; numbers are compared, and kept."""
        if key == SUB_GROUP_LABEL:
            return self.of("part", value)
        if key.startswith(_KEPT_LABELS) or not value or value in ("true", "false") or value.isdecimal():
            return value
        return self.of("node" if key == HOSTNAME_LABEL else "value", value)


def _words(made: Any) -> Iterator[str]:
    """Yield all texts of an object, including keys: everything that is replaced is among them."""
    if isinstance(made, Mapping):
        for key, value in made.items():
            yield str(key)
            yield from _words(value)
    elif isinstance(made, list | tuple):
        for value in made:
            yield from _words(value)
    elif isinstance(made, str):
        yield made


def _whole(made: Object) -> dict[str, Any]:
    kept = {key: value for key, value in made.items() if key not in ("metadata", "status", "description")}
    if "spec" in kept:
        kept["spec"] = {key: value for key, value in kept["spec"].items() if key != "displayName"}
    old = made["metadata"]
    metadata = {key: old[key] for key in ("name", "uid", *_METADATA) if key in old}
    labels = {
        key: value for key, value in (old.get("labels") or {}).items() if key.startswith(f"{CONFIGURATION_GROUP}/")
    }
    return {**kept, "metadata": {**metadata, **({"labels": labels} if labels else {})}}


def _written(made: Object, names: _Names) -> dict[str, Any]:
    prefix, write = _WRITERS[made["kind"]]
    old = made["metadata"]
    metadata: dict[str, Any] = {key: old[key] for key in _METADATA if key in old}
    # Policies and pod groups refer to topologies.
    metadata["name"] = names.of(prefix, old["name"]) if prefix else old["name"]
    for key, kind in (("namespace", "namespace"), ("uid", "uid")):
        if key in old:
            metadata[key] = names.of(kind, old[key])
    if old.get("labels"):
        metadata["labels"] = _labels(old["labels"], names)
    annotations = {
        key: names.key(value) if key.endswith("-placement") else value
        for key, value in (old.get("annotations") or {}).items()
        if key.startswith(_KEPT_ANNOTATIONS) and key != TOP_OWNER_ANNOTATION
    }
    if POD_GROUP_ANNOTATION in (old.get("annotations") or {}):
        annotations[POD_GROUP_ANNOTATION] = names.of("group", old["annotations"][POD_GROUP_ANNOTATION])
    if annotations:
        metadata["annotations"] = annotations
    owners = old.get("ownerReferences") or ()
    if owners:
        metadata["ownerReferences"] = [_owner(owner, names) for owner in owners]
    return {"apiVersion": made["apiVersion"], "kind": made["kind"], "metadata": metadata, **write(made, names)}


def _owner(owner: Object, names: _Names) -> dict[str, Any]:
    kept = {key: owner[key] for key in ("apiVersion", "kind", "controller") if key in owner}
    prefix = _WRITERS[owner["kind"]][0] if owner["kind"] in _WRITERS else "owner"
    return {**kept, "name": names.of(prefix, owner["name"]), "uid": names.of("uid", owner["uid"])}


def _labels(labels: Mapping[str, str], names: _Names) -> dict[str, str]:
    return dict(names.label(key, value) for key, value in labels.items())


def _namespace(made: Object, names: _Names) -> dict[str, Any]:
    return {}


def _node(made: Object, names: _Names) -> dict[str, Any]:
    spec, status = made.get("spec") or {}, made.get("status") or {}
    written: dict[str, Any] = {key: spec[key] for key in ("unschedulable",) if key in spec}
    if spec.get("taints"):
        written["taints"] = [_taint(taint, names) for taint in spec["taints"]]
    kept = {key: status[key] for key in ("allocatable", "capacity") if key in status}
    return {"spec": written, "status": {**kept, **_conditions(status)}}


def _taint(made: Object, names: _Names) -> dict[str, Any]:
    """Return a taint or a toleration."""
    kept = {key: made[key] for key in ("effect", "operator", "tolerationSeconds", "timeAdded") if key in made}
    key = made.get("key") or ""
    if key:
        kept["key"] = names.key(key)
    if made.get("value"):
        kept["value"] = names.value(key, made["value"])
    return kept


def _pod(made: Object, names: _Names) -> dict[str, Any]:
    spec, status = made.get("spec") or {}, made.get("status") or {}
    written: dict[str, Any] = {key: spec[key] for key in _POD_SPEC if key in spec}
    for key in ("nodeName", "nominatedNodeName"):
        if spec.get(key):
            written[key] = names.of("node", spec[key])
    for key in ("containers", "initContainers"):
        if spec.get(key):
            written[key] = [_container(number, one) for number, one in enumerate(spec[key])]
    if spec.get("schedulingGates"):
        written["schedulingGates"] = [{"name": names.of("gate", one["name"])} for one in spec["schedulingGates"]]
    if spec.get("nodeSelector"):
        written["nodeSelector"] = _labels(spec["nodeSelector"], names)
    if spec.get("tolerations"):
        written["tolerations"] = [_taint(one, names) for one in spec["tolerations"]]
    for key in ("affinity", "topologySpreadConstraints"):
        if spec.get(key):
            written[key] = _terms(spec[key], names)
    kept = {key: status[key] for key in ("phase", "startTime", "qosClass") if key in status}
    if status.get("nominatedNodeName"):
        kept["nominatedNodeName"] = names.of("node", status["nominatedNodeName"])
    return {"spec": written, "status": {**kept, **_conditions(status)}}


def _container(number: int, made: Object) -> dict[str, Any]:
    kept = {key: made[key] for key in ("resources", "restartPolicy") if key in made}
    # Host ports affect the choice of nodes.
    ports = [port for port in made.get("ports") or () if port.get("hostPort")]
    if ports:
        kept["ports"] = [
            {key: port[key] for key in ("containerPort", "hostPort", "protocol") if key in port} for port in ports
        ]
    if "resources" in kept:
        kept["resources"] = {key: kept["resources"][key] for key in ("requests", "limits") if key in kept["resources"]}
    return {"name": f"container-{number}", **kept}


def _terms(made: Any, names: _Names) -> Any:
    """Return affinity terms or spread constraints: their structure, with the names of labels, namespaces and nodes replaced."""
    if isinstance(made, list):
        return [_terms(one, names) for one in made]
    if not isinstance(made, Mapping):
        return made
    written: dict[str, Any] = {}
    for key, value in made.items():
        if key == "matchLabels":
            written[key] = _labels(value, names)
        elif key in ("matchExpressions", "matchFields"):
            written[key] = [_expression(one, names, is_field=key == "matchFields") for one in value]
        elif key == "topologyKey":
            written[key] = names.key(value)
        elif key == "namespaces":
            written[key] = [names.of("namespace", one) for one in value]
        elif key in ("matchLabelKeys", "mismatchLabelKeys"):
            written[key] = [names.key(one) for one in value]
        else:
            written[key] = _terms(value, names)
    return written


def _expression(made: Object, names: _Names, *, is_field: bool) -> dict[str, Any]:
    key = made["key"]
    values = made.get("values") or ()
    if is_field:
        return {**made, "values": [names.of("node", value) for value in values]}
    kept = {"key": names.key(key), "operator": made["operator"]}
    return {**kept, "values": [names.value(key, value) for value in values]} if values else kept


def _pod_group(made: Object, names: _Names) -> dict[str, Any]:
    status = made.get("status") or {}
    kept = {key: status[key] for key in ("resourcesStatus",) if key in status}
    spec = _group_spec(made.get("spec") or {}, names)
    if spec.get("subGroups"):
        spec["subGroups"] = [_group_spec(part, names) for part in spec["subGroups"]]
    return {"spec": spec, **({"status": kept} if kept else {})}


def _group_spec(made: Object, names: _Names) -> dict[str, Any]:
    """Return the specification of a pod group, or a sub-group."""
    written = dict(made)
    for key in ("name", "parent"):
        if written.get(key):
            written[key] = names.of("part", written[key])
    if written.get("topologyConstraint"):
        written["topologyConstraint"] = {
            key: value if key == "topology" else names.key(value)
            for key, value in written["topologyConstraint"].items()
        }
    return written


def _topology(made: Object, names: _Names) -> dict[str, Any]:
    levels = (made.get("spec") or {}).get("levels") or ()
    return {"spec": {"levels": [{**level, "nodeLabel": names.key(level["nodeLabel"])} for level in levels]}}


def _bind_request(made: Object, names: _Names) -> dict[str, Any]:
    spec = made.get("spec") or {}
    written = {key: spec[key] for key in ("receivedResourceType", "receivedGPU", "backoffLimit") if key in spec}
    written |= {key: spec[key] for key in ("selectedGPUGroups",) if key in spec}
    for key, prefix in (("podName", "pod"), ("selectedNode", "node")):
        if spec.get(key):
            written[key] = names.of(prefix, spec[key])
    status = made.get("status") or {}
    return {"spec": written, "status": {key: status[key] for key in ("phase", "failedAttempts") if key in status}}


def _conditions(status: Object) -> dict[str, Any]:
    conditions = status.get("conditions") or ()
    written = [
        {key: one[key] for key in _CONDITION if key in one} for one in conditions if one["type"] in _CONDITION_TYPES
    ]
    return {"conditions": written} if written else {}


_WRITERS = {
    "Namespace": ("namespace", _namespace),
    "Node": ("node", _node),
    "Pod": ("pod", _pod),
    "PodGroup": ("group", _pod_group),
    "Topology": ("", _topology),
    "BindRequest": ("bind", _bind_request),
}
"""By kind: the prefix of its names, and what is kept of it besides metadata."""
