"""The data of a pod that YuniKorn's shim reads: its application, user, task groups and requests.

Source: yunikorn-k8shim pkg/cache (metadata.go, task.go, utils.go, gang_utils.go), pkg/common (resource.go, si_helper.go,
utils/utils.go) at 23b6b47f.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from apportion_api.kubernetes.operators import SPARK_APP_ID_LABEL
from apportion_api.yunikorn import names
from apportion_runtime.admission.objects import annotations_of, labels_of, namespace_of, nested
from apportion_runtime.engines.yunikorn.amounts import MOST, Amounts
from apportion_runtime.engines.yunikorn.applications import HARD, PLACEHOLDER_TIMEOUT_S, SOFT
from apportion_runtime.sim.scenario.format import Manifest
from apportion_runtime.snapshots.pod_requests import CPU, amount, pod_requests

_NOBODY = "nobody"
"""The user of a pod without a recorded one."""
_MAX_ID = 63
_DAEMON_SET, _NODE_NAME_FIELD = "DaemonSet", "metadata.name"
_UNIQUE_SUFFIX = "-uniqueautogen"
"""End of an application id that is replaced by the uid of the pod."""
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_LONGEST_TIMEOUT_S = 2**63 // 10**9
"""A longer one exceeds 64 bits in nanoseconds, and the default applies."""
_LISTS = ("tolerations", "topologySpreadConstraints")
_APP_ID_LABELS = (names.OLD_APP_ID_LABEL, SPARK_APP_ID_LABEL)


@dataclass(frozen=True, slots=True)
class TaskGroup:
    """A task group: the number and requests of its placeholders, the fields that place them, and their annotations."""

    name: str
    n_members: int
    amounts: Amounts
    spec: Mapping[str, Any]
    annotations: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class GangStyle:
    """How long placeholders are kept, and what happens then: `Soft` continues without them, `Hard` fails.

    `has_timeout` is whether the pod sets the time.
    """

    timeout_s: float = PLACEHOLDER_TIMEOUT_S
    style: str = SOFT
    has_timeout: bool = False


def counted(requests: Mapping[str, int]) -> dict[str, int]:
    """Return amounts by YuniKorn's names of resources."""
    return {names.VCORE if name == CPU else name: value for name, value in requests.items()}


def pod_amounts(spec: Mapping[str, Any]) -> dict[str, int]:
    """Return the amounts charged for a pod: its requests, and one of `pods`. Raises `ValueError`."""
    return {**counted(pod_requests(spec)), names.PODS_RESOURCE: 1}


def application_id(made: Manifest) -> str:
    """Return the id of a pod's application; pods of a namespace without one share an application."""
    labels, annotations = labels_of(made), annotations_of(made)
    found = labels.get(names.APP_ID_LABEL) or annotations.get(names.APP_ID_LABEL) or ""
    for key in _APP_ID_LABELS:
        found = found or labels.get(key, "")
    if found.endswith(_UNIQUE_SUFFIX):
        return f"{found.removesuffix(_UNIQUE_SUFFIX)}-{made['metadata'].get('uid', '')}"
    return found or f"yunikorn-{namespace_of(made)}-autogen"[:_MAX_ID]


def queue_named(made: Manifest) -> str:
    """Return the queue that a pod names; empty if it names none."""
    labels, annotations = labels_of(made), annotations_of(made)
    found = labels.get(names.QUEUE_LABEL) or annotations.get(names.QUEUE_ANNOTATION)
    return found or labels.get(names.OLD_QUEUE_LABEL) or ""


