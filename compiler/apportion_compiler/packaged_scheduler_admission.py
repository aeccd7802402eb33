"""The admission policy of the packaged scheduler: its account changes only the fields of pods that it writes.

RBAC permits or denies `patch` for pods as a whole. With this policy, the account can mark a pod as part of its pod group
and set its conditions, but change neither its image or tolerations nor labels that other controllers read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apportion_api.kai.names import POD_GROUP_ANNOTATION, SUB_GROUP_LABEL
from apportion_compiler.plain_objects import Manifest

POD_LABELS = (SUB_GROUP_LABEL,)
POD_ANNOTATIONS = (POD_GROUP_ANNOTATION,)
POD_CONDITIONS = ("PodScheduled", "DisruptionTarget")
"""The labels, annotations and conditions of pods that `apportion_runtime.kube` writes."""

_API_VERSION = "admissionregistration.k8s.io/v1"
_OF_THE_SERVER = ("generation", "managedFields", "resourceVersion")
"""The metadata that the API server changes with each write."""


def pod_policy(metadata: dict[str, Any], account: str) -> tuple[Manifest, Manifest]:
    """Return the policy and its binding.

    Args:
        metadata: The metadata of both.
        account: The user name of the scheduler's service account.
    """
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["UPDATE"],
        # The labels and annotations of a pod can be changed with its status as well.
        "resources": ["pods", "pods/status"],
        "scope": "Namespaced",
    }
    policy = {
        "apiVersion": _API_VERSION,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": metadata,
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [rule]},
            "matchConditions": [{"name": "scheduler", "expression": f"request.userInfo.username == '{account}'"}],
            "validations": _validations(),
        },
    }
    binding = {
        "apiVersion": _API_VERSION,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": metadata,
        "spec": {"policyName": metadata["name"], "validationActions": ["Deny"]},
    }
    return policy, binding


def _validations() -> list[dict[str, str]]:
    conditions = "dyn({}).status.?conditions.orValue([])" + f".filter(c, !(c.type in {_texts(POD_CONDITIONS)}))"
    return [
        {"expression": "object.spec == oldObject.spec", "message": "the scheduler must not change the spec of a pod"},
        {
            "expression": _is_unchanged(".metadata", (*_OF_THE_SERVER, "annotations", "labels")),
            "message": "of the metadata of a pod, the scheduler changes only labels and annotations",
        },
        {
            "expression": _is_unchanged(".metadata.?labels.orValue({})", POD_LABELS),
            "message": f"of the labels of a pod, the scheduler changes only {', '.join(POD_LABELS)}",
        },
        {
            "expression": _is_unchanged(".metadata.?annotations.orValue({})", POD_ANNOTATIONS),
            "message": f"of the annotations of a pod, the scheduler changes only {', '.join(POD_ANNOTATIONS)}",
        },
        {
            "expression": _is_unchanged(".?status.orValue({})", ("conditions",)),
            "message": "of the status of a pod, the scheduler changes only conditions",
        },
        {
            "expression": f"{conditions.format('object')} == {conditions.format('oldObject')}",
            "message": f"of the conditions of a pod, the scheduler changes only {', '.join(POD_CONDITIONS)}",
        },
    ]


def _is_unchanged(path: str, without: Sequence[str]) -> str:
    """Return the expression that a map of the pod is unchanged, except for some keys."""
    # The declared type of an object is a structure, whose fields an expression cannot list.
    after, before, keys = f"dyn(object){path}", f"dyn(oldObject){path}", _texts(without)
    return (
        f"{after}.all(k, k in {keys} || (k in {before} && {after}[k] == {before}[k])) && "
        f"{before}.all(k, k in {keys} || k in {after})"
    )


def _texts(values: Sequence[str]) -> str:
    return f"[{', '.join(repr(value) for value in values)}]"
