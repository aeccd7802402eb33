"""ProvisioningRequestConfig and AdmissionCheck: capacity that is requested as one unit after quota is reserved.

Kueue's provisioning controller creates a ProvisioningRequest (autoscaling.x-k8s.io) for each workload that is assigned
a flavor of the check, and admits it once that is provisioned (pkg/controller/admissionchecks/provisioning).
"""

from __future__ import annotations

from collections.abc import Iterator

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_api.kueue.names import API, GROUP, PROVISIONING_CONTROLLER
from apportion_compiler.backends.capability import Manifest
from apportion_compiler.backends.metadata import metadata
from apportion_compiler.ir.program import Program, ProvisioningPlan
from apportion_compiler.kubernetes_names import dotless_name
from apportion_policy.provisioning import MAX_RUN_DURATION_PARAMETER, QUEUED_PROVISIONING_GKE

_RETRY_FIELDS = (
    ("backoffLimitCount", "retry_limit"),
    ("backoffBaseSeconds", "retry_backoff_base"),
    ("backoffMaxSeconds", "retry_backoff_max"),
)
"""Fields of `retryStrategy`, each with the field of the plan."""


def check_name(plan: str) -> str:
    """Return the name of a plan's check and configuration; the CRD requires a label without dots."""
    return dotless_name(plan)


def provisioning_configs(program: Program) -> Iterator[Manifest]:
    """Yield the ProvisioningRequestConfig objects."""
    for plan in program.plans:
        spec: dict[str, object] = {"provisioningClassName": plan.provisioning_class}
        if parameters := _parameters(plan):
            spec["parameters"] = parameters
        # Workloads without GPUs need no machine of the plan, and are admitted at once.
        spec["managedResources"] = [GPU_RESOURCE]
        if retry := _retry(plan):
            spec["retryStrategy"] = retry
        if plan.provisioning_class == QUEUED_PROVISIONING_GKE:
            # The class supports one pod set per request.
            spec["podSetMergePolicy"] = "IdenticalWorkloadSchedulingRequirements"
        yield {
            "apiVersion": API,
            "kind": "ProvisioningRequestConfig",
            "metadata": metadata(program, check_name(plan.id), plan.source),
            "spec": spec,
        }


def admission_checks(program: Program) -> Iterator[Manifest]:
    """Yield the AdmissionCheck objects."""
    for plan in program.plans:
        name = check_name(plan.id)
        yield {
            "apiVersion": API,
            "kind": "AdmissionCheck",
            "metadata": metadata(program, name, plan.source),
            "spec": {
                "controllerName": PROVISIONING_CONTROLLER,
                "parameters": {"apiGroup": GROUP, "kind": "ProvisioningRequestConfig", "name": name},
            },
        }


def _parameters(plan: ProvisioningPlan) -> dict[str, str]:
    parameters = dict(plan.parameters)
    if plan.max_run_duration is not None:
        parameters[MAX_RUN_DURATION_PARAMETER] = str(plan.max_run_duration)
    return dict(sorted(parameters.items()))


def _retry(plan: ProvisioningPlan) -> dict[str, int]:
    values = ((name, getattr(plan, field)) for name, field in _RETRY_FIELDS)
    return {name: value for name, value in values if value is not None}
