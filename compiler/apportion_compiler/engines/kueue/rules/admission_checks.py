"""Rules on single AdmissionChecks and ProvisioningRequestConfigs."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_api.kueue.names import MULTIKUEUE_CONTROLLER, PROVISIONING_CONTROLLER
from apportion_api.kueue.objects import AdmissionCheck, ProvisioningRequestConfig
from apportion_api.objects import read
from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engines.kueue.rules.field_validation import FieldVerdicts
from apportion_compiler.kubernetes_names import MAX_NAME, is_label, is_subdomain

_MAX_PARAMETERS = 100
_MAX_VALUE = 255
_MAX_CLASS = 253
_MAX_SELECTORS = 8
_MERGES = ("IdenticalPodTemplates", "IdenticalWorkloadSchedulingRequirements")
_KINDS = {PROVISIONING_CONTROLLER: "ProvisioningRequestConfig", MULTIKUEUE_CONTROLLER: "MultiKueueConfig"}


def check_verdicts(index: int, manifest: Manifest, stored: Manifest | None) -> Iterator[Verdict]:
    """Yield verdicts on an AdmissionCheck, and on its update if it exists."""
    about, admission_check = FieldVerdicts(index), read(AdmissionCheck, manifest)
    controller, name = admission_check.controller, admission_check.parameters
    if controller is None:
        yield about.rejected(
            "spec.controllerName",
            "Required",
            "Required value",
            f"use {PROVISIONING_CONTROLLER} or the name of your controller",
        )
    if stored is not None and read(AdmissionCheck, stored).controller != controller:
        yield about.rejected(
            "spec.controllerName", "Invalid", "field is immutable", "create a check with a different name"
        )
    if name is not None and (len(name) > MAX_NAME or not is_label(name)):
        yield about.rejected(
            "spec.parameters.name", "Invalid", f'"{name}" must be a name of up to {MAX_NAME} characters without dots',
            "rename the parameters object",
        )  # fmt: skip
    kind = _KINDS.get(controller or "")
    if kind is not None and admission_check.parameters_kind != kind:
        yield about.ignored(
            "spec.parameters.kind", "Invalid", f"the controller requires a {kind}; without it, the check never "
            "becomes active",
            f"set kind: {kind}",
        )  # fmt: skip


def config_verdicts(index: int, manifest: Manifest, stored: Manifest | None) -> Iterator[Verdict]:
    """Yield verdicts on a ProvisioningRequestConfig; an update is evaluated like a new object."""
    del stored
    config = read(ProvisioningRequestConfig, manifest)
    about, class_name = FieldVerdicts(index, config.faults), config.provisioning_class
    if class_name is None or len(class_name) > _MAX_CLASS or not is_subdomain(class_name):
        yield about.rejected(
            "spec.provisioningClassName",
            "Invalid",
            f'"{class_name}" is not a valid class name',
            "use queued-provisioning.gke.io",
        )
    if len(config.parameters) > _MAX_PARAMETERS:
        yield about.rejected(
            "spec.parameters",
            "TooMany",
            f"must have at most {_MAX_PARAMETERS} items",
            f"remove at least {len(config.parameters) - _MAX_PARAMETERS} parameters",
        )
    for key, value in config.parameters.items():
        if about.is_malformed(f"spec.parameters.{key}") or len(value) > _MAX_VALUE:
            yield about.rejected(
                f"spec.parameters[{key}]",
                "Invalid",
                f"must be a string of at most {_MAX_VALUE} characters",
                f"use a string of at most {_MAX_VALUE} characters",
            )
    managed = config.managed_resources
    if len(managed) > _MAX_PARAMETERS or len(set(managed)) < len(managed):
        yield about.rejected(
            "spec.managedResources",
            "Invalid",
            f"must list at most {_MAX_PARAMETERS} distinct resources",
            f"list at most {_MAX_PARAMETERS} resources, each only once",
        )
    yield from about.one_of(config.merge_policy, "spec.podSetMergePolicy", _MERGES)
    if len(config.node_labels) > _MAX_SELECTORS:
        yield about.rejected(
            "spec.podSetUpdates.nodeSelector",
            "TooMany",
            f"must have at most {_MAX_SELECTORS} items",
            f"remove at least {len(config.node_labels) - _MAX_SELECTORS} labels",
        )
    base, most = config.backoff_base_s, config.backoff_max_s
    if base is not None and most is not None and base > most:
        yield about.ignored(
            "spec.retryStrategy.backoffBaseSeconds", "Invalid", f"the value exceeds backoffMaxSeconds, so {most} applies",
            f"use a value of at most {most}",
        )  # fmt: skip
