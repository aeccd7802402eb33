"""The kinds of objects that are read, and their shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from apportion_api.fields import dotted
from apportion_api.kai.names import CONFIGURATION_GROUP, GROUP
from apportion_api.kai.objects import PodGroup, Queue, SchedulingShard, Topology
from apportion_api.kubernetes.objects import PriorityClass
from apportion_api.objects import ApiObject, read
from apportion_runtime.snapshots.codec import described_value
from apportion_runtime.snapshots.document_loader import ENGINE_CONFIGURATION, LocatedObject
from apportion_runtime.snapshots.faults import DUPLICATE, UNREADABLE, Fault, ObjectLocation
from apportion_runtime.snapshots.kubernetes.read_objects import ReadObjects
from apportion_runtime.snapshots.shapes import Amount, MappingOf, shape_mismatch

_TEXTS = MappingOf(str)
_AMOUNTS = MappingOf(Amount)
_META: dict[str, Any] = {
    "name": str, "namespace": str, "uid": str, "labels": _TEXTS, "annotations": _TEXTS, "creationTimestamp": str,
    "deletionTimestamp": str, "ownerReferences": [{"kind": str, "uid": str}],
}  # fmt: skip
_METADATA = {"metadata": _META}
_REQUIREMENTS = [{"key": str, "operator": str, "values": [str]}]
_LABEL_SELECTOR = {"matchLabels": _TEXTS, "matchExpressions": _REQUIREMENTS}
_NODE_SELECTOR = {"nodeSelectorTerms": [{"matchExpressions": _REQUIREMENTS, "matchFields": _REQUIREMENTS}]}
_POD_TERM = {
    "topologyKey": str, "labelSelector": _LABEL_SELECTOR, "namespaces": [str], "namespaceSelector": _LABEL_SELECTOR,
}  # fmt: skip
_POD_TERMS = {
    "requiredDuringSchedulingIgnoredDuringExecution": [_POD_TERM],
    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": int, "podAffinityTerm": _POD_TERM}],
}
_CONTAINERS = [
    {
        "name": str, "restartPolicy": str, "resources": {"requests": _AMOUNTS},
        "ports": [{"hostPort": int, "hostIP": str, "protocol": str}],
        "env": [{"valueFrom": {"configMapKeyRef": {"name": str, "optional": bool}}}],
        "envFrom": [{"configMapRef": {"name": str, "optional": bool}}],
        "volumeMounts": [{"name": str}],
    }
]  # fmt: skip
_ALLOCATION = {
    "devices": {"results": [{"driver": str, "pool": str, "device": str}]},
    "nodeSelector": _NODE_SELECTOR,
}
_EXACTLY = {
    "deviceClassName": str, "count": int, "allocationMode": str, "adminAccess": bool,
    "selectors": [{"cel": {"expression": str}}],
}  # fmt: skip
_CONDITIONS = [{"type": str, "status": str, "lastTransitionTime": str, "lastHeartbeatTime": str}]
_ATTRIBUTES = MappingOf({"string": str, "int": int, "bool": bool, "version": str})
_DEVICES = [
    {
        "name": str, "nodeName": str, "allNodes": bool, "nodeSelector": _NODE_SELECTOR,
        "attributes": _ATTRIBUTES, "capacity": MappingOf(object), "basic": {"attributes": _ATTRIBUTES, "capacity": MappingOf(object)},
    }
]  # fmt: skip

POD, NODE, QUEUE, POD_GROUP = "Pod", "Node", "Queue", "PodGroup"

SHAPES: Mapping[tuple[str, str], dict[str, Any]] = {
    ("", NODE): {
        "metadata": _META,
        "spec": {"unschedulable": bool, "taints": [{"key": str, "value": str, "effect": str}]},
        "status": {"allocatable": _AMOUNTS, "conditions": _CONDITIONS},
    },
    ("", POD): {
        "metadata": _META,
        "spec": {
            "nodeName": str, "schedulerName": str, "priorityClassName": str, "priority": int,
            "containers": _CONTAINERS, "initContainers": _CONTAINERS, "ephemeralContainers": _CONTAINERS,
            "overhead": _AMOUNTS, "nodeSelector": _TEXTS, "schedulingGates": [{"name": str}],
            "tolerations": [{"key": str, "operator": str, "value": str, "effect": str}],
            "affinity": {
                "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": _NODE_SELECTOR},
                "podAffinity": _POD_TERMS,
                "podAntiAffinity": _POD_TERMS,
            },
            "resourceClaims": [{"name": str, "resourceClaimName": str, "resourceClaimTemplateName": str}],
            "volumes": [
                {
                    "name": str, "persistentVolumeClaim": {"claimName": str}, "ephemeral": {},
                    "configMap": {"name": str, "optional": bool},
                    "projected": {"sources": [{"configMap": {"name": str, "optional": bool}}]},
                }
            ],
        },
        "status": {
            "phase": str, "nominatedNodeName": str, "qosClass": str,
            "resourceClaimStatuses": [{"name": str, "resourceClaimName": str}],
        },
    },
    (GROUP, "BindRequest"): {
        "metadata": _META,
        "spec": {
            "podName": str, "selectedNode": str, "selectedGPUGroups": [str], "backoffLimit": int,
            "resourceClaimAllocations": [{"name": str, "allocation": _ALLOCATION}],
            "predictedNUMAZones": [{"zone": str, "amount": _AMOUNTS}],
        },
        "status": {"phase": str, "failedAttempts": int},
    },
    (CONFIGURATION_GROUP, "Config"): {
        "metadata": _META,
        "spec": {"global": {"schedulerName": str, "nodePoolLabelKey": str, "queueLabelKey": str}},
    },
    ("topology.node.k8s.io", "NodeResourceTopology"): {
        "metadata": _META, "topologyPolicies": [str], "attributes": [{"name": str, "value": str}],
        "zones": [
            {"name": str, "type": str, "resources": [{"name": str, "available": Amount, "allocatable": Amount}]}
        ],
    },
    ("resource.k8s.io", "ResourceClaim"): {
        "metadata": _META,
        "spec": {
            "devices": {
                "requests": [{"name": str, "exactly": _EXACTLY, "firstAvailable": [{}], **_EXACTLY}],
                "constraints": [{"requests": [str], "matchAttribute": str}],
            }
        },
        "status": {"allocation": _ALLOCATION, "reservedFor": [{"resource": str, "name": str, "uid": str}]},
    },
    ("resource.k8s.io", "ResourceSlice"): {
        "metadata": _META,
        "spec": {
            "driver": str, "nodeName": str, "allNodes": bool, "nodeSelector": _NODE_SELECTOR, "devices": _DEVICES,
            "pool": {"name": str, "generation": int, "resourceSliceCount": int}, "perDeviceNodeSelection": bool,
        },
    },
    ("resource.k8s.io", "DeviceClass"): {
        "metadata": _META,
        "spec": {"selectors": [{"cel": {"expression": str}}], "extendedResourceName": str},
    },
    ("", "Namespace"): {"metadata": _META},
    ("", "ConfigMap"): {"metadata": _META},
    ("", "PersistentVolumeClaim"): {"metadata": _META},
    ("", ENGINE_CONFIGURATION): {
        "metadata": _META,
        "config": {
            "actions": str, "queueDepthPerAction": MappingOf(int),
            "tiers": [{"plugins": [{"name": str, "arguments": _TEXTS}]}],
        },
        "schedulerParams": {
            "schedulerName": str, "maxNumberConsolidationPreemptees": int, "useSchedulingSignatures": bool,
            "fullHierarchyFairness": bool, "allowConsolidatingReclaim": bool, "queueLabelKey": str,
            "globalDefaultStalenessGracePeriod": int, "stuckInReleasingThreshold": int,
            "restrictSchedulingNodes": bool, "partitionParams": {"NodePoolLabelKey": str, "NodePoolLabelValue": str},
        },
    },
}  # fmt: skip
"""Kinds that this package alone reads, by API group, and the part of each that a cycle depends on."""

FORMS: Mapping[tuple[str, str], type[ApiObject]] = {
    (form.group, form.__name__): form for form in (Queue, PodGroup, PriorityClass, SchedulingShard, Topology)
}
"""Kinds whose typed records are shared with the compiler."""

KINDS = frozenset((*SHAPES, *FORMS))
"""Kinds that are read, by API group."""

_CLUSTER_WIDE = frozenset(
    (NODE, QUEUE, "PriorityClass", "Topology", "SchedulingShard", "Config", "NodeResourceTopology", "ResourceSlice",
     "DeviceClass", "Namespace", ENGINE_CONFIGURATION)
)  # fmt: skip


_Form = TypeVar("_Form", bound=ApiObject)


class Object(NamedTuple):
    """An object whose shape was checked."""

    kind: str
    namespace: str
    name: str
    data: Mapping[str, Any]
    place: ObjectLocation
    typed: ApiObject | None = None

    def read_as(self, form: type[_Form]) -> _Form:
        """Return its typed record, which a simulation does not keep."""
        return self.typed if isinstance(self.typed, form) else read(form, self.data)

    @property
    def address(self) -> str:
        """The object's address in findings."""
        return address(self.kind, self.namespace, self.name)

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The object's metadata."""
        return self.data.get("metadata") or {}

    @property
    def spec(self) -> Mapping[str, Any]:
        """The object's spec."""
        return self.data.get("spec") or {}

    @property
    def status(self) -> Mapping[str, Any]:
        """The object's status."""
        return self.data.get("status") or {}

    @property
    def labels(self) -> Mapping[str, str]:
        """The object's labels."""
        return self.metadata.get("labels") or {}

    @property
    def annotations(self) -> Mapping[str, str]:
        """The object's annotations."""
        return self.metadata.get("annotations") or {}


