"""One ValidatingAdmissionPolicy and its one binding, as a record and as manifests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apportion_compiler.backends.admission.workloads import Rule
from apportion_compiler.backends.capability import Manifest
from apportion_compiler.backends.metadata import GROUP, metadata
from apportion_compiler.ir.program import Program

API_VERSION = "admissionregistration.k8s.io/v1"

Variable = dict[str, str]
"""A name and its expression: an entry of `spec.variables`."""
Validation = dict[str, str]
"""An entry of `spec.validations`."""
Condition = dict[str, str]
"""An entry of `spec.matchConditions`."""


@dataclass(frozen=True, slots=True)
class AdmissionPolicy:
    """The objects that are matched, and their validations. `namespaces` is a label selector; None for cluster-scoped kinds."""

    name: str
    rules: tuple[Rule, ...]
    validations: Sequence[Validation]
    variables: Sequence[Variable] = ()
    conditions: Sequence[Condition] = ()
    namespaces: dict[str, object] | None = None
    guards_marks: bool = False
    """Whether it always denies, regardless of the environment's enforcement, because other policies rely on it."""


_ACTIONS = {"deny": ("Deny",), "warn": ("Warn", "Audit"), "audit": ("Audit",)}


def policy_manifest(program: Program, policy: AdmissionPolicy) -> Manifest:
    """Return the policy. It fails closed: objects that cannot be evaluated are rejected."""
    scope = "Cluster" if policy.namespaces is None else "Namespaced"
    return {
        "apiVersion": API_VERSION,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": metadata(program, _name(policy), program.source),
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [group],
                        "apiVersions": ["*"],
                        "operations": ["CREATE", "UPDATE"],
                        "resources": list(resources),
                        "scope": scope,
                    }
                    for group, resources in policy.rules
                ]
            },
            **({"matchConditions": list(policy.conditions)} if policy.conditions else {}),
            **({"variables": list(policy.variables)} if policy.variables else {}),
            "validations": list(policy.validations),
        },
    }


def binding_manifest(program: Program, policy: AdmissionPolicy) -> Manifest:
    """Return the binding that enforces a policy."""
    match = {} if policy.namespaces is None else {"matchResources": {"namespaceSelector": policy.namespaces}}
    actions = _ACTIONS["deny" if policy.guards_marks else program.admission]
    return {
        "apiVersion": API_VERSION,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": metadata(program, _name(policy), program.source),
        "spec": {"policyName": _name(policy), **match, "validationActions": list(actions)},
    }


def _name(policy: AdmissionPolicy) -> str:
    return f"{policy.name}.{GROUP}"
