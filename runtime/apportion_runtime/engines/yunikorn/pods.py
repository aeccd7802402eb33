"""The data of a pod that YuniKorn's shim reads: its application, user, task groups and requests.

Source: yunikorn-k8shim pkg/cache (metadata.go, task.go, utils.go, gang_utils.go), pkg/common (resource.go, si_helper.go,
utils/utils.go) at 23b6b47f.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from apportion_api.kubernetes.operators import SPARK_APP_ID_LABEL
from apportion_api.yunikorn import names
from apportion_runtime.admission.objects import annotations_of, labels_of, namespace_of, nested
from apportion_runtime.engines.yunikorn.amounts import Amounts
from apportion_runtime.engines.yunikorn.applications import HARD, PLACEHOLDER_TIMEOUT_S, SOFT
from apportion_runtime.sim.scenario.format import Manifest
from apportion_runtime.snapshots.pod_requests import CPU, amounts, pod_requests

_NOBODY = "nobody"
"""The user of a pod without a recorded one."""
_MAX_ID = 63
_DAEMON_SET, _NODE_NAME_FIELD = "DaemonSet", "metadata.name"
_APP_ID_LABELS = (names.OLD_APP_ID_LABEL, SPARK_APP_ID_LABEL)


@dataclass(frozen=True, slots=True)
class TaskGroup:
    """A task group: the number and requests of its placeholders, and the fields that place them."""

    name: str
    n_members: int
    amounts: Amounts
    spec: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class GangStyle:
    """How long placeholders are kept, and what happens then: `Soft` continues without them, `Hard` fails."""

    timeout_s: float = PLACEHOLDER_TIMEOUT_S
    style: str = SOFT


def counted(requests: Mapping[str, int]) -> dict[str, int]:
    """Return amounts by YuniKorn's names of resources."""
    return {names.VCORE if name == CPU else name: value for name, value in requests.items()}


def pod_amounts(spec: Mapping[str, Any]) -> dict[str, int]:
    """Return the amounts charged for a pod: its requests, and one of `pods`. Raises `ValueError`."""
    return {**counted(pod_requests(spec)), names.PODS_RESOURCE: 1}


def application_id(made: Manifest) -> str:
    """Return the id of a pod's application; pods of a namespace without one share an application."""
    labels, annotations = labels_of(made), annotations_of(made)
    found = labels.get(names.APP_ID_LABEL) or annotations.get(names.APP_ID_LABEL)
    for key in _APP_ID_LABELS:
        found = found or labels.get(key)
    return found or f"yunikorn-{namespace_of(made)}-autogen"[:_MAX_ID]


def queue_named(made: Manifest) -> str:
    """Return the queue that a pod names; empty if it names none."""
    labels, annotations = labels_of(made), annotations_of(made)
    found = labels.get(names.QUEUE_LABEL) or annotations.get(names.QUEUE_ANNOTATION)
    return found or labels.get(names.OLD_QUEUE_LABEL) or ""


def user_of(made: Manifest) -> str:
    """Return the user that YuniKorn's admission controller recorded on a pod."""
    try:
        found = json.loads(annotations_of(made).get(names.USER_INFO_ANNOTATION) or "{}")
    except ValueError:
        return _NOBODY
    user = cast("Mapping[str, object]", found).get("user") if isinstance(found, Mapping) else None
    return user if isinstance(user, str) and user else _NOBODY


def accepts_preemption(made: Manifest, classes: Mapping[str, Manifest]) -> bool:
    """Return whether a pod may be evicted before others, by its own annotation or that of its class."""
    own = annotations_of(made).get(names.ALLOW_PREEMPTION_ANNOTATION)
    if own in ("true", "false"):
        return own == "true"
    found = classes.get(str(made["spec"].get("priorityClassName") or ""))
    return found is None or annotations_of(found).get(names.ALLOW_PREEMPTION_ANNOTATION) != "false"


def required_node_of(made: Manifest) -> str:
    """Return the node that the affinity of a DaemonSet's pod requires by name; empty for other pods."""
    owners = made["metadata"].get("ownerReferences") or ()
    affinity = nested(made, "spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    if affinity is None or all(owner.get("kind") != _DAEMON_SET for owner in owners):
        return ""
    found = ""
    for term in affinity.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field.get("key") == _NODE_NAME_FIELD and field.get("values"):
                found = str(field["values"][0])
    return found


def task_group_of(made: Manifest) -> str:
    """Return the name of a pod's task group; empty without one."""
    return annotations_of(made).get(names.TASK_GROUP_NAME_ANNOTATION) or ""


def task_groups_of(made: Manifest) -> tuple[TaskGroup, ...]:
    """Return the task groups that a pod defines. YuniKorn ignores invalid ones.

    Raises:
        ValueError: If they are invalid.
    """
    text = annotations_of(made).get(names.TASK_GROUPS_ANNOTATION)
    if not text:
        return ()
    listed = json.loads(text)
    if not isinstance(listed, list):
        raise ValueError("task groups must be a list")
    return tuple(_task_group(each) for each in cast("list[object]", listed))


def _task_group(written: object) -> TaskGroup:
    if not isinstance(written, Mapping):
        raise ValueError("a task group must be a mapping")
    fields = cast("Mapping[str, Any]", written)
    name, members = fields.get("name"), fields.get("minMember")
    if not isinstance(name, str) or not name or not isinstance(members, int) or members < 1:
        raise ValueError("a task group requires a name and a positive minMember")
    if not isinstance(fields.get("minResource"), Mapping):
        raise ValueError(f"task group {name} requires minResource")
    requests = {**counted(amounts(fields["minResource"])), names.PODS_RESOURCE: 1}
    if any(value < 0 for value in requests.values()):
        raise ValueError(f"minResource of task group {name} is negative")
    placing = ("nodeSelector", "tolerations", "affinity", "topologySpreadConstraints")
    return TaskGroup(name, members, requests, {key: fields[key] for key in placing if key in fields})


def gang_style_of(made: Manifest) -> GangStyle:
    """Return the treatment of a gang's placeholders that are not used in time."""
    timeout, style = PLACEHOLDER_TIMEOUT_S, SOFT
    for part in (annotations_of(made).get(names.SCHEDULING_PARAMETERS_ANNOTATION) or "").split(" "):
        key, _, value = part.partition("=")
        if key == "placeholderTimeoutInSeconds" and value.isdecimal() and int(value):
            timeout = float(value)
        elif key == "gangSchedulingStyle":
            style = HARD if value == HARD else SOFT
    return GangStyle(timeout, style)