_WORDS = {POD_GROUP: "pod group", "PriorityClass": "priority class", "ResourceClaim": "resource claim"}


def address(kind: str, namespace: str, name: str) -> str:
    """Return the address of an object in findings."""
    word = _WORDS.get(kind) or (kind.lower() if kind in (POD, NODE, QUEUE, "Topology") else kind)
    return f"{word} {namespace}/{name}" if namespace else f"{word} {name}"


def objects_by_kind(
    found: Iterable[LocatedObject], faults: list[Fault], known: ReadObjects | None = None
) -> dict[str, list[Object]]:
    """Return the supported objects by kind, sorted by name, without duplicates.

    Args:
        found: The objects.
        faults: Receives the faults.
        known: Objects that were read earlier from the same mappings; receives those that are read.
    """
    by_kind: dict[str, list[Object]] = {kind: [] for _, kind in sorted(KINDS)}
    seen: set[tuple[str, str, str]] = set()
    for data, place in found:
        made = None if known is None else known.get(data)
        if made is None:
            made = _object(data, place, faults)
            if made is None:
                continue
            if known is not None:
                known.put(made)
        kind, namespace, name = key = made[:3]
        if key in seen:
            faults.append(
                Fault(
                    DUPLICATE,
                    address(kind, namespace, name),
                    f"{address(kind, namespace, name)} is listed twice",
                    f"remove one definition of {address(kind, namespace, name)}",
                    place.at("metadata", "name"),
                )
            )
            continue
        seen.add(key)
        by_kind[kind].append(made)
    for objects in by_kind.values():
        objects.sort(key=itemgetter(1, 2))
    return by_kind