def user_of(made: Manifest) -> str:
    """Return the user that YuniKorn's admission controller recorded on a pod."""
    try:
        found = _fields(_decoded(annotations_of(made).get(names.USER_INFO_ANNOTATION) or "{}") or {})
        groups = found.get("groups") or []
        if not isinstance(groups, list) or not all(
            isinstance(each, str | None) for each in cast("list[object]", groups)
        ):
            return _NOBODY
    except ValueError:
        return _NOBODY
    user = found.get("user")
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
    """Return the task groups that a pod defines. YuniKorn ignores all of them if one is invalid.

    Raises:
        ValueError: If they are invalid.
    """
    text = annotations_of(made).get(names.TASK_GROUPS_ANNOTATION)
    if not text:
        return ()
    listed = _decoded(text)
    if listed is None:
        return ()
    if not isinstance(listed, list):
        raise ValueError("task groups must be a list")
    groups = tuple(_task_group(_fields(each)) for each in cast("list[object]", listed))
    for resource in {name: None for group in groups for name in group.amounts}:
        if sum(group.n_members * group.amounts.get(resource, 0) for group in groups) > MOST:
            raise ValueError(f"the task groups request more {resource} than 64 bits hold")
    return groups


def _task_group(fields: Mapping[str, Any]) -> TaskGroup:
    name, members, resources = fields.get("name"), fields.get("minmember"), fields.get("minresource")
    if not isinstance(name, str) or not name or type(members) is not int or not 0 < members < 2**31:
        raise ValueError("a task group requires a name and a positive minMember")
    if not isinstance(resources, Mapping):
        raise ValueError(f"task group {name} requires minResource")
    written = {key: 0 if each is None else each for key, each in cast("Mapping[str, Any]", resources).items() if key}
    requests = counted({key: amount(key, value) for key, value in written.items()})
    if any(value < 0 for value in requests.values()):
        raise ValueError(f"minResource of task group {name} is negative")
    if names.PODS_RESOURCE in requests or len(requests) < len(written):
        raise ValueError(f"minResource of task group {name} has pods, or cpu twice")
    for key in ("labels", "annotations", "nodeselector"):
        if not _holds(fields.get(key, {}), dict, str):
            raise ValueError(f"{key} of task group {name} must map texts to texts")
    if not isinstance(fields.get("affinity", {}), dict) or not all(
        _holds(fields.get(key.lower(), []), list, dict) for key in _LISTS
    ):
        raise ValueError(f"the affinity, tolerations or topologySpreadConstraints of task group {name} cannot be read")
    placing = {key: fields[key.lower()] for key in ("nodeSelector", "affinity", *_LISTS) if key.lower() in fields}
    return TaskGroup(name, members, {**requests, names.PODS_RESOURCE: 1}, placing, fields.get("annotations", {}))


def _holds(value: object, kind: type, items: type) -> bool:
    """Return whether a value is a list or mapping whose items have a type, or are null."""
    if not isinstance(value, kind):
        return False
    each = value.values() if isinstance(value, Mapping) else cast("list[object]", value)
    return all(isinstance(item, items | None) for item in each)


def _decoded(text: str) -> object:
    """Return the value of a JSON text. Raises `ValueError`."""
    return json.loads(text, parse_constant=_refuse)


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")


def _fields(value: object) -> Mapping[str, Any]:
    """Return the fields of a JSON object; as in Go, their names in any case, and null without effect. Raises `ValueError`."""
    if not isinstance(value, Mapping):
        raise ValueError("expected a mapping")
    return {key.lower(): each for key, each in cast("Mapping[str, object]", value).items() if each is not None}


def gang_style_of(made: Manifest) -> GangStyle:
    """Return the treatment of a gang's placeholders that are not used in time; what is invalid is ignored."""
    timeout, style = 0, SOFT
    for part in (annotations_of(made).get(names.SCHEDULING_PARAMETERS_ANNOTATION) or "").split(" "):
        key, *values = part.split("=")
        if len(values) != 1:
            continue
        if key == "placeholderTimeoutInSeconds":
            timeout = int(values[0]) if _INTEGER.fullmatch(values[0]) else 0
        elif key == "gangSchedulingStyle":
            style = HARD if values[0] == HARD else SOFT
    has_timeout = 0 < timeout <= _LONGEST_TIMEOUT_S
    return GangStyle(float(timeout) if has_timeout else PLACEHOLDER_TIMEOUT_S, style, has_timeout=has_timeout)
