"""The admission policies of the packaged scheduler: its account changes only the fields of pods, or of released jobs,
that it writes, and only the ConfigMaps of pods that share GPUs.

RBAC permits or denies `patch` for pods as a whole. With the first policy, the account can mark a pod as part of its pod group
and set its conditions, but change neither its image or tolerations nor labels that other controllers read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apportion_api.ack.names import DEQUEUED_AT_ANNOTATION, ENQUEUED_AT_ANNOTATION, SUSPEND_ANNOTATION
from apportion_api.kai.names import (
    GPU_GROUP_LABEL,
    GPU_GROUP_LABEL_PREFIX,
    POD_GROUP_ANNOTATION,
    RECEIVED_TYPE_ANNOTATION,
    SUB_GROUP_LABEL,
)
from apportion_compiler.plain_objects import Manifest

POD_LABELS = (SUB_GROUP_LABEL,)
POD_ANNOTATIONS = (POD_GROUP_ANNOTATION,)
POD_CONDITIONS = ("PodScheduled", "DisruptionTarget")
"""The labels, annotations and conditions of pods that `apportion_runtime.kube` writes."""
JOB_ANNOTATIONS = (ENQUEUED_AT_ANNOTATION, DEQUEUED_AT_ANNOTATION, SUSPEND_ANNOTATION)
"""The annotations of released jobs that it writes."""
_CONFIG_MAP = "-shared-gpu-i?[0-9]+(-evar)?$"
"""The names of ConfigMaps that KAI's admission webhook gives a pod that shares GPUs."""

_API_VERSION = "admissionregistration.k8s.io/v1"
_OF_THE_SERVER = ("generation", "managedFields", "resourceVersion")
"""The metadata that the API server changes with each write."""


def pod_policy(metadata: dict[str, Any], account: str, *, shares_gpus: bool) -> tuple[Manifest, Manifest]:
    """Return the policy for pods and its binding.

    Args:
        metadata: The metadata of both.
        account: The user name of the scheduler's service account.
        shares_gpus: Whether it may write what pods that share GPUs need.
    """
    # The labels and annotations of a pod can be changed with its status as well.
    rule = _rule(("pods", "pods/status"), ("UPDATE",))
    return _policy(metadata, account, [rule], _validations(shares_gpus=shares_gpus))


def job_policy(metadata: dict[str, Any], account: str) -> tuple[Manifest, Manifest]:
    """Return the policy for jobs that are released, and its binding; arguments as for `pod_policy`."""
    validations = [
        {
            "expression": _is_unchanged(".spec", ("suspend",)),
            "message": "in a job's spec, the scheduler may change only the suspend field",
        },
        {
            "expression": _is_unchanged(".metadata", (*_OF_THE_SERVER, "annotations")),
            "message": "in a job's metadata, the scheduler may change only the annotations",
        },
        {
            "expression": _is_unchanged(".metadata.?annotations.orValue({})", JOB_ANNOTATIONS),
            "message": f"on a job, the scheduler may change only these annotations: {', '.join(JOB_ANNOTATIONS)}",
        },
    ]
    rules = (_rule(("jobs",), ("UPDATE",), "batch"), _rule(("rayjobs",), ("UPDATE",), "ray.io"))
    return _policy(metadata, account, rules, validations)


def config_map_policy(metadata: dict[str, Any], account: str) -> tuple[Manifest, Manifest]:
    """Return the policy for ConfigMaps and its binding; arguments as for `pod_policy`."""
    validation = {
        "expression": f"object.metadata.name.matches('{_CONFIG_MAP}')",
        "message": "the scheduler may write ConfigMaps only for pods that share GPUs, with names that match "
        f"{_CONFIG_MAP}",
    }
    return _policy(metadata, account, [_rule(("configmaps",), ("CREATE", "UPDATE"))], [validation])


def _rule(resources: Sequence[str], operations: Sequence[str], group: str = "") -> dict[str, Any]:
    return {
        "apiGroups": [group],
        "apiVersions": ["v1"],
        "operations": list(operations),
        "resources": list(resources),
        "scope": "Namespaced",
    }


def _policy(
    metadata: dict[str, Any], account: str, rules: Sequence[Mapping[str, Any]], validations: Sequence[Mapping[str, str]]
) -> tuple[Manifest, Manifest]:
    policy = {
        "apiVersion": _API_VERSION,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": metadata,
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": list(rules)},
            "matchConditions": [{"name": "scheduler", "expression": f"request.userInfo.username == '{account}'"}],
            "validations": list(validations),
        },
    }
    binding = {
        "apiVersion": _API_VERSION,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": metadata,
        "spec": {"policyName": metadata["name"], "validationActions": ["Deny"]},
    }
    return policy, binding


def _validations(*, shares_gpus: bool) -> list[dict[str, str]]:
    labels = (*POD_LABELS, *((GPU_GROUP_LABEL,) if shares_gpus else ()))
    prefixes = (GPU_GROUP_LABEL_PREFIX,) if shares_gpus else ()
    annotations = (*POD_ANNOTATIONS, *((RECEIVED_TYPE_ANNOTATION,) if shares_gpus else ()))
    named_labels = ", ".join((*labels, *(f"{prefix}…" for prefix in prefixes)))
    conditions = "dyn({}).status.?conditions.orValue([])" + f".filter(c, !(c.type in {_texts(POD_CONDITIONS)}))"
    return [
        {"expression": "object.spec == oldObject.spec", "message": "the scheduler must not change a pod's spec"},
        {
            "expression": _is_unchanged(".metadata", (*_OF_THE_SERVER, "annotations", "labels")),
            "message": "in a pod's metadata, the scheduler may change only the labels and annotations",
        },
        {
            "expression": _is_unchanged(".metadata.?labels.orValue({})", labels, prefixes),
            "message": f"on a pod, the scheduler may change only these labels: {named_labels}",
        },
        {
            "expression": _is_unchanged(".metadata.?annotations.orValue({})", annotations),
            "message": f"on a pod, the scheduler may change only these annotations: {', '.join(annotations)}",
        },
        {
            "expression": _is_unchanged(".?status.orValue({})", ("conditions",)),
            "message": "in a pod's status, the scheduler may change only the conditions",
        },
        {
            "expression": f"{conditions.format('object')} == {conditions.format('oldObject')}",
            "message": f"in a pod's status, the scheduler may change only these conditions: {', '.join(POD_CONDITIONS)}",
        },
    ]


def _is_unchanged(path: str, without: Sequence[str], prefixes: Sequence[str] = ()) -> str:
    """Return the expression that a map of the pod is unchanged, except for some keys and those with some prefixes."""
    # The declared type of an object is a structure, whose fields an expression cannot list.
    after, before = f"dyn(object){path}", f"dyn(oldObject){path}"
    changes = " || ".join((f"k in {_texts(without)}", *(f"k.startsWith('{prefix}')" for prefix in prefixes)))
    return (
        f"{after}.all(k, {changes} || (k in {before} && {after}[k] == {before}[k])) && "
        f"{before}.all(k, {changes} || k in {after})"
    )


def _texts(values: Sequence[str]) -> str:
    return f"[{', '.join(repr(value) for value in values)}]"