def _object(data: Mapping[str, Any], place: ObjectLocation, faults: list[Fault]) -> Object | None:
    """Return an object; None if its kind is not supported, or if it is rejected."""
    group = str(data.get("apiVersion") or "").rpartition("/")[0]
    kind = data["kind"]
    if not isinstance(kind, str) or (group, kind) not in KINDS:
        return None
    form = FORMS.get((group, kind))
    wrong = shape_mismatch(data, _METADATA if form is not None else SHAPES[group, kind])
    typed = read(form, data) if form is not None and wrong is None else None
    if typed is not None and typed.faults:
        first = typed.faults[0]
        wrong = first.steps, f"expected {first.expected}, found {described_value(first.found)}"
    name, namespace = _identity(data)
    if wrong is not None:
        path, message = wrong
        where = dotted(path)
        about = address(kind, namespace, name)
        faults.append(Fault(UNREADABLE, about, f"`{where}`: {message}", f"correct `{where}`", place.at(*path)))
        return None
    if not name:
        message = f"the {kind} has no `metadata.name`"
        faults.append(Fault(UNREADABLE, kind, message, "set `metadata.name`", place))
        return None
    return Object(kind, "" if kind in _CLUSTER_WIDE else namespace, name, data, place, typed)


def _identity(data: Mapping[str, Any]) -> tuple[str, str]:
    metadata = data.get("metadata")
    if not isinstance(metadata, dict):
        return "", ""
    name, namespace = metadata.get("name"), metadata.get("namespace")
    return (name if isinstance(name, str) else ""), (namespace if isinstance(namespace, str) else "")
